import { expect, test } from "vitest";
import { applyRows, emptyTable, withoutIncoming } from "../src/state/rows.js";
import { row } from "./help.js";

const ids = (t: { rows: ReadonlyMap<string, unknown> }): string[] => [...t.rows.keys()].sort();

test("a whole table in one part", () => {
  const t = applyRows(emptyTable, { full: true, rows: [row("a"), row("b")] });
  expect(ids(t)).toEqual(["a", "b"]);
  expect(t.complete).toBe(true);
});

test("changes: new ones, other ones and those that are gone; who did not change is the same object", () => {
  const before = applyRows(emptyTable, { full: true, rows: [row("a"), row("b"), row("c")] });
  const after = applyRows(before, { rows: [row("b", { tabs: 2 }), row("d")], gone: ["c"] });
  expect(ids(after)).toEqual(["a", "b", "d"]);
  expect(after.rows.get("b")!.tabs).toBe(2);
  expect(after.rows.get("a")).toBe(before.rows.get("a"));
  expect(ids(before), "the old table is as it was").toEqual(["a", "b", "c"]);
});

test("a whole table in several parts stands when the last one is there, and the old one until then", () => {
  let t = applyRows(emptyTable, { full: true, rows: [row("old")] });
  t = applyRows(t, { full: true, more: true, rows: [row("a")] });
  expect(ids(t)).toEqual(["old"]);
  t = applyRows(t, { more: true, rows: [row("b")] });
  expect(ids(t)).toEqual(["old"]);
  t = applyRows(t, { rows: [row("c")] });
  expect(ids(t)).toEqual(["a", "b", "c"]);
});

test("a connection that is lost in the middle of a table leaves the old one, and the next whole one begins anew", () => {
  let t = applyRows(emptyTable, { full: true, rows: [row("old")] });
  t = withoutIncoming(applyRows(t, { full: true, more: true, rows: [row("half")] }));
  expect(ids(t)).toEqual(["old"]);
  t = applyRows(t, { rows: [row("change")] });
  expect(ids(t)).toEqual(["change", "old"]);
  t = applyRows(applyRows(t, { full: true, more: true, rows: [row("x")] }), { full: true, rows: [row("y")] });
  expect(ids(t)).toEqual(["y"]);
});

test("an empty fleet has a whole table of nothing", () => {
  expect(emptyTable.complete).toBe(false);
  expect(applyRows(emptyTable, { full: true })).toMatchObject({ complete: true });
});
