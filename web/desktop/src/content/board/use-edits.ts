import { useEffect, useMemo, useRef } from "react";
import type { Content, MessageID, Sent, WindowState } from "../../../../core/src/index.js";
import { useTexts } from "../../i18n/use.js";
import { useCommands, useShell } from "../../shell/context.js";
import { edits as texts } from "../../texts/edits.js";
import { applyEdit, type Edit } from "./apply.js";

/**
 * Sends a user's edits of a window. The content has the edits that the hub has not answered yet; if it rejects one, a
 * notification says so.
 */
export function useEdits<C extends Content>(w: WindowState, content: C): { content: C; edit: (e: Edit) => void } {
  const t = useTexts(texts);
  const commands = useCommands();
  const items = useShell((s) => s.outbox.items);
  const sent = useRef(new Set<MessageID>());
  const shown = useMemo(() => {
    let now: Content = content;
    for (const item of items) {
      const e = item.status === "sending" ? editOf(item, w) : undefined;
      if (e !== undefined) now = applyEdit(now, e) ?? now;
    }
    return now as C; // an edit keeps the renderer
  }, [content, items, w.windowId, w.monitorId]);
  useEffect(() => {
    for (const item of items) {
      if (item.status !== "rejected" || !sent.current.delete(item.id)) continue;
      commands.notify(item.reasonCode === "content_changed" ? t.changed : t.notSaved(item.reason ?? ""), "warning");
    }
  }, [items]);
  const edit = (e: Edit): void => {
    if (applyEdit(shown, e) === undefined) return commands.notify(t.notPossible, "warning");
    const id = commands.send("EMIT", { actions: [{ type: "window.edit", windowId: w.windowId, ...e }], monitorId: w.monitorId });
    if (id === undefined) commands.notify(t.tooMuch, "warning");
    else sent.current.add(id);
  };
  return { content: shown, edit };
}

/** The edit of a window that a message is; undefined for any other message. */
function editOf(item: Sent, w: WindowState): Edit | undefined {
  if (item.type !== "EMIT") return undefined;
  const { actions, monitorId } = (item as Sent<"EMIT">).data;
  const a = actions[0];
  return a?.type === "window.edit" && a.windowId === w.windowId && monitorId === w.monitorId ? a : undefined;
}
