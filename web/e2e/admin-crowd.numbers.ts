// Measures scrolling in the admin table, with many sessions and with few; npm run numbers prints it.

import { afterAll, expect, it } from "vitest";
import { Crowd } from "./harness/crowd.js";
import { desktopFixture } from "./harness/fixture.js";
import { crowdedPage, measureScrolling } from "./harness/scroll.js";

const desktop = desktopFixture();
const [many, few] = [await Crowd.start(10_000), await Crowd.start(200)];

afterAll(() => {
  many.close();
  few.close();
});

/** The CPU time per step, in ms. */
async function cpuTimeWith(crowd: Crowd): Promise<number> {
  return (await measureScrolling(await crowdedPage(desktop, crowd))).work;
}

it("scrolling through ten thousand sessions costs the same as through few", async () => {
  const [costs, usual] = [await cpuTimeWith(many), await cpuTimeWith(few)];
  process.stdout.write(`scrolling by a screen: ${costs.toFixed(1)} ms with 10,000 sessions, ${usual.toFixed(1)} ms with 200\n`);
  expect(costs, "ms a step, compared with 200 sessions").toBeLessThan(3 * usual + 5);
});
