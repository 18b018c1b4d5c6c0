import { expect, test } from "vitest";
import { statuses } from "../src/api/types.js";
import { grown, noHistory } from "../src/state/history.js";
import { emptyTable, merged } from "../src/state/rows.js";
import { bare, full } from "./api.gen.js";

test("the statuses are those of Go", () => {
  expect(Object.keys(full.overview.totals.byStatus)).toEqual([...statuses].sort());
});

test("what has nothing in it is understood too", () => {
  expect(merged(emptyTable, bare.rows)).toEqual(emptyTable);
  expect(grown(noHistory, bare.overview).points).toHaveLength(1);
});
