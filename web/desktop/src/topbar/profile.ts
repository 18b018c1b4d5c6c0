import type { ModelProfile } from "../shell/api.js";
import { useShell } from "../shell/context.js";
import { providerName } from "./monitors.js";

/** The model profile of this session: its own, else the user's default, else that of the hub. */
export function useProfile(): string {
  return useShell((s) => s.desktop.provider || s.models?.roles?.main || s.hub.provider);
}

/** The name of a profile, or of a backend if there is no such profile. A profile of the hub has the name of its backend. */
export function profileName(id: string, all: readonly ModelProfile[] | undefined): string {
  const p = all?.find((one) => one.id === id);
  return p === undefined || p.name === p.id ? providerName(id) : p.name;
}
