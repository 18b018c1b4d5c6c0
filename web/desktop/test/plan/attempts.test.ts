// The number of the current attempt at a todo.

import { expect, it } from "vitest";
import { attemptText } from "../../src/plan/todo.js";
import { plan as texts } from "../../src/texts/plan.js";

it.each([
  ["the third, which worked", { status: "completed", retry_count: 2, max_retries: 3 }, "3 of 4"],
  ["the last, which did not", { status: "failed", retry_count: 3, max_retries: 3 }, "4 of 4"],
  ["the one that is to come", { status: "pending", retry_count: 1, max_retries: 3, retry_at: 1 }, "2 of 4"],
] as const)("%s", (_, todo, want) => {
  expect(attemptText({ id: "a", task: "a", depends_on: [], ...todo }, texts.en)).toBe(want);
});
