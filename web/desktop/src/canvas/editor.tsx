import "./versions.css";
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react";
import type { WindowState } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { windows as texts } from "../texts/windows.js";
import { Button } from "../ui/button.js";
import { isComposing } from "../ui/keys.js";

/** The text of a window, to be changed by hand. */
export default function TextEditor({ window: w, onClosed }: { window: WindowState; onClosed: () => void }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const now = typeof w.content.data === "string" ? w.content.data : "";
  const [before] = useState(now);
  const [text, setText] = useState(before);
  const [sent, setSent] = useState<string>();
  const item = useShell((s) => (sent === undefined ? undefined : s.outbox.items.find((i) => i.id === sent)));
  const rejected = item?.status === "rejected";
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  // A rejected text stays in the field. Saving again replaces what the window shows by then.
  useEffect(() => {
    if (item !== undefined && item.status !== "sending" && !rejected) onClosed();
    else if (rejected && item.reasonCode !== "content_changed") commands.notify(item.reason ?? "", "warning");
  }, [item?.status]);
  const save = (): void => {
    if (item?.status === "sending") return;
    if (text === before || text === now) return onClosed();
    const edit = { type: "window.edit", windowId: w.windowId, op: "text", was: now, text } as const;
    const id = commands.send("EMIT", { actions: [edit], monitorId: w.monitorId });
    if (id === undefined) return commands.notify(t.notReopened, "warning");
    setSent(id);
  };
  const press = (e: KeyboardEvent): void => {
    if (isComposing(e)) return;
    const done = (e.ctrlKey || e.metaKey) && (e.key === "Enter" || e.key.toLowerCase() === "s");
    if (!done && e.key !== "Escape") return;
    e.preventDefault();
    e.stopPropagation();
    // Escape throws nothing away.
    save();
  };
  return (
    <div className="win-editor">
      <textarea ref={field} className="win-editor-text" aria-label={t.editing(w.title || t.untitled)} placeholder={t.editHint} value={text} onChange={(e) => setText(e.target.value)} onKeyDown={press} />
      <footer className="win-editor-foot">
        {((now !== before && sent === undefined) || rejected) && <span role="status">{t.changedMeanwhile}</span>}
        <Button size="sm" onClick={onClosed}>
          {t.discard}
        </Button>
        <Button size="sm" kind="primary" onClick={save}>
          {t.save}
        </Button>
      </footer>
    </div>
  );
}
