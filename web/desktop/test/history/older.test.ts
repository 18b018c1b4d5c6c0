import { describe, expect, test } from "vitest";
import type { DesktopState, UIRow } from "../../../core/src/index.js";
import { allRows, isFull, maxOlder, mayHaveOlder, noOlder, oldestId, withEvicted, withoutRewound, withPage } from "../../src/history/older.js";

function row(id: number, more: Partial<UIRow> = {}): UIRow {
  return { ts: 1_000 + id, id, type: "say", say: "text", text: `row ${id}`, monitorId: "monitor-0", ...more };
}

const desktop = (...rows: UIRow[]): DesktopState["rows"] => new Map(rows.map((r) => [r.ts, { row: r, bytes: 1 }]));
const ids = (rows: DesktopState["rows"]): (number | undefined)[] => [...rows.values()].map((r) => r.row.id);

describe("pages of the archive", () => {
  test("come before the rows of the desktop state, which are the newer versions", () => {
    const o = withPage(noOlder, [row(1), row(2), row(3, { text: "old" })], true);
    const all = allRows(o, desktop(row(3, { text: "new" }), row(4)));
    expect(ids(all)).toEqual([1, 2, 3, 4]);
    expect(all.get(1_003)!.row.text).toBe("new");
    expect(o.more).toBe(true);
  });

  test("end when the hub says so, or sends nothing", () => {
    expect(withPage(noOlder, [row(1)], false).more).toBe(false);
    expect(withPage(noOlder, [], true).more).toBe(false);
  });

  test("are requested from the oldest row of the monitor on", () => {
    const rows = desktop(row(7, { monitorId: "monitor-1" }), row(9), row(8), { ...row(10), id: undefined } as unknown as UIRow);
    expect(oldestId(rows, "monitor-0")).toBe(8);
    expect(oldestId(rows, "monitor-2")).toBeUndefined();
  });

  test("may exist when the oldest row is not the first of the session", () => {
    expect(mayHaveOlder(noOlder, desktop(row(1), row(2)), 0)).toBe(false);
    expect(mayHaveOlder(noOlder, desktop(row(2)), 0)).toBe(true);
    expect(mayHaveOlder(noOlder, desktop(), 0)).toBe(false);
    expect(mayHaveOlder(withPage(noOlder, [row(2)], false), desktop(row(3)), 0)).toBe(false);
  });

  test("may exist when a rewind has left the desktop state no row", () => {
    expect(mayHaveOlder(noOlder, desktop(), 1)).toBe(true);
    expect(mayHaveOlder(withPage(noOlder, [], false), desktop(), 1)).toBe(false);
    expect(mayHaveOlder(noOlder, desktop(row(1)), 1)).toBe(false);
  });

  test("are bounded by number and by size, and one row counts once", () => {
    const many = Array.from({ length: maxOlder.rows }, (_, i) => row(i + 1));
    expect(isFull(withPage(noOlder, many, true))).toBe(true);
    expect(isFull(withPage(noOlder, [row(1, { text: "x".repeat(maxOlder.size) })], true))).toBe(true);
    const twice = withPage(withPage(noOlder, [row(1)], true), [row(1)], true);
    expect(twice.size).toBe(withPage(noOlder, [row(1)], true).size);
  });
});

test("rows dropped by the desktop state are kept once older rows were loaded", () => {
  const before = desktop(row(4), row(5), row(6, { monitorId: "monitor-1" }), row(7));
  const after = desktop(row(7), row(8));
  expect(withEvicted(noOlder, before, after, "monitor-0")).toBe(noOlder);
  const o = withEvicted(withPage(noOlder, [row(3)], true), before, after, "monitor-0");
  expect([...o.rows.keys()]).toEqual([1_003, 1_004, 1_005]);
  const newer = withPage(noOlder, [row(1)], true);
  expect(withEvicted(newer, desktop(row(2), row(9)), desktop(row(2)), "monitor-0")).toBe(newer); // a rewind removed it
});

test("a rewind removes older rows too, except those that remain", () => {
  const o = withPage(noOlder, [row(1), row(2), row(3), row(4, { monitorId: "monitor-1" })], true);
  const cut = withoutRewound(o, { ts: 1_002, removed: 1, kept: [1_003], monitorId: "monitor-0" });
  expect([...cut.rows.keys()]).toEqual([1_001, 1_003, 1_004]);
  expect(cut).toMatchObject({ more: true });
  expect(cut.size).toBeLessThan(o.size);
  expect([...withoutRewound(o, { ts: 1_002, removed: 1, included: true, monitorId: "monitor-0" }).rows.keys()]).toEqual([1_001, 1_002, 1_004]);
  expect(withoutRewound(o, { ts: 5_000, removed: 0, monitorId: "monitor-0" })).toBe(o);
});
