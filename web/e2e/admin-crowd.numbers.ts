// What scrolling costs in the monitor's table, with many sessions and with few: npm run numbers prints it.

import { afterAll, expect, it } from "vitest";
import { Crowd } from "./harness/crowd.js";
import { crowdedPage, scroll } from "./harness/scroll.js";
import { stage } from "./harness/stage.js";

const desktop = stage();
const [many, few] = [await Crowd.of(10_000), await Crowd.of(200)];

afterAll(() => {
  many.close();
  few.close();
});

/** The work of a step, in ms. */
async function workWith(crowd: Crowd): Promise<number> {
  return (await scroll(await crowdedPage(desktop, crowd))).work;
}

it("scrolling through ten thousand sessions costs what it costs with few", async () => {
  const [costs, usual] = [await workWith(many), await workWith(few)];
  process.stdout.write(`scrolling by a screen: ${costs.toFixed(1)} ms with 10,000 sessions, ${usual.toFixed(1)} ms with 200\n`);
  expect(costs, "ms a step, compared with 200 sessions").toBeLessThan(3 * usual + 5);
});
