// The rules of the settings form that need no browser: fields made from JSON Schema, and what happens to edited values.

import type { SettingInfo, SettingRefusal, SettingState } from "../shell/api.js";

/** How a value is edited. */
export type Field =
  | { readonly kind: "boolean" }
  | { readonly kind: "number"; readonly whole: boolean; readonly min: number | undefined; readonly max: number | undefined }
  | { readonly kind: "choice"; readonly choices: readonly string[] }
  | { readonly kind: "text"; readonly min: number; readonly max: number | undefined; readonly long: boolean }
  | { readonly kind: "list"; readonly min: number; readonly max: number | undefined };

/** Texts that may be longer than this get several lines. */
const longText = 200;

interface Schema {
  type?: unknown;
  enum?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
}

/** The field of a JSON Schema; undefined for a type that a later version may have. */
export function fieldOf(schema: unknown): Field | undefined {
  const s = (schema ?? {}) as Schema;
  switch (s.type) {
    case "boolean":
      return { kind: "boolean" };
    case "integer":
    case "number":
      return { kind: "number", whole: s.type === "integer", min: s.minimum, max: s.maximum };
    case "string":
      if (Array.isArray(s.enum)) return { kind: "choice", choices: s.enum.map(String) };
      return { kind: "text", min: s.minLength ?? 0, max: s.maxLength, long: (s.maxLength ?? 0) > longText };
    case "array":
      return { kind: "list", min: s.minItems ?? 0, max: s.maxItems };
    default:
      return undefined;
  }
}

/** A value as the text of its field. A list has an item per line. */
export function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(String).join("\n");
  return typeof value === "string" ? value : JSON.stringify(value) ?? "";
}

/** Why a text is not valid. */
export type Mistake = "number" | "whole" | "range" | "short" | "long";

/** The value that a text means, or what is wrong with it. The hub checks it again. */
export function parsedText(field: Field, text: string): { value: unknown } | { mistake: Mistake } {
  switch (field.kind) {
    case "boolean":
      return { value: text === "true" };
    case "choice":
      return { value: text };
    case "number": {
      const n = Number(text.trim());
      if (text.trim() === "" || !Number.isFinite(n)) return { mistake: "number" };
      if (field.whole && !Number.isInteger(n)) return { mistake: "whole" };
      return n < (field.min ?? n) || n > (field.max ?? n) ? { mistake: "range" } : { value: n };
    }
    case "text": {
      const length = [...text].length; // characters, as the hub counts them
      if (length < field.min) return { mistake: "short" };
      return length > (field.max ?? length) ? { mistake: "long" } : { value: text };
    }
    case "list": {
      const items = text
        .split("\n")
        .map((line) => line.trim())
        .filter((line) => line !== "");
      if (items.length < field.min) return { mistake: "short" };
      return items.length > (field.max ?? items.length) ? { mistake: "long" } : { value: items };
    }
  }
}

/** A setting in the form. */
export interface Entry {
  readonly info: SettingInfo;
  readonly state: SettingState;
  /** What the user has typed and not saved; undefined for nothing. */
  readonly draft: string | undefined;
  readonly saving: boolean;
  /** Why the last change was refused, as a text of the hub. */
  readonly problem: string;
  /** Whether the value was changed elsewhere while there was a draft. */
  readonly conflict: boolean;
}

/** The entries after the values were read: drafts stay, and those whose value was changed elsewhere are in conflict. */
export function withValues(catalogue: readonly SettingInfo[], values: readonly SettingState[], before: readonly Entry[]): Entry[] {
  return catalogue.flatMap((info) => {
    const state = values.find((v) => v.name === info.name);
    if (state === undefined) return []; // a secret
    const old = before.find((e) => e.info.name === info.name);
    if (old === undefined) return [{ info, state, draft: undefined, saving: false, problem: "", conflict: false }];
    const changed = !same(old.state.value, state.value);
    const draft = old.draft === textOf(state.value) ? undefined : old.draft;
    return [{ ...old, info, state, draft, conflict: draft !== undefined && (old.conflict || (changed && !old.saving)), problem: draft === undefined && changed ? "" : old.problem }];
  });
}

/** The entry after the user has typed. */
export function edited(entry: Entry, draft: string): Entry {
  const untouched = draft === textOf(entry.state.value);
  return { ...entry, draft: untouched ? undefined : draft, problem: "", conflict: !untouched && entry.conflict };
}

/**
 * The entry after the hub has answered a change: saved, refused, or in conflict with another change, which keeps the draft. `sent` is
 * the draft that was saved; what was typed since then stays.
 */
export function answered(entry: Entry, sent: string | undefined, values: readonly SettingState[], refused: readonly SettingRefusal[] | undefined): Entry {
  const state = values.find((v) => v.name === entry.info.name) ?? entry.state;
  const no = refused?.find((r) => r.name === entry.info.name);
  if (no === undefined) return { ...entry, state, draft: entry.draft === sent ? undefined : entry.draft, saving: false, problem: "", conflict: false };
  if (no.code === "conflict") return { ...entry, state, saving: false, problem: "", conflict: true };
  return { ...entry, state, saving: false, problem: no.detail, conflict: false };
}

/** Why a user cannot change a setting; "" if that is possible. */
export function lockOf({ info, state }: Entry, admin: boolean): "" | "pinned" | "admin" | "hub" {
  if ((state.pinned ?? "") !== "") return "pinned";
  if (info.scope === "hub") return "hub";
  return info.changedBy === "admin" && !admin ? "admin" : "";
}

/** A name such as iconSize as words. */
export function wordsOf(name: string): string {
  const words = name.replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
