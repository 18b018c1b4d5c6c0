import { describe, expect, test } from "vitest";
import { bestStep, divide, type Step, scaled, steps } from "../../src/dock/encodings.js";
import { fits, frameSize, pictureLimit, roomFor } from "../../src/dock/pictures.js";

test("a frame is measured in bytes, not characters", () => {
  expect(frameSize("한", 0) - frameSize("", 0)).toBe(3);
  expect(frameSize('"', 0) - frameSize("", 0)).toBe(2);
});

test("pictures that fill their room exactly fit", () => {
  for (const count of [1, 2, 6]) {
    const room = roomFor("한글 text", count);
    const pictures = divide(room, Array.from({ length: count }, () => Infinity)).map((n) => "x".repeat(n));
    expect(fits("한글 text", pictures)).toBe(true);
    expect(fits("한글 text", [...pictures, "x".repeat(10)])).toBe(false);
  }
});

test("the hub keeps what fits as it is", () => {
  // 128 KiB as base64, without the beginnings of the data: URLs.
  expect(pictureLimit).toBeLessThanOrEqual(Math.floor((128 * 1024) / 3) * 4);
});

test("a long text does not fit, and leaves no room", () => {
  expect(roomFor("x".repeat(70_000), 1)).toBe(0);
  expect(fits("x".repeat(70_000), [])).toBe(false);
  expect(fits("x".repeat(50_000), ["x".repeat(100_000)])).toBe(true);
});

describe("divide", () => {
  test("small pictures leave their share to large ones", () => {
    expect(divide(100, [10, Infinity, Infinity])).toEqual([10, 45, 45]);
    expect(divide(100, [Infinity, 10])).toEqual([90, 10]);
    expect(divide(100, [20, 30])).toEqual([20, 30]);
    expect(divide(0, [5])).toEqual([0]);
    expect(divide(100, [])).toEqual([]);
  });

  test("never gives more than there is", () => {
    for (let n = 1; n < 7; n++) {
      const wanted = Array.from({ length: n }, (_, i) => (i * 7919) % 60);
      expect(divide(97, wanted).reduce((a, b) => a + b, 0)).toBeLessThanOrEqual(97);
    }
  });
});

describe("bestStep", () => {
  const write = (step: Step): Promise<string> => Promise.resolve("x".repeat(Math.round((step.side * step.side * step.quality) / 10)));

  test("finds the best that fits", async () => {
    for (const most of [100_000, 40_000, 5_000, 700]) {
      const best = (await bestStep(most, write))!;
      expect(best.url.length).toBeLessThanOrEqual(most);
      const at = steps.indexOf(best.step);
      if (at > 0) expect((await write(steps[at - 1]!)).length).toBeGreaterThan(most);
    }
  });

  test("gives up when even the smallest is too large", async () => {
    expect(await bestStep(10, write)).toBeUndefined();
  });

  test("tries a few times only", async () => {
    let tries = 0;
    await bestStep(20_000, (s) => (tries++, write(s)));
    expect(tries).toBeLessThanOrEqual(6);
  });
});

test("pictures keep their proportions and are never enlarged", () => {
  expect(scaled(4000, 2000, 1000)).toEqual({ width: 1000, height: 500 });
  expect(scaled(100, 50, 1000)).toEqual({ width: 100, height: 50 });
  expect(scaled(10_000, 1, 100)).toEqual({ width: 100, height: 1 });
});
