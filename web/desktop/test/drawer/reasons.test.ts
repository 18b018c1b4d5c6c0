import { expect, test } from "vitest";
import { parseReason } from "../../src/drawer/reasons.js";

test.each([
  ["the window was closed", "windowClosed", ""],
  ["invalid: the model broke", "invalid", "the model broke"],
  ["context_length: 200000: too many", "contextLength", "200000: too many"],
  ["tool http:post may or may not have run", "toolMayHaveRun", "http:post"],
  ["monitor-1 is over its budget of turns at the same time", "overBudget", ""],
  ["the turn was cut off 3 times", "cutOften", ""],
  ["the disk caught fire", undefined, "the disk caught fire"],
  ["constructor: odd", undefined, "constructor: odd"],
  ["toString", undefined, "toString"],
  ["", undefined, ""],
])("%s", (text, reason, about) => {
  expect(parseReason(text)).toEqual({ reason, about });
});
