import type { MessageID, MonitorID, Sent } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { drawer as texts } from "../texts/parts.js";

/** A way to say something once more, as a new message: what this tab sent, or what a row says. */
export function useResend(): (what: { sent?: Sent | undefined; text: string; images: readonly string[]; monitorId: MonitorID }) => void {
  const t = useTexts(texts);
  const commands = useCommands();
  return ({ sent, text, images, monitorId }) => {
    const id = sent === undefined ? commands.sendMessage(text, monitorId, images) : commands.send(sent.type, withoutId(sent));
    if (id === undefined) commands.notify(t.notSentAgain, "warning");
  };
}

/** The same id would be the same message, which the hub has refused. */
function withoutId(sent: Sent): Sent["data"] {
  const { messageId: _, ...data } = sent.data as Sent["data"] & { messageId?: MessageID };
  return data as Sent["data"];
}

/** What a message said, by its row. */
export function useSaid(messageId: MessageID | undefined): { text: string; images: readonly string[] } | undefined {
  const rows = useShell((s) => s.desktop.rows);
  if (!messageId) return undefined;
  for (const { row } of rows.values()) {
    if (row.messageId === messageId && row.say === "user_feedback") return { text: row.text ?? "", images: row.images ?? [] };
  }
  return undefined;
}
