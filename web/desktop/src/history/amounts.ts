import { useTexts } from "../i18n/use.js";
import { history as texts } from "../texts/parts.js";
import type { Preview } from "./preview.js";

/** How much goes, in words, without what somebody sees anyway. */
export function useAmounts(): (p: Preview, but?: { messages: number }) => string {
  const t = useTexts(texts);
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
