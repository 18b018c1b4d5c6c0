// Texts in two languages. Every folder has its own, next to what shows them; the compiler wants each in both.
//
// A text with something in it is a function. Korean texts must not put a particle behind a variable, since which one it
// is depends on the last sound: write around it.

export type Language = "en" | "ko";

export type Text = string | ((...args: never[]) => string);

type Translated<T> = { readonly [K in keyof T]: T[K] extends string ? string : T[K] };

export interface Words<T> {
  readonly en: T;
  readonly ko: Translated<T>;
}

/** The texts of a folder. */
export function words<T extends Record<string, Text>>(en: T, ko: Translated<T>): Words<T> {
  return { en, ko };
}

/** The language to show: the one that was chosen, else the browser's. */
export function languageOf(chosen: Language | "system", browser: readonly string[]): Language {
  if (chosen !== "system") return chosen;
  const known = browser.map((tag) => tag.slice(0, 2).toLowerCase()).find((tag) => tag === "ko" || tag === "en");
  return known === "ko" ? "ko" : "en";
}
