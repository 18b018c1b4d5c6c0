import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { WindowState } from "../../../core/src/index.js";
import { CellDraft } from "../../src/content/notebook/draft.js";
import { newNotebook } from "../../src/content/notebook/open.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function start(): { draft: CellDraft; sent: string[]; shown: () => string } {
  const sent: string[] = [];
  let text = "";
  const draft = new CellDraft((t) => sent.push(t), (t) => (text = t));
  draft.sourceChanged("");
  return { draft, sent, shown: () => text };
}

it("a text is sent when the user rests, and shown while it is on its way", () => {
  const { draft, sent, shown } = start();
  draft.type("a");
  draft.type("ab");
  expect(sent).toEqual([]);
  vi.advanceTimersByTime(1_000);
  expect(sent).toEqual(["ab"]);
  draft.type("abc");
  draft.flush();
  draft.sourceChanged("ab"); // its own first text comes back: the newer one stays
  expect(shown()).toBe("abc");
  draft.sourceChanged("abc");
  vi.advanceTimersByTime(60_000);
  expect(sent).toEqual(["ab", "abc"]);
  draft.sourceChanged("of another person");
  expect(shown()).toBe("of another person");
});

it("the text of another person who edits the cell in the same moment is not replaced by an older one", () => {
  const { draft, sent, shown } = start();
  draft.type("mine");
  draft.flush();
  // The log has mine and then theirs. The page draws both at once.
  draft.sourceChanged("theirs");
  vi.advanceTimersByTime(60_000);
  expect(sent).toEqual(["mine"]);
  expect(shown()).toBe("theirs");
});

it("a text that comes back after that of another person is shown", () => {
  const { draft, sent, shown } = start();
  draft.type("mine");
  draft.flush();
  draft.sourceChanged("theirs");
  draft.sourceChanged("mine");
  vi.advanceTimersByTime(60_000);
  expect([sent, shown()]).toEqual([["mine"], "mine"]);
});

it("a text that the hub did not get is sent again, and what is typed meanwhile is not lost", () => {
  const { draft, sent, shown } = start();
  draft.type("mine");
  draft.flush();
  vi.advanceTimersByTime(11_000);
  expect(sent).toEqual(["mine", "mine", "mine"]);
  draft.type("mine and more");
  draft.sourceChanged("theirs");
  expect(shown()).toBe("mine and more");
  draft.close();
  expect(sent.at(-1)).toBe("mine and more");
});

it("a new notebook has an id and a title of its own", () => {
  const first = newNotebook("monitor-0", [], (n) => `N ${String(n)}`);
  const second = newNotebook("monitor-0", [{ windowId: "notebook-1", monitorId: "monitor-0" } as WindowState], (n) => `N ${String(n)}`);
  expect([first, second]).toMatchObject([
    { type: "window.create", windowId: "notebook-1", title: "N 1" },
    { type: "window.create", windowId: "notebook-2", title: "N 2" },
  ]);
});
