import { expect, test } from "vitest";
import type { Content } from "../../../core/src/index.js";
import { previewOf, stripMarkdown } from "../../src/phone/preview.js";

const preview = (renderer: string, data: unknown): string => previewOf({ content: { renderer, data } as Content });

test.each([
  ["# Title\n\nSome **bold** text", "Title Some bold text"],
  ["- [x] milk\n- [ ] bread\n1. one", "milk bread one"],
  ["See [the page](https://example.org) and ![a cat](x.png)", "See the page and a cat"],
  ["```js\ncode()\n```\nafter", "after"],
  ["> quoted `code`", "quoted code"],
])("markdown %j is previewed as %j", (markdown, line) => {
  expect(preview("markdown", markdown)).toBe(line);
});

test("a long text is truncated", () => {
  expect(preview("text", "x".repeat(500))).toBe(`${"x".repeat(119)}…`);
});

test("a table shows its columns, a layout its first texts", () => {
  expect(preview("table", { headers: ["Name", "Size"], rows: [["a", "1"]] })).toBe("Name · Size");
  const layout = { components: [{ type: "text", content: "Who?" }, { type: "input", label: "Name" }, { type: "button", label: "Send" }, { type: "text", content: "no room" }] };
  expect(preview("component", layout)).toBe("Who? · Name · Send");
});

test("content without text has no preview", () => {
  expect(preview("html", "<b>x</b>")).toBe("");
  expect(preview("iframe", "https://example.org")).toBe("");
  expect(preview("table", null)).toBe("");
});

test("an unclosed fence hides the rest", () => {
  expect(stripMarkdown("before\n```\nrest").trim()).toBe("before");
});
