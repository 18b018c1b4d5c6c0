import { expect, test } from "vitest";
import { arrivalFrom } from "../../src/canvas/arrival.js";

const box = (left: number, top: number, width: number, height: number) => ({ left, top, width, height });

test("something comes from the middle of its task, in its size", () => {
  expect(arrivalFrom(box(0, 700, 100, 40), box(200, 100, 400, 400))).toEqual({ translate: "-350px 420px", scale: "0.1", opacity: 0.3 });
  expect(arrivalFrom(box(0, 0, 900, 900), box(0, 0, 300, 300))?.scale, "it is never larger than at its place").toBe("1");
});

test("nothing comes from what is not shown", () => {
  expect(arrivalFrom(box(0, 0, 0, 0), box(0, 0, 300, 300))).toBeUndefined();
  expect(arrivalFrom(box(0, 0, 30, 30), box(0, 0, 0, 300))).toBeUndefined();
});
