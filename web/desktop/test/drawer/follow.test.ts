import { expect, test } from "vitest";
import { countNew } from "../../src/drawer/follow.js";

test.each([
  ["what came after", ["a", "b", "c"], ["a"], 2],
  ["nothing", ["a", "b"], ["a", "b"], 0],
  ["older ones are not new", ["x", "y", "a", "b", "c"], ["a", "b"], 1],
  ["what was seen is gone", ["c", "d"], ["a"], 2],
])("%s", (_, keys, seen, want) => {
  expect(countNew(keys, new Set(seen))).toBe(want);
});
