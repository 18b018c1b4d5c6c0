import { describe, expect, test } from "vitest";
import type { UIRow } from "../../../core/src/index.js";
import { type Entry, entriesOf } from "../../src/drawer/entries.js";
import { type PlanEnd, readableText, splitOutcome, withPlanEnds } from "../../src/drawer/plan-ends.js";

const row = (ts: number, say: UIRow["say"] & string, agentId: string, text: string): UIRow => ({ ts, type: "say", say, text, agentId, messageId: "m1", monitorId: "monitor-0" });
const call = (ts: number, agentId: string, tool: string, input: object, status = "complete"): UIRow => row(ts, "tool", agentId, JSON.stringify({ tool, status, input }));
const entries = (rows: UIRow[]): Entry[] => entriesOf({ rows: new Map(rows.map((r) => [r.ts, { row: r, bytes: 0 }])), queues: new Map() }, [], "monitor-0");
const kinds = (all: readonly (Entry | PlanEnd)[]): string[] => all.map((e) => e.kind);

const work = [
  call(1, "plan-1/a.1", "window:create", { windowId: "w", title: "Prices" }),
  call(2, "plan-1/a.1", "storage:write", { path: "report.md" }),
  row(3, "subtask_result", "plan-1/a.1", '{"summary":"done"}'),
  call(4, "plan-1/b.1", "storage:write", { path: "bad.md" }, "error"),
  row(5, "subtask_result", "plan-1/b.1", "also done"),
  call(6, "plan-2/a.1", "storage:write", { path: "other.md" }),
];

describe("withPlanEnds", () => {
  test("the answer of a plan has the results of its tasks, and what they made", () => {
    const all = withPlanEnds(entries([...work, row(7, "text", "plan-1", "All is done.")]));
    expect(kinds(all)).toEqual(["tool", "tool", "tool", "tool", "plan"]);
    const end = all.at(-1) as PlanEnd;
    expect(end.results.map((r) => r.ts)).toEqual([3, 5]);
    expect(end.windows).toEqual([{ id: "w", title: "Prices" }]);
    expect(end.files, "neither the file of a failed call nor that of another plan").toEqual(["report.md"]);
  });

  test("while a plan runs, its results are rows", () => {
    expect(kinds(withPlanEnds(entries(work)))).toEqual(["tool", "tool", "subtask", "tool", "subtask", "tool"]);
  });

  test("a plan that failed and went on has one end", () => {
    const all = withPlanEnds(entries([...work, row(7, "error", "plan-1", "no luck"), row(8, "subtask_result", "plan-1/c.1", "x"), row(9, "text", "plan-1", "Done.")]));
    expect(kinds(all).slice(-2)).toEqual(["error", "plan"]);
    expect((all.at(-1) as PlanEnd).results.map((r) => r.ts)).toEqual([3, 5, 8]);
  });

  test("answers of other agents stay rows", () => {
    expect(kinds(withPlanEnds(entries([row(1, "text", "main-monitor-0-m1", "Hi.")])))).toEqual(["assistant"]);
  });
});

test("the short ends of the tasks of a plan have no line", () => {
  const end = JSON.stringify({ outcome: "completed", durationMs: 2 });
  expect(kinds(entries([row(1, "api_req_finished", "plan-1/a.1", end), row(2, "api_req_finished", "plan-1/response.1", end)]))).toEqual([]);
});

test.each([
  ["plain", "plain"],
  ['{"summary":"It is done"}', "It is done"],
  ['```json\n{"total_cost": 3, "files": ["a", "b"]}\n```', "- **total cost**: 3\n- **files**: • a\n  • b"],
  ['{"at":{"x":1,"y":null}, "ok":true}', "- **at**: x: 1, y: –\n- **ok**: true"],
  ["[1,2]", "• 1\n• 2"],
  ["{broken", "{broken"],
])("%j is shown as %j", (text, shown) => {
  expect(readableText(text)).toBe(shown);
});

test.each([
  ["Two files are ready. More below.\n\n- a", "", "Two files are ready.", "More below.\n\n- a"],
  ["One line", "", "One line", ""],
  ["# Report\n\nText.", "", "", "# Report\n\nText."],
  ["Long text", "In short", "In short", "Long text"],
])("the outcome of %j with the summary %j is %j", (text, summary, sentence, rest) => {
  expect(splitOutcome(text, summary)).toEqual({ sentence, rest });
});
