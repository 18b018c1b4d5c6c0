import { Mic } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { voice as texts } from "../texts/voice.js";
import { IconButton } from "../ui/button.js";
import { type Dictation, dictate, type Recogniser } from "./dictation.js";

interface Props {
  draft: string;
  setDraft: (text: string) => void;
}

function newRecogniser(): Recogniser {
  const browser = globalThis as unknown as Record<string, new () => Recogniser>;
  return new (browser.SpeechRecognition ?? browser.webkitSpeechRecognition)!();
}

/** Dictates into the command bar. Typing, sending, Escape and a second press end it. */
export function VoiceButton({ draft, setDraft }: Props): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const language = useShell((s) => s.language);
  const dictation = useRef<Dictation>(undefined);
  const written = useRef("");
  const [listening, setListening] = useState(false);

  // Whatever changes the text, or empties it by sending it, ends the dictation, which would put the old text back.
  useEffect(() => {
    if (draft !== written.current) dictation.current?.cancel();
  }, [draft]);
  useEffect(() => () => dictation.current?.cancel(), []);
  useEffect(() => {
    if (!listening) return;
    // Before other handlers: Escape also stops agents.
    const stop = (e: KeyboardEvent): void => {
      if (e.key !== "Escape") return;
      e.preventDefault();
      e.stopPropagation();
      dictation.current?.stop();
    };
    window.addEventListener("keydown", stop, true);
    return () => window.removeEventListener("keydown", stop, true);
  }, [listening]);

  const toggle = (): void => {
    if (listening) return dictation.current?.stop();
    written.current = draft;
    setListening(true);
    dictation.current = dictate(newRecogniser(), language, draft, {
      onText: (text) => {
        written.current = text;
        setDraft(text);
      },
      onEnd: () => {
        dictation.current = undefined;
        setListening(false);
      },
      onError: (kind) => commands.notify(t[kind], "warning"),
    });
  };
  return (
    <>
      <IconButton icon={Mic} className="dock-voice" label={listening ? t.stop : t.start} aria-pressed={listening} onClick={toggle} />
      {listening && (
        <span className="hidden-text" role="status">
          {t.listening}
        </span>
      )}
    </>
  );
}
