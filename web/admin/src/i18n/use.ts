import type { Texts } from "../../../desktop/src/i18n/texts.js";
import { usePage } from "../state/use.js";
import { type Format, formats } from "./format.js";

/** The given texts in the language of the page. */
export function useTexts<T>(texts: Texts<T>): Texts<T>["en"] {
  return texts[usePage((s) => s.language)];
}

export function useFormat(): Format {
  return formats[usePage((s) => s.language)];
}
