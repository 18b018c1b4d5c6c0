// What scrolling costs in the monitor's table, with many sessions and with few: npm run numbers prints it.

import { expect, it } from "vitest";
import { Crowd } from "./harness/crowd.js";
import { crowdedPage, scroll } from "./harness/scroll.js";
import { stage } from "./harness/stage.js";

const desk = stage();

/** The work of a step, in ms, with so many sessions. */
async function workOf(sessions: number): Promise<number> {
  const crowd = await Crowd.of(sessions);
  try {
    return (await scroll(await crowdedPage(desk, crowd))).work;
  } finally {
    crowd.close();
  }
}

it("scrolling through ten thousand sessions costs what it costs with few", async () => {
  const [many, few] = [await workOf(10_000), await workOf(200)];
  process.stdout.write(`scrolling by a screen: ${many.toFixed(1)} ms with 10,000 sessions, ${few.toFixed(1)} ms with 200\n`);
  expect(many, "ms a step, compared with 200 sessions").toBeLessThan(3 * few + 5);
});
