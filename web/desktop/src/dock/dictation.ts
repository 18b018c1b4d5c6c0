// Turns speech into the text of the command bar, with the recogniser of the browser. Nothing is sent: the user reads the text
// first.

import type { Language } from "../i18n/texts.js";

/** The parts of the browser's SpeechRecognition that are used here. */
export interface Recogniser {
  lang: string;
  continuous: boolean;
  interimResults: boolean;
  onresult: ((e: { readonly results: ArrayLike<ArrayLike<{ readonly transcript: string }>> }) => void) | null;
  onerror: ((e: { readonly error: string }) => void) | null;
  onend: (() => void) | null;
  start(): void;
  stop(): void;
  abort(): void;
}

export interface DictationEvents {
  /** The whole text of the field so far. */
  onText: (text: string) => void;
  onEnd: () => void;
  onError: (kind: "denied" | "failed") => void;
}

export interface Dictation {
  /** Ends it after what was said so far. */
  stop: () => void;
  /** Ends it at once: what is still being recognised is dropped. */
  cancel: () => void;
}

/** The errors that need no notice: silence, and the end that was asked for. */
const expected = new Set(["no-speech", "aborted"]);

/** Begins to dictate behind the text that is in the field. */
export function dictate(recogniser: Recogniser, language: Language, before: string, events: DictationEvents): Dictation {
  let over = false;
  const end = (): void => {
    if (over) return;
    over = true;
    events.onEnd();
  };
  recogniser.lang = language === "ko" ? "ko-KR" : "en-US";
  recogniser.continuous = true;
  recogniser.interimResults = true;
  recogniser.onresult = ({ results }) => {
    if (over) return;
    const said = Array.from(results, (alternatives) => alternatives[0]?.transcript ?? "").join("");
    const gap = before === "" || /\s$/.test(before) || /^\s/.test(said) ? "" : " ";
    events.onText(before + gap + (before === "" ? said.trimStart() : said));
  };
  recogniser.onerror = ({ error }) => {
    if (!over && !expected.has(error)) events.onError(error === "not-allowed" || error === "service-not-allowed" ? "denied" : "failed");
  };
  recogniser.onend = end;
  try {
    recogniser.start();
  } catch {
    events.onError("failed");
    end();
  }
  return {
    stop: () => recogniser.stop(),
    cancel: () => {
      end();
      recogniser.abort();
    },
  };
}
