import { SendHorizontal, X } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import type { MessageID, WindowState } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { canvas as texts } from "../texts/entry.js";
import { IconButton } from "../ui/button.js";
import { isComposing } from "../ui/keys.js";

/** A line to the agent of a window. It stays until the hub has taken what was said, and keeps what was refused. */
export function AskLine({ window: w, onOver }: { window: WindowState; onOver: () => void }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const [text, setText] = useState("");
  const [sent, setSent] = useState<MessageID | undefined>();
  const item = useShell((s) => (sent === undefined ? undefined : s.outbox.items.find((i) => i.id === sent)));
  const input = useRef<HTMLInputElement>(null);
  const over = useRef(onOver);
  over.current = onOver;

  useEffect(() => input.current?.focus(), []);
  const waits = sent !== undefined && (item === undefined || item.status === "sending");
  const refused = item?.status === "rejected";
  const taken = sent !== undefined && item !== undefined && !waits && !refused && item.status !== "queued";
  useEffect(() => {
    if (taken) over.current();
  }, [taken]);

  const send = (): void => {
    const content = text.trim().normalize("NFC");
    if (content === "" || waits) return;
    const id = commands.sendToWindow(w, content);
    if (id === undefined) commands.notify(t.tooMuch, "warning");
    setSent(id);
  };
  return (
    <form
      className="win-ask"
      onSubmit={(e) => {
        e.preventDefault();
        send();
      }}
      onKeyDown={(e) => {
        if (isComposing(e)) return;
        if (e.key === "Escape") {
          e.stopPropagation();
          onOver();
        }
      }}
    >
      <input
        ref={input}
        className="field"
        value={text}
        aria-label={t.askLabel(w.title || t.untitled)}
        placeholder={t.askHint}
        onChange={(e) => setText(e.target.value)}
        onKeyDown={(e) => {
          if (e.key === "Enter" && isComposing(e)) e.preventDefault();
        }}
      />
      <IconButton type="submit" icon={SendHorizontal} label={t.send} disabled={text.trim() === "" || waits} />
      <IconButton icon={X} label={t.cancel} onClick={onOver} />
      <p className="win-ask-fate" role="status">
        {waits ? t.sending : refused ? t.refused(item.reason ?? "") : item?.status === "queued" ? t.queued : ""}
      </p>
    </form>
  );
}
