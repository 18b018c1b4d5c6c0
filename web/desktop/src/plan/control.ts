import type { ClientPayloads, Sent } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { plan as texts } from "../texts/parts.js";

export type Control = Extract<keyof ClientPayloads, `control_${string}`>;

/** Says to the hub what to do with the plan. */
export function useControl(): <T extends Control>(type: T, data: ClientPayloads[T]) => boolean {
  const t = useTexts(texts);
  const commands = useCommands();
  return (type, data) => {
    const taken = commands.send(type, data) !== undefined;
    if (!taken) commands.notify(t.full, "warning");
    return taken;
  };
}

/** What became of the last that this tab said about the plan. */
export function useLastControl(): Sent | undefined {
  return useShell((s) => s.outbox.items.findLast((i) => i.type.startsWith("control_")));
}
