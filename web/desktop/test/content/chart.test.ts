import { describe, expect, test } from "vitest";
import { exportKinds, fileName, textOf, toCsv } from "../../src/canvas/export.js";
import { versionsOf } from "../../src/canvas/window-versions.js";
import { barsOf, type Chart, labelAt, labelPosition, levelsOf, scatterOf, slicesOf, tableOf, valueAxis } from "../../src/content/chart/model.js";
import { axisOf, formatOf, positionOf, visibleLabels } from "../../src/content/chart/scale.js";
import { fittedWidth } from "../../src/drawer/width.js";

const plot = { x: 40, y: 10, w: 300, h: 200 };
const bars: Chart = { kind: "bar", labels: ["a", "b", "c"], series: [{ name: "one", values: [1, 2, -3] }, { name: "two", values: [4, 5, 6] }] };

describe("axes", () => {
  test.each([
    [[3, 97], 5, true, [0, 20, 40, 60, 80, 100]],
    [[980, 1010], 3, false, [980, 990, 1000, 1010]],
    [[-5, 5], 4, true, [-5, -2.5, 0, 2.5, 5]],
    [[0.1, 0.3], 3, true, [0, 0.1, 0.2, 0.3]],
    [[], 4, true, [0, 0.25, 0.5, 0.75, 1]],
    [[7, 7], 2, true, [0, 5, 10]],
  ])("of %j with %d ticks", (values, count, zero, ticks) => {
    expect(axisOf(values, count, zero).ticks).toEqual(ticks);
  });

  test("contain all values, whatever they are", () => {
    for (const values of [[1e-9, 2e-9], [-1e12, 3], [123456.789], [0, 0], [1e300, -1e300]]) {
      const axis = axisOf(values, 5, false);
      for (const v of values) {
        expect(v).toBeGreaterThanOrEqual(axis.low - axis.step * 1e-6);
        expect(v).toBeLessThanOrEqual(axis.high + axis.step * 1e-6);
        expect(Number.isFinite(positionOf(v, axis, 0, 100))).toBe(true);
      }
      expect(axis.ticks.length).toBeLessThan(20);
      expect(formatOf("en", axis)(values[0]!)).not.toBe("");
    }
  });

  test("leave out labels that would cover others", () => {
    expect(visibleLabels([20, 20, 20], 300)).toEqual([0, 1, 2]);
    expect(visibleLabels(new Array(10).fill(50), 310)).toEqual([0, 2, 4, 6, 8]);
  });
});

describe("marks", () => {
  test("bars are inside the plot and do not cover each other", () => {
    for (const stacked of [false, true]) {
      const chart = { ...bars, stacked };
      const levels = levelsOf(chart, [0, 1]);
      const found = barsOf(chart, levels, valueAxis(chart, levels, 5), plot);
      expect(found).toHaveLength(6);
      for (const b of found) {
        expect(b.x).toBeGreaterThanOrEqual(plot.x);
        expect(b.x + b.w).toBeLessThanOrEqual(plot.x + plot.w);
        expect(b.y).toBeGreaterThanOrEqual(plot.y - 0.01);
        expect(b.y + b.h).toBeLessThanOrEqual(plot.y + plot.h + 1);
        for (const o of found) if (o !== b) expect(b.x < o.x + o.w - 0.01 && o.x < b.x + b.w - 0.01 && b.y < o.y + o.h - 1.01 && o.y < b.y + b.h - 1.01).toBe(false);
      }
    }
  });

  test("the label at a position is the one that is drawn there", () => {
    for (const kind of ["bar", "line"] as const) for (const i of [0, 1, 2]) expect(labelAt({ ...bars, kind }, labelPosition({ ...bars, kind }, i, plot), plot)).toBe(i);
  });

  test("slices share the circle, also a single one", () => {
    expect(slicesOf([1, 0, 3], 100, 100, 80, 40).map((s) => s.part)).toEqual([0.25, 0, 0.75]);
    expect(slicesOf([5], 100, 100, 80, 40)[0]!.path).toContain("A80 80 0 1 1");
    expect(slicesOf([0, 0], 100, 100, 80, 40).map((s) => s.path)).toEqual(["", ""]);
  });

  test("points are ordered from left to right", () => {
    const chart: Chart = { kind: "scatter", series: [{ points: [[5, 1], [1, 2]] }, { points: [[3, 3]] }] };
    expect(scatterOf(chart, [0, 1], plot, { x: 5, y: 5 }).marks.map((m) => [m.series, m.index])).toEqual([[0, 1], [1, 0], [0, 0]]);
  });
});

test("the numbers of a chart are a table, for the clipboard and for files", () => {
  const content = { renderer: "chart" as const, data: { ...bars, xTitle: "Letter", unit: "km" } };
  expect(tableOf(content.data, { x: "", series: (n) => bars.series[n]!.name! }).headers).toEqual(["Letter", "one (km)", "two (km)"]);
  expect(textOf({ content })).toBe("Letter\tone (km)\ttwo (km)\na\t1\t4\nb\t2\t5\nc\t-3\t6");
  expect(exportKinds({ content })).toEqual(["csv", "png"]);
  expect(toCsv({ headers: ["a", 'b "c"'], rows: [["1,5", "x\ny"]] })).toBe('\uFEFFa,"b ""c"""\r\n"1,5","x\ny"\r\n');
  expect(fileName("a/b: <c>?", "csv")).toBe("a b c.csv");
  expect(fileName("  ", "png")).toBe("window.png");
});

test("changes that follow each other quickly are one version of a window", () => {
  const contents = ["a", "ab", "abc", "z", "z"].map((data) => ({ renderer: "text" as const, data }));
  contents[4] = contents[3]!;
  const times = [1000, 2000, 3000, 20_000, 30_000];
  const film = {
    length: 5,
    events: times.map((time) => ({ time })),
    stateAt: (m: number) => ({ windows: new Map([["monitor-0/w", { title: "T", content: contents[m - 1] }]]) }),
  };
  expect(versionsOf(film as never, "monitor-0/w").map((v) => [v.time, v.content.data])).toEqual([[20_000, "z"], [3000, "abc"]]);
  expect(versionsOf(film as never, "monitor-0/x")).toEqual([]);
});

test("the conversation is narrow on a narrow page, and as wide as the user chose on a wide one", () => {
  expect([fittedWidth(380, 1024), fittedWidth(500, 1280), fittedWidth(500, 1440), fittedWidth(200, 1280)]).toEqual([300, 300, 500, 280]);
});
