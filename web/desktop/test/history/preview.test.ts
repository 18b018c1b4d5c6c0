import { describe, expect, test } from "vitest";
import type { Say, UIRow } from "../../../core/src/index.js";
import type { ToolAction } from "../../src/drawer/tool-actions.js";
import { lineOf, listedRows, type Preview, previewOf } from "../../src/history/preview.js";

const main = "main-monitor-0";

function row(id: number, say: Say, messageId: string, index: number, more: Partial<UIRow> = {}): UIRow {
  const base = { ts: 1_000 + id, id, type: "say", say, text: `${say} ${id}`, messageId, monitorId: "monitor-0" } as const;
  return { ...base, thread: main, conversationHistoryIndex: index, ...more };
}

const tool = (id: number, messageId: string, index: number): UIRow =>
  row(id, "tool", messageId, index, { text: JSON.stringify({ tool: "http:get", status: "complete", input: { url: "http://x" } }) });

const none = new Set<string>();

function preview(rows: UIRow[], target: number, queued: ReadonlySet<string> = none): Preview {
  return previewOf(rows, rows.find((r) => r.id === target)!, queued);
}

const ids = (rows: readonly UIRow[]): (number | undefined)[] => rows.map((r) => r.id);

describe("a rewind removes", () => {
  const rows = [
    row(1, "user_feedback", "m1", 0),
    row(2, "text", "m1", 4),
    row(3, "api_req_finished", "m1", 4),
    row(4, "user_feedback", "m2", 4),
    tool(5, "m2", 8),
    row(6, "text", "m2", 12),
    row(7, "api_req_finished", "m2", 12),
  ];

  test("the row and everything after it", () => {
    const p = preview(rows, 4);
    expect(ids(p.removed)).toEqual([4, 5, 6, 7]);
    expect(p).toMatchObject({ messages: 1, answers: 1, tools: 1, queued: 0, condensed: 0, truncated: 0, remaining: [] });
  });

  test("everything with the first row", () => {
    expect(preview(rows, 1)).toMatchObject({ messages: 2, answers: 2, tools: 1 });
  });

  test("nothing before it, in whatever order rows come", () => {
    expect(ids(preview([...rows].reverse(), 4).removed)).toEqual([4, 5, 6, 7]);
  });

  test("no row without an id except older ones", () => {
    const { id: _, ...old } = row(9, "text", "m0", 0, { ts: 5 });
    expect(ids(preview([old, ...rows], 4).removed)).toEqual([4, 5, 6, 7]);
  });
});

describe("rows of an answer that was running when the message was sent", () => {
  // m2 was shown while m1 was being answered, and had its turn after that.
  const waited = [
    row(1, "user_feedback", "m1", 0),
    row(2, "user_feedback", "m2", 2),
    tool(3, "m1", 4),
    row(4, "text", "m1", 8),
    row(5, "api_req_finished", "m1", 8),
    row(6, "text", "m2", 12),
  ];

  test("remain", () => {
    const p = preview(waited, 2);
    expect(ids(p.removed)).toEqual([2, 6]);
    expect(ids(p.remaining)).toEqual([3, 4, 5]);
    expect(p).toMatchObject({ messages: 1, answers: 1, tools: 0 });
  });

  test("are removed with the message that it answers", () => {
    expect(ids(preview(waited, 1).removed)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test("are removed while the message is queued: it is in no history yet", () => {
    const p = preview(waited.slice(0, 5), 2, new Set(["m2"]));
    expect(ids(p.removed)).toEqual([2, 3, 4, 5]);
    expect(p.queued).toBe(1);
  });

  test("of another agent are removed", () => {
    const beside = row(7, "text", "m9", 2, { thread: "window-monitor-0-w" });
    expect(ids(preview([...waited, beside], 2).removed)).toEqual([2, 6, 7]);
  });

  test("remain when the message was steered into the running turn", () => {
    const steered = [row(1, "user_feedback", "m1", 0), row(2, "user_feedback", "m2", 2), row(3, "text", "m1", 4), tool(4, "m1", 8), row(5, "text", "m1", 12)];
    const p = preview(steered, 2);
    expect(ids(p.remaining)).toEqual([3]);
    expect(ids(p.removed)).toEqual([2, 4, 5]);
  });

  test("are all removed when the message was not accepted", () => {
    const refused = [...waited.slice(0, 1), { ...waited[1]!, progressStatus: { icon: "circle-slash" } }, ...waited.slice(2, 5)];
    expect(ids(preview(refused, 2).removed)).toEqual([2, 3, 4, 5]);
  });
});

test("condensing and truncation are undone with their rows", () => {
  const condense = row(2, "condense_context", "", 4, { contextCondense: { cost: 0.1, prevContextTokens: 90, newContextTokens: 9, summary: "s", condenseId: "c" } });
  const truncate = row(4, "sliding_window_truncation", "", 4, { contextTruncation: { truncationId: "t", messagesRemoved: 4, prevContextTokens: 9, newContextTokens: 5 } });
  const rows = [row(1, "user_feedback", "m1", 0), condense, row(3, "user_feedback", "m2", 4), truncate];
  expect(preview(rows, 1)).toMatchObject({ condensed: 1, truncated: 1 });
  expect(preview(rows, 3)).toMatchObject({ condensed: 0, truncated: 1 });
});

test("rows have a line for a list", () => {
  const tell = ({ kind, what }: ToolAction): string => `${kind} ${what}`;
  expect(lineOf(row(1, "user_feedback", "m", 0, { text: "  first\nsecond" }), tell)).toBe("first");
  expect(lineOf(tool(2, "m", 0), tell)).toBe("used http get http://x");
  const opened = { tool: "window:create", status: "complete", input: { windowId: "w", title: "Notes" } };
  expect(lineOf(row(2, "tool", "m", 0, { text: JSON.stringify(opened) }), tell)).toBe("opened Notes");
  expect(lineOf(row(3, "text", "m", 0, { text: "x".repeat(500) }), tell)).toHaveLength(160);
  const ends = row(4, "api_req_finished", "m", 0);
  expect(listedRows([row(1, "user_feedback", "m", 0), ends, tool(2, "m", 0)])).toHaveLength(2);
});
