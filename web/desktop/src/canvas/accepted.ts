import type { MessageID } from "../../../core/src/index.js";
import type { ShellStore } from "../shell/shell.js";

/**
 * Calls `then` once the hub has accepted a message that is no turn. A refused one is never followed by what depends on it. The
 * page shows a message a moment after it was sent.
 */
export function afterAcceptance(store: ShellStore, id: MessageID, then: () => void): void {
  let shown = false;
  const hasEnded = (): boolean => {
    const status = store.getState().outbox.items.find((item) => item.id === id)?.status;
    if (status === undefined) return shown;
    shown = true;
    if (status === "sending") return false;
    if (status === "done") then();
    return true;
  };
  if (hasEnded()) return;
  const stop = store.subscribe(() => {
    if (hasEnded()) stop();
  });
}
