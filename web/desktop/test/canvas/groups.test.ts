import { expect, test } from "vitest";
import type { Bounds, WindowState } from "../../../core/src/index.js";
import { type Zone, zoneBounds } from "../../src/canvas/geometry.js";
import { groupOf, minimisedGroups } from "../../src/canvas/groups.js";

const area = { x: 0, y: 0, w: 1201, h: 701 };

function tile(key: string, at: Zone | Bounds) {
  return { key, bounds: typeof at === "string" ? zoneBounds(at, area) : at, least: { w: 240, h: 120 } };
}

const keys = (tiles: readonly { key: string }[]): string => tiles.map((t) => t.key).join(" ");

test("windows in halves and quarters are a group; a window above, beneath or elsewhere is not part of it", () => {
  expect(keys(groupOf([tile("a", "left"), tile("b", "right")]))).toBe("a b");
  expect(keys(groupOf([tile("a", "left"), tile("b", "top-right"), tile("c", "bottom-right")]))).toBe("a b c");
  expect(keys(groupOf([tile("a", "top-left"), tile("b", "top-right"), tile("c", "bottom-right"), tile("d", "bottom-left")]))).toBe("a b d c");
  expect(keys(groupOf([tile("a", "left"), tile("above", { x: 700, y: 90, w: 300, h: 300 }), tile("b", "right")]))).toBe("a b");
  expect(keys(groupOf([tile("a", "left"), tile("b", "right"), tile("beneath", "right")]))).toBe("a b");
  expect(keys(groupOf([tile("a", "left"), tile("near", { ...zoneBounds("right", area), x: 640 })]))).toBe("");
});

test("more than four windows in rows are a tidy desktop and no group", () => {
  const row = Array.from({ length: 5 }, (_, n) => tile(`${n}`, { x: 8 + 308 * n, y: 8, w: 300, h: 400 }));
  expect(groupOf(row)).toEqual([]);
  expect(groupOf(row.slice(1)).length).toBe(4);
});

test("minimised windows that were side by side are together, in the order of the list", () => {
  const win = (windowId: string, at: Zone, minimized = true): WindowState => ({ windowId, monitorId: "monitor-0", title: windowId, bounds: zoneBounds(at, area), content: { renderer: "text", data: "" }, minimized, z: 1 });
  const full = { ...win("full", "left"), maximized: true };
  const groups = minimisedGroups([win("a", "left"), full, win("open", "right", false), win("b", "right")]);
  expect(groups.map((g) => g.map((w) => w.windowId))).toEqual([["a", "b"], ["full"]]);
});
