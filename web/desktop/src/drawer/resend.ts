import type { MessageID, MonitorID, Sent } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { drawer as texts } from "../texts/drawer.js";

/** Returns a function that sends a message again under a new id: a message of this tab, or the content of a row. */
export function useResend(): (what: { sent?: Sent | undefined; text: string; images: readonly string[]; monitorId: MonitorID }) => void {
  const t = useTexts(texts);
  const commands = useCommands();
  return ({ sent, text, images, monitorId }) => {
    const id = sent === undefined ? commands.sendMessage(text, monitorId, images) : commands.send(sent.type, withoutId(sent));
    if (id === undefined) commands.notify(t.notSentAgain, "warning");
  };
}

/** The hub would treat the same id as the same message, which it has rejected. */
function withoutId(sent: Sent): Sent["data"] {
  const { messageId: _, ...data } = sent.data as Sent["data"] & { messageId?: MessageID };
  return data as Sent["data"];
}

/** The content of a message, by its row. */
export function useMessageContent(messageId: MessageID | undefined): { text: string; images: readonly string[] } | undefined {
  const rows = useShell((s) => s.desktop.rows);
  if (!messageId) return undefined;
  for (const { row } of rows.values()) {
    if (row.messageId === messageId && row.say === "user_feedback") return { text: row.text ?? "", images: row.images ?? [] };
  }
  return undefined;
}
