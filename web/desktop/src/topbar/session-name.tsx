import { type ReactNode, useEffect, useRef, useState } from "react";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { topbar as texts } from "../texts/entry.js";
import { isComposing, isTyping, matches, useKeys } from "../ui/keys.js";

/** The name of the session, which a click or F2 edits. A new name is shown as pending until the hub confirms it. */
export function SessionName(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const title = useShell((s) => s.desktop.title);
  const panel = useShell((s) => s.panel);
  const [editing, setEditing] = useState(false);
  const [pending, setPending] = useState<string>();
  const button = useRef<HTMLButtonElement>(null);
  const back = useRef(false);

  // The new name was confirmed, or changed elsewhere.
  useEffect(() => setPending(undefined), [title]);
  useEffect(() => {
    if (!editing && back.current) button.current?.focus();
    back.current = false;
  }, [editing]);
  useKeys((e) => {
    if (!matches(e, "f2") || panel !== "" || isTyping(e)) return false;
    setEditing(true);
    return true;
  });

  const finish = (text: string, focus: boolean): void => {
    back.current = focus;
    setEditing(false);
    const next = text.trim().normalize("NFC");
    if (next === title || next === "") return;
    setPending(next);
    commands.rename(next).catch((error: unknown) => {
      setPending(undefined);
      commands.notify(t.renameFailed(error instanceof Error ? error.message : String(error)), "error", 8000);
    });
  };

  if (editing) return <NameField title={title} onDone={finish} onCancel={() => ((back.current = true), setEditing(false))} />;
  const shown = pending ?? title;
  return (
    <button
      ref={button}
      type="button"
      className={shown === "" ? "topbar-name topbar-name-none" : "topbar-name"}
      aria-busy={pending !== undefined}
      title={shown === "" ? t.rename : `${shown} — ${t.rename}`}
      onClick={() => setEditing(true)}
    >
      {shown === "" ? t.untitled : shown}
    </button>
  );
}

function NameField(p: { title: string; onDone: (text: string, focus: boolean) => void; onCancel: () => void }): ReactNode {
  const t = useTexts(texts);
  const [text, setText] = useState(p.title);
  const field = useRef<HTMLInputElement>(null);
  const finished = useRef(false);
  useEffect(() => {
    field.current!.focus();
    field.current!.select();
  }, []);
  const once = (end: () => void): void => {
    if (finished.current) return; // a removed field loses the focus, too
    finished.current = true;
    end();
  };
  return (
    <input
      ref={field}
      className="field topbar-name-field"
      aria-label={t.nameOf}
      value={text}
      maxLength={120}
      onChange={(e) => setText(e.target.value)}
      onBlur={() => once(() => p.onDone(text, false))}
      onKeyDown={(e) => {
        if (isComposing(e) || (e.key !== "Enter" && e.key !== "Escape")) return;
        e.preventDefault(); // otherwise the key would press the button that gets the focus next
        e.stopPropagation();
        once(e.key === "Enter" ? () => p.onDone(text, true) : p.onCancel);
      }}
    />
  );
}
