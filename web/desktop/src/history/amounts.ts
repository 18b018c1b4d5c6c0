import { useTexts } from "../i18n/use.js";
import { history as texts } from "../texts/history.js";
import type { Preview } from "./preview.js";

/** Describes in words how much a rewind removes; `except` is left out. */
export function useAmounts(): (p: Preview, except?: { messages: number }) => string {
  const t = useTexts(texts);
  return (p, except = { messages: 0 }) => {
    const messages = p.messages - except.messages;
    const parts = [
      ...(messages > 0 ? [t.nMessages(messages)] : []),
      ...(p.answers > 0 ? [t.nAnswers(p.answers)] : []),
      ...(p.tools > 0 ? [t.nTools(p.tools)] : []),
    ];
    return parts.length === 0 ? t.nothingElse : t.and(parts);
  };
}
