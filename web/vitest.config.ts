import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["core/test/**/*.test.ts"],
    benchmark: { include: ["core/bench/**/*.bench.ts"] },
    testTimeout: 30_000,
  },
});
