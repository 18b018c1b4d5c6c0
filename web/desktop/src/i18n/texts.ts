// Texts in two languages. A page has its texts in catalogues: desktop/src/texts and admin/src/texts.ts.

export type Language = "en" | "ko";

/** A text, or a function that puts values into a text. */
export type Text = string | ((...args: never[]) => string);

type Widened<T> = T extends string ? string : T;

/** The texts of one part of a page by language. */
export interface Texts<T> {
  readonly en: { readonly [K in keyof T]: Widened<T[K]> };
  readonly ko: { readonly [K in keyof T]: Widened<T[K]> };
}

/**
 * Creates the texts of one part of a page from entries of the form `key: [English, Korean]`. An entry that lacks a
 * language, or whose functions take different arguments, does not compile.
 *
 * Korean texts must not put a particle behind a variable, since the right particle depends on the last sound of the
 * value.
 */
export function catalogue<T extends Record<string, Text>>(entries: { [K in keyof T]: readonly [T[K], NoInfer<Widened<T[K]>>] }): Texts<T> {
  const pick = (language: 0 | 1) => Object.fromEntries(Object.entries(entries).map(([key, pair]) => [key, (pair as readonly Text[])[language]]));
  return { en: pick(0), ko: pick(1) } as unknown as Texts<T>;
}

/** The language to show: the chosen one, or for "system" the first supported language of the browser; else English. */
export function languageOf(chosen: Language | "system", browser: readonly string[]): Language {
  if (chosen !== "system") return chosen;
  const known = browser.map((tag) => tag.slice(0, 2).toLowerCase()).find((tag) => tag === "ko" || tag === "en");
  return known === "ko" ? "ko" : "en";
}
