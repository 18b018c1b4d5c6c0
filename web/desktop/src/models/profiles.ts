// The rules of the models page that need no browser.

import type { Backend, ModelProfile, NewModelProfile } from "../shell/api.js";

/** What a model can be the default for. */
export const roles = ["main", "window", "task", "plan", "summary", "title"] as const;
export type Role = (typeof roles)[number];

/** The text fields of a model to connect. */
export interface Draft {
  readonly backend: string;
  readonly baseUrl: string;
  readonly key: string;
  readonly model: string;
}

/** The id of a new profile or mode: made from its name, different from the ids in use. */
export function newProfileId(name: string, used: readonly string[], unnamed = "model"): string {
  const slug = name
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 40)
    .replace(/-+$/, "");
  const base = slug === "" ? unnamed : slug;
  for (let n = 1; ; n++) {
    const id = n === 1 ? base : `${base}-${n}`;
    if (!used.includes(id)) return id;
  }
}

/** The name of a new profile. */
export function newProfileName({ label }: Pick<Backend, "label">, model: string): string {
  const name = model.trim();
  return (name === "" ? label : name).slice(0, 64);
}

/** The profile that a draft describes. */
export function profileOf(backend: Backend, draft: Draft, secret = ""): NewModelProfile {
  const baseUrl = draft.baseUrl.trim();
  const model = draft.model.trim();
  return {
    name: newProfileName(backend, model),
    backend: backend.backend,
    ...(model === "" ? {} : { model }),
    ...(hasOwnAddress(backend, draft) ? { baseUrl } : {}),
    ...(secret === "" ? {} : { secret }),
  };
}

/** Whether a draft names an address other than that of the backend. Such a server may need no key. */
export function hasOwnAddress(backend: Backend, draft: Draft): boolean {
  const baseUrl = draft.baseUrl.trim();
  return baseUrl !== "" && baseUrl !== backend.baseUrl;
}

/** The first field that a draft still lacks; undefined if it can be tested. */
export function missingField(backend: Backend, draft: Draft): "baseUrl" | "key" | "model" | undefined {
  if (backend.kind === "server" && draft.baseUrl.trim() === "") return "baseUrl";
  if (backend.needsKey && draft.key.trim() === "" && !hasOwnAddress(backend, draft)) return "key";
  if ((backend.kind === "server" || backend.kind === "local") && draft.model.trim() === "") return "model";
  return undefined;
}

/** Whether the list of models can be asked for. */
export function canList(backend: Backend, draft: Draft): boolean {
  if (backend.kind === "program") return false;
  const missing = missingField(backend, { ...draft, model: "any" });
  return missing === undefined;
}

/** The backend to offer first: one that works without entering anything, and is not a program. */
export function firstBackend(all: readonly Backend[]): Backend | undefined {
  return all.find((b) => b.found && b.kind === "local") ?? all[0];
}

/** A stored profile as the body of a test. */
export function storedProfile(p: ModelProfile): NewModelProfile {
  return { name: p.name, backend: p.backend, model: p.model, baseUrl: p.baseUrl, secret: p.secret };
}
