import { expect, test } from "vitest";
import type { Sent, UIRow } from "../../../core/src/index.js";
import { browse, notBrowsing, typedBefore } from "../../src/dock/history.js";

function rows(...list: Partial<UIRow>[]): Map<number, { row: UIRow; bytes: number }> {
  return new Map(list.map((r, i) => [i + 1, { row: { ts: i + 1, type: "say", say: "user_feedback", ...r } as UIRow, bytes: 0 }]));
}

function sent(id: string, content: string, since: number): Sent {
  return { id, type: "USER_MESSAGE", data: { content }, since, status: "sending", written: 0, again: false, waits: 0 };
}

test("typed messages, without answers, duplicates and presses", () => {
  const r = rows(
    { text: "one", messageId: "a" },
    { text: "answer", say: "text", agentId: "main-monitor-0-a", messageId: "a" },
    { text: "Save (Form)", messageId: "b" },
    { text: "ok", say: "text", agentId: "window-w1", messageId: "b" },
    { text: "two", messageId: "c" },
    { text: "<ui:click>shortcut: s, type: app, target: t</ui:click>", messageId: "f" },
    { text: "one", messageId: "d" },
  );
  expect(typedBefore(r, [sent("d", "one", 6), sent("e", "three", 99), sent("g", "<ui:click>app: x</ui:click>", 100)])).toEqual(["two", "one", "three"]);
});

test("the history is bounded", () => {
  expect(typedBefore(new Map(), Array.from({ length: 300 }, (_, i) => sent(`m${i}`, `t${i}`, i)))).toHaveLength(100);
});

test("up goes back, down returns to the draft", () => {
  const history = ["old", "new"];
  const one = browse(history, notBrowsing, "older", "draft")!;
  expect(one.text).toBe("new");
  const two = browse(history, one.at, "older", one.text)!;
  expect(two.text).toBe("old");
  expect(browse(history, two.at, "older", two.text)).toBeUndefined();
  const three = browse(history, two.at, "newer", two.text)!;
  expect(three.text).toBe("new");
  const four = browse(history, three.at, "newer", three.text)!;
  expect(four).toEqual({ at: notBrowsing, text: "draft" });
  expect(browse(history, four.at, "newer", "draft")).toBeUndefined();
  expect(browse([], notBrowsing, "older", "")).toBeUndefined();
});
