import { defineConfig } from "vitest/config";
import { waitLimit } from "./e2e/harness/limits.js";

/** The files that run in a real browser, by the mode of vitest: tests, pictures of the documentation, measurements. */
const kinds: Record<string, string> = {
  test: "e2e/**/*.test.ts",
  shots: "e2e/**/*.shots.ts",
  numbers: "e2e/**/*.numbers.ts",
  soak: "e2e/**/*.soak.ts",
  npm: "e2e/**/*.npm.ts",
};

export default defineConfig(({ mode }) => ({
  test: {
    include: [kinds[mode] ?? kinds.test!],
    globalSetup: ["e2e/harness/build.ts"],
    // Some tests wait for timers, so three files in parallel keep two cores busy. Pictures and measurements need an
    // idle machine.
    fileParallelism: mode === "test",
    maxWorkers: 3,
    // A worker keeps its modules and its browser for all of its files. Each file uses hubs and browser contexts of its
    // own.
    isolate: false,
    // Pictures and measurements use the full browser, as users do.
    provide: { fullBrowser: mode !== "test" },
    // Longer than several waits, so that the failed wait is reported and not the test's timeout.
    testTimeout: 4 * waitLimit,
    hookTimeout: 4 * waitLimit,
  },
}));
