// The JSON that Go sends to the admin page, for the compiler to compare with the types of the page.

import type { Detail, Overview, Past, Rows } from "../src/api/types.js";

export interface Values {
  history: Past;
  overview: Overview;
  rows: Rows;
  detail: Detail;
}

/** T with all optional fields required: a field that only the page or only Go has does not compile. */
export type Whole<T> = T extends readonly (infer E)[] ? Whole<E>[] : T extends object ? { [K in keyof T]-?: Whole<T[K]> } : T;
