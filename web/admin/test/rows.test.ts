import { expect, test } from "vitest";
import { applyRows, emptyTable, withoutIncoming } from "../src/state/rows.js";
import { row } from "./fixtures.js";

const ids = (t: { rows: ReadonlyMap<string, unknown> }): string[] => [...t.rows.keys()].sort();

test("a full table in one part", () => {
  const t = applyRows(emptyTable, { full: true, rows: [row("a"), row("b")] });
  expect(ids(t)).toEqual(["a", "b"]);
  expect(t.complete).toBe(true);
});

test("added, changed and removed rows; an unchanged row is the same object", () => {
  const before = applyRows(emptyTable, { full: true, rows: [row("a"), row("b"), row("c")] });
  const after = applyRows(before, { rows: [row("b", { tabs: 2 }), row("d")], gone: ["c"] });
  expect(ids(after)).toEqual(["a", "b", "d"]);
  expect(after.rows.get("b")!.tabs).toBe(2);
  expect(after.rows.get("a")).toBe(before.rows.get("a"));
  expect(ids(before), "the old table is as it was").toEqual(["a", "b", "c"]);
});

test("a full table in several parts replaces the old one with its last part", () => {
  let t = applyRows(emptyTable, { full: true, rows: [row("old")] });
  t = applyRows(t, { full: true, more: true, rows: [row("a")] });
  expect(ids(t)).toEqual(["old"]);
  t = applyRows(t, { more: true, rows: [row("b")] });
  expect(ids(t)).toEqual(["old"]);
  t = applyRows(t, { rows: [row("c")] });
  expect(ids(t)).toEqual(["a", "b", "c"]);
});

test("a connection lost in the middle of a table keeps the old one, and the next full table starts again", () => {
  let t = applyRows(emptyTable, { full: true, rows: [row("old")] });
  t = withoutIncoming(applyRows(t, { full: true, more: true, rows: [row("half")] }));
  expect(ids(t)).toEqual(["old"]);
  t = applyRows(t, { rows: [row("change")] });
  expect(ids(t)).toEqual(["change", "old"]);
  t = applyRows(applyRows(t, { full: true, more: true, rows: [row("x")] }), { full: true, rows: [row("y")] });
  expect(ids(t)).toEqual(["y"]);
});

test("a full table may be empty", () => {
  expect(emptyTable.complete).toBe(false);
  expect(applyRows(emptyTable, { full: true })).toMatchObject({ complete: true });
});
