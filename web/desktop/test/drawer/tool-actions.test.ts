import { expect, test } from "vitest";
import { buttonLabel } from "../../src/drawer/message-content.js";
import { toolActionOf } from "../../src/drawer/tool-actions.js";

test.each([
  ["window:create", { windowId: "w", title: "Visitors" }, { kind: "opened", what: "Visitors", window: "w" }],
  ["window:update", { windowId: "brief", content: "## Milestones" }, { kind: "updated", what: "", window: "brief" }],
  ["window:list", undefined, { kind: "listed", what: "", window: undefined }],
  ["task:run", { objective: "# Market research\nLook at…" }, { kind: "task", what: "Market research", window: undefined }],
  ["storage:write", { path: "a.md", content: "x" }, { kind: "saved", what: "a.md", window: undefined }],
  ["window:create", '{"content":{"content":"\\"title\\": \\"no\\""},"title":"A \\"B\\"","windowId":"w', { kind: "opened", what: 'A "B"', window: undefined }],
  ["window:update", '{"windowId":"w","content":"cut', { kind: "updated", what: "", window: "w" }],
])("%s %j", (tool, input, told) => {
  expect(toolActionOf(tool, input)).toEqual(told);
});

test.each([
  ["files:delete", { path: "a" }],
  ["constructor", { title: "a" }],
  ["window:create", '{"content":"cut before anything tells'],
  ["window:create", { title: 5 }],
  ["task:run", null],
])("%s %j has no description", (tool, input) => {
  expect(toolActionOf(tool, input)).toBeUndefined();
});

test("a press is described by the label of the button", () => {
  const content = { renderer: "component", data: { components: [{ type: "button", label: "Save", action: "save" }] } } as const;
  expect(buttonLabel({ ...content, data: { components: [...content.data.components] } }, "save")).toBe("Save");
  expect(buttonLabel({ renderer: "text", data: "" }, "save")).toBeUndefined();
  expect(buttonLabel(undefined, "save")).toBeUndefined();
});
