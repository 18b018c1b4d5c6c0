import { defineConfig } from "vitest/config";
import { waitLimit } from "./e2e/harness/limits.js";

/** What runs in a real browser, by the mode of vitest: the tests, the pictures of the documentation, the figures. */
const kinds: Record<string, string> = {
  test: "e2e/**/*.test.ts",
  shots: "e2e/**/*.shots.ts",
  numbers: "e2e/**/*.numbers.ts",
};

export default defineConfig(({ mode }) => ({
  test: {
    include: [kinds[mode] ?? kinds.test!],
    globalSetup: ["e2e/harness/build.ts"],
    // Some tests wait for clocks, so that a third file keeps two cores busy. Pictures and figures want the machine for themselves.
    fileParallelism: mode === "test",
    maxWorkers: 3,
    // A worker keeps its modules and its browser for all of its files. What a file changes is in hubs and contexts of its own.
    isolate: false,
    // Pictures and figures are of the browser that people use.
    provide: { fullBrowser: mode !== "test" },
    // Longer than several waits, so that a wait that failed is what is reported.
    testTimeout: 4 * waitLimit,
    hookTimeout: 4 * waitLimit,
  },
}));
