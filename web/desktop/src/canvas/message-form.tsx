import { SendHorizontal, X } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import type { MessageID, WindowState } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { windows as texts } from "../texts/windows.js";
import { IconButton } from "../ui/button.js";
import { isComposing } from "../ui/keys.js";

/**
 * The form for a message to the agent of a window. It closes once the hub accepts the message, and keeps a rejected
 * text.
 */
export function WindowMessageForm({ window: w, onClosed }: { window: WindowState; onClosed: () => void }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const [text, setText] = useState("");
  const [sent, setSent] = useState<MessageID | undefined>();
  const item = useShell((s) => (sent === undefined ? undefined : s.outbox.items.find((i) => i.id === sent)));
  const input = useRef<HTMLInputElement>(null);
  const onClosedRef = useRef(onClosed);
  onClosedRef.current = onClosed;

  useEffect(() => input.current?.focus(), []);
  const sending = sent !== undefined && (item === undefined || item.status === "sending");
  const refused = item?.status === "rejected";
  const accepted = sent !== undefined && item !== undefined && !sending && !refused && item.status !== "queued";
  useEffect(() => {
    if (accepted) onClosedRef.current();
  }, [accepted]);

  const send = (): void => {
    const content = text.trim().normalize("NFC");
    if (content === "" || sending) return;
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
          onClosed();
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
      <IconButton type="submit" icon={SendHorizontal} label={t.send} disabled={text.trim() === "" || sending} />
      <IconButton icon={X} label={t.cancel} onClick={onClosed} />
      <p className="win-ask-fate" role="status">
        {sending ? t.sending : refused ? t.refused(item.reason ?? "") : item?.status === "queued" ? t.queued : ""}
      </p>
    </form>
  );
}
