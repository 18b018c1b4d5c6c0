import { expect, test } from "vitest";
import { condenseFailure, reasonIn } from "../../src/history/reasons.js";

test("reasons of the hub are recognized by their beginning", () => {
  expect(reasonIn("the conversation is not what it was: the conversation was rewound by somebody else")).toBe("whyChanged");
  expect(reasonIn("there is not enough to sum up")).toBe("whyShort");
  expect(reasonIn("something else")).toBeUndefined();
  expect(condenseFailure("The conversation was not summed up: the model gave no summary")).toBe("the model gave no summary");
});
