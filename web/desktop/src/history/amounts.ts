import { useWords } from "../i18n/use.js";
import type { Preview } from "./preview.js";
import texts from "./words.js";

/** How much goes, in words, without what somebody sees anyway. */
export function useAmounts(): (p: Preview, but?: { messages: number }) => string {
  const t = useWords(texts);
  return (p, but = { messages: 0 }) => {
    const messages = p.messages - but.messages;
    const parts = [
      ...(messages > 0 ? [t.nMessages(messages)] : []),
      ...(p.answers > 0 ? [t.nAnswers(p.answers)] : []),
      ...(p.tools > 0 ? [t.nTools(p.tools)] : []),
    ];
    return parts.length === 0 ? t.nothingElse : t.and(parts);
  };
}
