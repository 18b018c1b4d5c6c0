import { expect, test } from "vitest";
import annotations from "../../../../tools/annotations.go?raw";
import { buttonLabel } from "../../src/drawer/message-content.js";
import { describeAction, describeActions, toolActionOf } from "../../src/drawer/tool-actions.js";
import { workingWith } from "../../src/drawer/tool-words.js";
import { toolCalls } from "../../src/texts/tool-calls.js";

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
  ["files:delete", { path: "a" }, "", "used", "files delete"],
  ["constructor", { title: "a" }, "", "used", "constructor"],
  ["mcp__github__create_issue", {}, "", "used", "create issue (github)"],
  ["mcp__github__create_issue", {}, "Create an issue", "used", "Create an issue"],
  ["deleteReports", {}, "", "used", "delete reports"],
  ["window:create", '{"content":"cut before anything tells', "", "opened", ""],
  ["window:create", { title: 5 }, "", "opened", ""],
  ["task:run", null, "", "task", ""],
])("%s %j with the title %j is %s %s", (tool, input, title, kind, what) => {
  expect(toolActionOf(tool, input, title)).toEqual({ kind, what, window: undefined });
});

const hubTools = [...annotations.matchAll(/^\t\t"([a-z]+:[a-z_]+)": +\{title: /gm)].map((m) => m[1]!);

test("every tool of the hub has words in both languages", () => {
  expect(hubTools.length, "the tools that were found").toBeGreaterThan(70);
  expect(hubTools.filter((tool) => toolActionOf(tool, {}).kind === "used")).toEqual([]);
  for (const tool of hubTools) {
    for (const t of [toolCalls.en, toolCalls.ko]) {
      const { kind } = toolActionOf(tool, {});
      for (const said of [t[kind](1, "A"), t[kind](1, ""), t[kind](3, ""), t[kind](1, "", true)]) {
        expect(said, tool).not.toMatch(/[%#:_]$|[%#_]|^\s|\s$|^$/);
      }
    }
  }
});

test("several calls are one line of words, in which an object counts once", () => {
  const actions = [
    toolActionOf("window:create", { windowId: "a", title: "A" }),
    toolActionOf("window:create", { windowId: "b", title: "B" }),
    toolActionOf("window:create_component", { windowId: "c", title: "C" }),
    toolActionOf("storage:read", { path: "x.md" }),
    toolActionOf("storage:read", { path: "y.md" }),
    toolActionOf("window:update", { windowId: "a" }),
    toolActionOf("window:update", { windowId: "a" }),
    toolActionOf("mcp__maps__find_way", {}),
    toolActionOf("mcp__maps__find_way", {}),
    toolActionOf("browser:click", {}),
    toolActionOf("browser:click", {}),
  ];
  const titles = (window: string): string => `Title ${window}`;
  expect(describeActions(toolCalls.en, actions, titles)).toBe(
    "Opened 3 windows, read 2 files, updated “Title a”, used “find way (maps)” 2 times, clicked 2 times on web pages",
  );
  expect(describeActions(toolCalls.ko, actions, titles)).toBe("창 3개 열기, 파일 2개 읽기, “Title a” 업데이트, “find way (maps)” 사용 2회, 웹 페이지 2번 클릭");
});

test("a failed action is said in the base form", () => {
  const action = toolActionOf("storage:delete", { path: "a.md" });
  expect(describeAction(toolCalls.en, action, "", true)).toBe("Delete a.md");
  expect(describeAction(toolCalls.en, action, "")).toBe("Deleted a.md");
});

test("a press is described by the label of the button", () => {
  const content = { renderer: "component", data: { components: [{ type: "button", label: "Save", action: "save" }] } } as const;
  expect(buttonLabel({ ...content, data: { components: [...content.data.components] } }, "save")).toBe("Save");
  expect(buttonLabel({ renderer: "text", data: "" }, "save")).toBeUndefined();
  expect(buttonLabel(undefined, "save")).toBeUndefined();
});

test.each([
  ["window:create", "Opening a window", "창 여는 중"],
  ["task:run", "Giving a task", "작업 맡기는 중"],
  ["storage:read", "Reading a file", "파일 읽는 중"],
  ["storage:write", "Saving a file", "파일 저장 중"],
  ["Bash", "Running a command", "명령 실행 중"],
  ["kernel:interrupt", "Stopping running code", "실행 중인 코드 중지 중"],
  ["mcp__github__create_issue", "Using “create issue (github)”", "“create issue (github)” 사용 중"],
])("the work with %s is %s and %s", (tool, english, korean) => {
  expect(workingWith(tool, "en")).toBe(english);
  expect(workingWith(tool, "ko")).toBe(korean);
});

test("no tool is called by its name in front of people", () => {
  const tools = [...annotations.matchAll(/"(\w+:\w+)":/g)].map((m) => m[1]!);
  for (const tool of tools) for (const language of ["en", "ko"] as const) expect(workingWith(tool, language), tool).not.toMatch(/\w[:_]\w/);
});
