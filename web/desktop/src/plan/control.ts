import type { ClientPayloads, Sent } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { plan as texts } from "../texts/plan.js";

export type Control = Extract<keyof ClientPayloads, `control_${string}`>;

/** Sends a control command for the plan; returns false if the outbox is full. */
export function useControl(): <T extends Control>(type: T, data: ClientPayloads[T]) => boolean {
  const t = useTexts(texts);
  const commands = useCommands();
  return (type, data) => {
    const accepted = commands.send(type, data) !== undefined;
    if (!accepted) commands.notify(t.full, "warning");
    return accepted;
  };
}

/** The last control command of this tab. */
export function useLastControl(): Sent | undefined {
  return useShell((s) => s.outbox.items.findLast((i) => i.type.startsWith("control_")));
}
