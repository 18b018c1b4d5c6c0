import { expect, test } from "vitest";
import { formats } from "../src/i18n/format.js";

const { en, ko } = formats;

test("durations in their largest unit", () => {
  expect([-5, 0, 999, 59_999, 60_000, 3_599_000, 3_600_000, 86_400_000 * 3].map((ms) => en.age(ms))).toEqual(["0s", "0s", "0s", "59s", "1m", "59m", "1h", "3d"]);
  expect([1000, 120_000, 7_200_000].map((ms) => ko.age(ms))).toEqual(["1초", "2분", "2시간"]);
});

test("latencies", () => {
  expect([0, 0.00034, 0.0012, 0.045, 1.25].map((s) => en.latency(s))).toEqual(["–", "340 µs", "1.2 ms", "45 ms", "1.3 s"]);
});

test("sizes and numbers", () => {
  expect([0, 50 * 2 ** 20, 3 * 2 ** 30].map((n) => en.bytes(n))).toEqual(["–", "50 MiB", "3.0 GiB"]);
  expect([12, 1234, 12_400, 3_200_000].map((n) => en.short(n))).toEqual(["12", "1.2k", "12.4k", "3.2m"]);
});
