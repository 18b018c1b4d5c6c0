import "./versions.css";
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react";
import type { WindowState } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { useCommands } from "../shell/context.js";
import { windows as texts } from "../texts/windows.js";
import { Button } from "../ui/button.js";
import { isComposing } from "../ui/keys.js";

/** The text of a window, to be changed by hand. */
export default function TextEditor({ window: w, onClosed }: { window: WindowState; onClosed: () => void }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const [before] = useState(typeof w.content.data === "string" ? w.content.data : "");
  const [text, setText] = useState(before);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  const save = (): void => {
    if (text !== before) {
      const content = { renderer: w.content.renderer, data: text } as WindowState["content"];
      const sent = commands.send("EMIT", { actions: [{ type: "window.setContent", windowId: w.windowId, content }], monitorId: w.monitorId });
      if (sent === undefined) return commands.notify(t.notReopened, "warning");
    }
    onClosed();
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
        {typeof w.content.data === "string" && w.content.data !== before && <span>{t.changedMeanwhile}</span>}
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
