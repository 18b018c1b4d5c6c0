// What Go sends to the page, for the compiler to compare with the types of the page.

import type { Detail, Overview, Past, Rows } from "../src/api/types.js";

export interface Values {
  history: Past;
  overview: Overview;
  rows: Rows;
  detail: Detail;
}

/** With all that may be absent: a field that only the page knows is missed, one that only Go knows is too many. */
export type Whole<T> = T extends readonly (infer E)[] ? Whole<E>[] : T extends object ? { [K in keyof T]-?: Whole<T[K]> } : T;
