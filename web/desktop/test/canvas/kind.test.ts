import { expect, test } from "vitest";
import type { Content } from "../../../core/src/index.js";
import { hueOf, hues, kindOf } from "../../src/canvas/kind.js";

const kind = (renderer: string, data: unknown = "") => kindOf({ content: { renderer, data } as Content });

test("kinds of windows differ in their icon or their colour", () => {
  const kinds = ["markdown", "text", "table", "html", "iframe", "component", "notebook", "chart", "mcp-app"].map((r) => kind(r, r === "iframe" ? "https://example.org" : ""));
  expect(new Set(kinds.map((k) => k.icon)).size).toBe(kinds.length);
});

test("an app has its own colour, always the same", () => {
  const calculator = kind("iframe", "/api/apps/calculator/index.html");
  expect(kind("iframe", { url: "/api/apps/calculator/index.html" })).toEqual(calculator);
  const used = new Set(Array.from({ length: 40 }, (_, i) => hueOf(`app-${i}`)));
  expect(used.size).toBe(hues);
  for (const hue of used) expect(hue).toBeGreaterThanOrEqual(1);
});

test("a renderer of a later version has a kind", () => {
  expect(kind("hologram").hue).toBeLessThanOrEqual(hues);
});

test("the apps of the market have different colours", () => {
  const apps = Object.keys(import.meta.glob("../../../../apps/market/*/app.json")).map((path) => path.split("/").at(-2)!);
  expect(apps.length).toBeGreaterThan(10);
  expect(new Set(apps.map(hueOf)).size, apps.map((a) => `${a} ${hueOf(a)}`).join(", ")).toBe(apps.length);
});
