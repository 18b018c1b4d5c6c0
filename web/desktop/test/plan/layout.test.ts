import { describe, expect, test } from "vitest";
import { box, type Linked, layoutOf, stepFrom } from "../../src/plan/layout.js";

const todo = (id: string, ...depends_on: string[]): Linked => ({ id, depends_on });

/** a → b, c; b, c → d; a → d crosses the row between them. */
const diamond = [todo("a"), todo("b", "a"), todo("c", "a"), todo("d", "b", "c", "a")];

describe("layoutOf", () => {
  test("puts every todo below the last of its dependencies", () => {
    const { places } = layoutOf([todo("late", "b", "a"), todo("a"), todo("b", "a"), todo("alone")]);
    expect([...places.values()].map((p) => [p.id, p.row])).toEqual([
      ["a", 0],
      ["alone", 0],
      ["b", 1],
      ["late", 2],
    ]);
  });

  test("no two boxes touch, and all fit", () => {
    const wide = Array.from({ length: 12 }, (_, i) => todo(`t${i}`, ...(i < 3 ? [] : [`t${i % 3}`, `t${i - 3}`])));
    const { places, width, height } = layoutOf(wide);
    const all = [...places.values()];
    for (const p of all) {
      expect(p.x).toBeGreaterThanOrEqual(0);
      expect(p.x + box.width).toBeLessThanOrEqual(width + 1);
      expect(p.y + box.height).toBeLessThanOrEqual(height);
      for (const q of all) if (p !== q && p.row === q.row) expect(Math.abs(p.x - q.x)).toBeGreaterThan(box.width);
    }
  });

  test("draws a line for every dependency, from bottom to top", () => {
    const { lines, places } = layoutOf(diamond);
    expect(lines.map((l) => `${l.from}-${l.to}`).sort()).toEqual(["a-b", "a-c", "a-d", "b-d", "c-d"]);
    const a = places.get("a")!;
    for (const l of lines.filter((line) => line.from === "a")) expect(l.path.startsWith(`M${a.x + box.width / 2} ${a.y + box.height}C`)).toBe(true);
  });

  test("a line that crosses a row runs through no box of it", () => {
    const { lines, places } = layoutOf(diamond);
    const x = Number(/ (-?[\d.]+) [\d.]+V/.exec(lines.find((l) => l.from === "a" && l.to === "d")!.path)![1]);
    for (const id of ["b", "c"]) {
      const p = places.get(id)!;
      expect(x < p.x || x > p.x + box.width).toBe(true);
    }
  });

  test("sorts a row so that lines do not cross", () => {
    const { places } = layoutOf([todo("a"), todo("b"), todo("ofB", "b"), todo("ofA", "a")]);
    const order = (one: string, other: string): number => Math.sign(places.get(one)!.x - places.get(other)!.x);
    expect(order("ofA", "ofB")).toBe(order("a", "b"));
  });

  test.each([
    ["nothing", []],
    ["an unknown name", [todo("a", "nobody")]],
    ["a circle", [todo("a", "b"), todo("b", "a"), todo("c", "b")]],
    ["itself", [todo("a", "a")]],
    ["the same name twice", [todo("a"), todo("a"), todo("b", "a", "a")]],
  ])("tolerates %s", (_, todos) => {
    const { places, lines, width, height } = layoutOf(todos);
    expect(places.size).toBe(new Set(todos.map((t) => t.id)).size);
    expect([width, height].every(Number.isFinite)).toBe(true);
    for (const l of lines) expect(l.path).not.toMatch(/NaN|undefined/);
  });

  test("a sequential plan is one column", () => {
    const chain = Array.from({ length: 100 }, (_, i) => todo(`t${i}`, ...(i === 0 ? [] : [`t${i - 1}`])));
    const { width, places } = layoutOf(chain);
    expect(width).toBe(box.width);
    expect(places.get("t99")!.row).toBe(99);
  });
});

describe("stepFrom", () => {
  const layout = layoutOf(diamond);
  const [left, right] = ["b", "c"].sort((x, y) => layout.places.get(x)!.x - layout.places.get(y)!.x) as [string, string];
  test.each([
    ["a", "up", "a"],
    ["d", "down", "d"],
    ["d", "first", "a"],
    ["a", "last", "d"],
    ["gone", "down", "a"],
  ] as const)("%s %s is %s", (from, step, to) => {
    expect(stepFrom(layout, from, step)).toBe(to);
  });
  test("left and right move in a row, up and down in a column", () => {
    expect(stepFrom(layout, left, "right")).toBe(right);
    expect(stepFrom(layout, right, "right")).toBe(right);
    expect(stepFrom(layout, right, "left")).toBe(left);
    expect([left, right]).toContain(stepFrom(layout, "a", "down"));
    expect(stepFrom(layout, left, "up")).toBe("a");
  });
});
