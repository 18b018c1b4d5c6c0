import type { MessageID, MessageStatus } from "../../../core/src/index.js";
import type { ShellStore } from "../shell/shell.js";

/**
 * Calls `then` once the hub has accepted a message that is no turn. A refused one is never followed by what depends on it. The
 * page shows a message a moment after it was sent.
 */
export function afterAcceptance(store: ShellStore, id: MessageID, then: () => void): void {
  let shown = false;
  /** The status with which the message has ended. */
  const ended = (): MessageStatus | "gone" | undefined => {
    const status = store.getState().outbox.items.find((item) => item.id === id)?.status;
    if (status === undefined) return shown ? "gone" : undefined;
    shown = true;
    return status === "sending" ? undefined : status;
  };
  const first = ended();
  if (first === "done") return then();
  if (first !== undefined) return;
  const stop = store.subscribe(() => {
    const end = ended();
    if (end === undefined) return;
    stop(); // before `then`, which may change the store
    if (end === "done") then();
  });
}
