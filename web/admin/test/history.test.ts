import { expect, test } from "vitest";
import { grown, kept, noHistory } from "../src/state/history.js";
import { overview, replica } from "./help.js";

test("rates are summed, the slowest append counts, takeovers are counted from one look to the next", () => {
  let h = grown(noHistory, overview(1000, [replica("a", { events: 3, appendP99: 0.02, takeovers: 7 }), replica("b", { events: 4, appendP99: 0.5 })]));
  expect(h.points).toMatchObject([{ time: 1000, events: 7, appendP99: 0.5, agents: 3, queued: 2, takeovers: 0 }]);
  h = grown(h, overview(2000, [replica("a", { takeovers: 9 }), replica("b", { takeovers: 1 }), replica("new", { takeovers: 50 })]));
  expect(h.points[1]!.takeovers).toBe(3);
  // A replica that was started again counts from nothing.
  h = grown(h, overview(3000, [replica("a", { takeovers: 0 })]));
  expect(h.points[2]!.takeovers).toBe(0);
});

test("one point a second, for a quarter of an hour", () => {
  let h = noHistory;
  for (let time = 0; time <= 2 * kept; time += 500) h = grown(h, overview(time, []));
  expect(h.points).toHaveLength(kept / 1000);
  expect(h.points[0]!.time).toBeGreaterThan(kept);
});
