import { describe, expect, test } from "vitest";
import { matching, maxPins, withPin } from "../src/launcher/search.js";
import { boundsOf, templateIds, templateOf, windowsOf } from "../src/launcher/templates.js";

test("apps are found by name and description, those that begin with the text first", () => {
  const all = [{ id: "a", name: "Big calculator" }, { id: "b", name: "Calendar", description: "days" }, { id: "c", name: "Notes", description: "calm texts" }];
  expect(matching(all, "cal").map((a) => a.id)).toEqual(["b", "a", "c"]);
  expect(matching(all, "texts NOTES").map((a) => a.id)).toEqual(["c"]);
  expect(matching(all, "")).toEqual(all);
  expect(matching(all, "zebra")).toEqual([]);
});

test("the oldest pinned app makes room", () => {
  let pinned: string[] = [];
  for (let i = 0; i <= maxPins; i++) pinned = withPin(pinned, `app-${i}`);
  expect(pinned).toHaveLength(maxPins);
  expect(pinned).not.toContain("app-0");
  expect(withPin(pinned, "app-3")).not.toContain("app-3");
});

describe.each(templateIds)("the template %s", (id) => {
  test.each([
    [644, 580],
    [1060, 790],
    [3460, 2000],
  ])("fits on a canvas of %d × %d without overlaps", (w, h) => {
    const template = templateOf(id, "en");
    const boxes = [...template.parts.map((p) => p.place), template.appPlace].map((p) => boundsOf(p, { w, h }));
    for (const [i, a] of boxes.entries()) {
      expect(a.x).toBeGreaterThanOrEqual(0);
      expect(a.x + a.w).toBeLessThanOrEqual(w);
      expect(a.y + a.h).toBeLessThanOrEqual(h);
      for (const b of boxes.slice(i + 1)) {
        expect(a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h, `${JSON.stringify(a)} ${JSON.stringify(b)}`).toBe(false);
      }
    }
  });

  test("has the same windows in both languages", () => {
    const [en, ko] = [templateOf(id, "en"), templateOf(id, "ko")];
    expect(windowsOf(ko, { w: 1000, h: 700 }).length).toBe(en.parts.length);
    expect(ko.parts.map((p) => [p.id, p.content.renderer])).toEqual(en.parts.map((p) => [p.id, p.content.renderer]));
    expect(ko.title).toMatch(/[가-힣]/);
    expect(en.instructions).not.toMatch(/[가-힣]/);
  });
});
