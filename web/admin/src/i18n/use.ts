import type { Words } from "../../../desktop/src/i18n/words.js";
import { usePage } from "../state/use.js";
import { type Format, formats } from "./format.js";

/** The texts of a folder in the language of the page. */
export function useWords<T>(w: Words<T>): T {
  return w[usePage((s) => s.language)] as T;
}

export function useFormat(): Format {
  return formats[usePage((s) => s.language)];
}
