import { expect, test } from "vitest";
import { statuses } from "../src/api/types.js";
import { noHistory, withOverview } from "../src/state/history.js";
import { applyRows, emptyTable } from "../src/state/rows.js";
import { bare, full } from "./api.gen.js";

test("the statuses are those of Go", () => {
  expect(Object.keys(full.overview.totals.byStatus)).toEqual([...statuses].sort());
});

test("empty values decode", () => {
  expect(applyRows(emptyTable, bare.rows)).toEqual(emptyTable);
  expect(withOverview(noHistory, bare.overview).points).toHaveLength(1);
});
