import { expect, test } from "vitest";
import type { Component, Content } from "../../../core/src/index.js";
import { exportKinds, textOf } from "../../src/canvas/export.js";

function layout(...components: Component[]): { content: Content } {
  return { content: { renderer: "component", data: { components } } };
}

test("a window of components is copied as Markdown, without its buttons", () => {
  const w = layout(
    { type: "text", content: "# Today" },
    { type: "button", label: "Save", action: "save" },
    { type: "progress", label: "Done", value: 40 },
    { type: "checklist", label: "Shopping", items: [{ text: "Milk", done: true }, { text: "Bread" }] },
    { type: "kanban", columns: [{ title: "Next", cards: [{ text: "Paint", note: "blue" }] }, { title: "Done", cards: [] }] },
  );
  expect(textOf(w)).toBe("# Today\n\nDone: 40 %\n\n**Shopping**\n\n- [x] Milk\n- [ ] Bread\n\n**Next**\n\n- Paint: blue\n\n**Done**\n");
  expect(exportKinds(w)).toEqual(["md"]);
});

test("a notebook is copied as the sources of its cells", () => {
  const cells = [{ id: "a", kind: "markdown", source: "# Sums" }, { id: "b", kind: "code", source: "print(1)" }];
  expect(textOf({ content: { renderer: "notebook", data: { cells } } as Content })).toBe("# Sums\n\nprint(1)");
});

test("a page of another site is copied as its address and not exported", () => {
  const w = { content: { renderer: "iframe", data: "https://example.org/" } as Content };
  expect([textOf(w), exportKinds(w)]).toEqual(["https://example.org/", []]);
});
