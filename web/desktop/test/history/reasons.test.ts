import { expect, test } from "vitest";
import { condenseFailure, reasonOf } from "../../src/history/reasons.js";

test("reasons of the hub are recognized by their code", () => {
  expect(reasonOf("history_changed")).toBe("whyChanged");
  expect(reasonOf("too_short")).toBe("whyShort");
  expect(reasonOf("of a newer hub")).toBeUndefined();
  expect(reasonOf("constructor")).toBeUndefined();
  expect(reasonOf(undefined)).toBeUndefined();
});

test("the row of a failed condensation has the reason in its text", () => {
  expect(condenseFailure("The conversation was not summarised: overloaded: busy")).toBe("overloaded: busy");
  expect(condenseFailure("The conversation was not summed up: the model gave no summary")).toBe("the model gave no summary");
});
