import { expect, test } from "vitest";
import { axisOf, historyLength, noHistory, withOverview, withPast } from "../src/state/history.js";
import { overview, replica } from "./fixtures.js";

test("rates are summed, the slowest append counts, takeovers are counted between overviews", () => {
  let h = withOverview(noHistory, overview(1000, [replica("a", { events: 3, appendP99: 0.02, takeovers: 7 }), replica("b", { events: 4, appendP99: 0.5 })]));
  expect(h.points).toMatchObject([{ time: 1000, events: 7, appendP99: 0.5, agents: 3, queued: 2, takeovers: 0 }]);
  h = withOverview(h, overview(2000, [replica("a", { takeovers: 9 }), replica("b", { takeovers: 1 }), replica("new", { takeovers: 50 })]));
  expect(h.points[1]!.takeovers).toBe(3);
  // A restarted replica counts from zero.
  h = withOverview(h, overview(3000, [replica("a", { takeovers: 0 })]));
  expect(h.points[2]!.takeovers).toBe(0);
});

test("one point per second, for 15 minutes", () => {
  let h = noHistory;
  for (let time = 0; time <= 2 * historyLength; time += 500) h = withOverview(h, overview(time, []));
  expect(h.points).toHaveLength(historyLength / 1000);
  expect(h.points[0]!.time).toBeGreaterThan(historyLength);
});

const point = { time: 0, events: 1, deliveries: 0, appendP50: 0, appendP99: 0, agents: 0, queued: 0, takeovers: 0 };
const past = (...times: number[]) => ({ points: times.map((time) => ({ ...point, time })) });

test("the hubs' points come before those of the page, and fill its gaps", () => {
  let h = withPast(noHistory, past(0, 5000, 10_000));
  for (const time of [16_000, 17_000]) h = withOverview(h, overview(time, []));
  expect(h.points.map((p) => p.time)).toEqual([0, 5000, 10_000, 16_000, 17_000]);
  // After a while without the hub.
  h = withOverview(h, overview(60_000, []));
  h = withPast(h, past(5000, 10_000, 15_000, 20_000, 25_000, 30_000, 55_000, 60_000));
  expect(h.points.map((p) => p.time)).toEqual([0, 5000, 10_000, 16_000, 17_000, 25_000, 30_000, 60_000]);
});

test("the hubs' points are dropped like the others", () => {
  const h = withOverview(withPast(noHistory, past(0, 5000, 10_000)), overview(historyLength + 7000, []));
  expect(h.points.map((p) => p.time)).toEqual([10_000, historyLength + 7000]);
});

test("an axis starts with the first point", () => {
  const minute = 60_000;
  expect(axisOf(10 * minute, 11 * minute)).toEqual([9 * minute, 11 * minute]);
  expect(axisOf(10 * minute, 15 * minute)).toEqual([10 * minute, 15 * minute]);
  expect(axisOf(0, 60 * minute)).toEqual([45 * minute, 60 * minute]);
});
