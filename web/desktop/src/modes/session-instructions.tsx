import { type FormEvent, type ReactNode, useEffect, useId, useState } from "react";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { canDirectAgents } from "../shell/select.js";
import { modes as texts } from "../texts/modes.js";
import { Button } from "../ui/button.js";
import { isTooLong } from "./drafts.js";

/** The instructions of this session. All see them; the owner of the session changes them. */
export function SessionInstructions(): ReactNode {
  const t = useTexts(texts);
  const canChange = useShell(canDirectAgents);
  const stored = useShell((s) => s.desktop.instructions);
  if (canChange) return <InstructionsForm stored={stored} />;
  return (
    <section className="models-new" aria-label={t.session}>
      <h3>{t.session}</h3>
      <p className="modes-instructions">{stored === "" ? t.sessionNone : stored}</p>
      <p className="models-note">{t.sessionOthers}</p>
    </section>
  );
}

type Sending = "no" | "sent" | "saved" | "late";

/** A typed text stays when the instructions are changed in another tab. */
function InstructionsForm({ stored }: { stored: string }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const id = useId();
  const [text, setText] = useState(stored);
  /** The stored text as the form last showed it. */
  const [seen, setSeen] = useState(stored);
  const [sending, setSending] = useState<Sending>("no");
  useEffect(() => {
    if (stored === text) {
      setSeen(stored);
      setSending((now) => (now === "no" ? now : "saved"));
      return;
    }
    if (sending === "no" && text === seen) setText(stored); // nothing was typed
    if (sending !== "sent") return;
    const timer = setTimeout(() => setSending("late"), 5000);
    return () => clearTimeout(timer);
  }, [stored, text, seen, sending]);
  const tooLong = isTooLong(text);
  const submit = (e: FormEvent): void => {
    e.preventDefault();
    if (tooLong || text === stored) return;
    if (commands.send("SET_INSTRUCTIONS", { instructions: text }) === undefined) return commands.notify(t.full, "error");
    setSeen(stored);
    setSending("sent");
  };
  const change = (next: string): void => {
    setText(next);
    setSending("no");
  };
  return (
    <form className="models-new" aria-label={t.session} onSubmit={submit}>
      <h3>
        <label htmlFor={id}>{t.session}</label>
      </h3>
      {stored !== seen && stored !== text && (
        <p className="sessions-elsewhere" role="status">
          {t.elsewhere} <Button onClick={() => change(stored)}>{t.reload}</Button>
        </p>
      )}
      <textarea id={id} className="field" name="sessionInstructions" rows={5} aria-describedby={`${id}-hint`} aria-invalid={tooLong} value={text} onChange={(e) => change(e.target.value)} />
      <p id={`${id}-hint`} className="models-note">
        {t.sessionHint}
      </p>
      {tooLong && (
        <p role="alert" className="models-problem">
          {t.tooLong}
        </p>
      )}
      <div className="sessions-actions">
        <span role="status" className="models-note">
          {sending === "saved" && t.saved}
          {sending === "late" && t.late}
        </span>
        <Button type="submit" disabled={tooLong || text === stored || sending === "sent"} data-modes="save-instructions">
          {sending === "sent" ? t.saving : t.save}
        </Button>
      </div>
    </form>
  );
}
