import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["core/test/**/*.test.ts", "desktop/test/**/*.test.{ts,tsx}", "admin/test/**/*.test.{ts,tsx}"],
    benchmark: { include: ["core/bench/**/*.bench.ts"] },
    testTimeout: 120_000,
  },
});
