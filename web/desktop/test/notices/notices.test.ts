import { describe, expect, test, vi } from "vitest";
import type { Channel, HubEvent } from "../../../core/src/index.js";
import { announcementOf, pageTitle } from "../../src/notices/announcements.js";
import { FocusWatch } from "../../src/notices/focus-watch.js";
import { countUnread, displayTime, expiredToasts, newestFirst, showingKey, visibleNotices } from "../../src/notices/visible-notices.js";

const event = (type: string, data: object, time = 1_000_000): HubEvent => ({ type, data, time, at: "1-0", session: "s" }) as HubEvent;
const seen = { now: 1_000_000, hidden: false };
const unseen = { now: 1_000_000, hidden: true };

describe("announcements", () => {
  const end = (more: object): HubEvent => event("AGENT_RESPONSE", { isComplete: true, outcome: "completed", agentId: "main", monitorId: "monitor-1", ...more });

  test("turns that took long, or ended while the tab was hidden", () => {
    expect(announcementOf(end({ durationMs: 500 }), seen)).toBeUndefined();
    expect(announcementOf(end({ durationMs: 500 }), unseen)).toMatchObject({ kind: "finished", monitor: "monitor-1" });
    expect(announcementOf(end({ durationMs: 11_000 }), seen)).toMatchObject({ kind: "finished" });
    expect(announcementOf(event("AGENT_RESPONSE", { isComplete: false, agentId: "main" }), unseen)).toBeUndefined();
    expect(announcementOf(end({ messageId: "m2", joined: "m1" }), unseen)).toBeUndefined();
  });

  test("failures, but neither interrupted turns nor task agents", () => {
    expect(announcementOf(end({ outcome: "failed", reason: "no key" }), seen)).toMatchObject({ kind: "failed", text: "no key" });
    expect(announcementOf(end({ outcome: "interrupted" }), unseen)).toBeUndefined();
    expect(announcementOf(end({ agentId: "task-1" }), unseen)).toBeUndefined();
  });

  test("questions", () => {
    expect(announcementOf(event("APPROVAL_REQUEST", { dialogId: "d", title: "May I?", message: "rm\n  -rf" }), seen)).toMatchObject({ kind: "needsYou", text: "May I? rm -rf" });
    expect(announcementOf(event("ACTIONS", { actions: [{ type: "user.prompt.show", id: "p", title: "Which?", message: "" }] }), seen)).toMatchObject({ kind: "needsYou", text: "Which?" });
    expect(announcementOf(event("ACTIONS", { actions: [{ type: "toast.show", id: "t", message: "x" }] }), unseen)).toBeUndefined();
    expect(announcementOf(event("TURN_INTERRUPTED", { resumable: true, reason: "moved" }), unseen)).toMatchObject({ kind: "needsYou" });
    expect(announcementOf(event("TURN_INTERRUPTED", { resumable: false, reason: "moved" }), unseen)).toBeUndefined();
  });

  test("plans: their questions, once, and their ends; neither their task agents nor cancelled plans", () => {
    const asked = event("hitl_input_request", { request_id: "hitl_3", question: "Which week?" });
    expect(announcementOf(asked, seen)).toMatchObject({ key: "ask hitl_3", kind: "needsYou", text: "Which week?" });
    expect(announcementOf({ ...asked, at: "9-0" } as HubEvent, seen)?.key).toBe("ask hitl_3");
    expect(announcementOf(event("hitl_approval_request", { request_id: "hitl_4", todo: { task: "Send" }, reason: "dear" }), seen)).toMatchObject({ kind: "needsYou", text: "Send dear" });
    expect(announcementOf(event("hitl_plan_review", { request_id: "hitl_5", message: "Look" }), seen)).toMatchObject({ kind: "needsYou", text: "Look" });
    expect(announcementOf(event("complete", { response: { text: "long", summary: "All done" } }), seen)).toMatchObject({ kind: "planFinished", text: "All done" });
    expect(announcementOf(event("failed", { status: "failed", error: { code: "EXECUTION_FAILED", message: "no luck" } }), seen)).toMatchObject({ kind: "planFailed", text: "no luck" });
    expect(announcementOf(event("failed", { status: "cancelled", error: { code: "CANCELLED", message: "" } }), unseen)).toBeUndefined();
    expect(announcementOf(event("failed", { status: "cancelled", error: { code: "HITL_TIMEOUT", message: "late" } }), unseen)).toMatchObject({ kind: "planFailed" });
    expect(announcementOf(end({ agentId: "plan-1" }), unseen)).toBeUndefined();
    expect(announcementOf(end({ agentId: "plan-1/a.1", outcome: "failed" }), unseen)).toBeUndefined();
  });

  test("no old events", () => {
    expect(announcementOf(event("APPROVAL_REQUEST", { dialogId: "d", title: "May I?" }, 900_000), unseen)).toBeUndefined();
  });
});

test("the title of the page", () => {
  expect(pageTitle("", 0)).toBe("Everdesk");
  expect(pageTitle("Trip", 0)).toBe("Trip — Everdesk");
  expect(pageTitle("Trip", 2)).toBe("(2) Trip — Everdesk");
  expect(pageTitle("", 250)).toBe("(99+) Everdesk");
});

describe("visible notices", () => {
  const n = (id: string, since: number): { id: string; since: number; title: string; body: string } => ({ id, since, title: id, body: "" });

  test("are the newest that were not hidden", () => {
    const all = ["a", "b", "c", "d", "e", "f"].map((id, i) => n(id, i));
    expect(visibleNotices(all, new Set()).map((x) => x.id)).toEqual(["c", "d", "e", "f"]);
    expect(visibleNotices(all, new Set(["e 4"])).map((x) => x.id)).toEqual(["b", "c", "d", "f"]);
  });

  test("a notice that is shown again is another one", () => {
    expect(showingKey(n("a", 1))).not.toBe(showingKey(n("a", 2)));
  });

  test("durations are long enough to read", () => {
    expect(displayTime(undefined, "toast")).toBe(5000);
    expect(displayTime(undefined, "notification")).toBe(8000);
    expect(displayTime(1, "toast")).toBe(1500);
    expect(displayTime(1e9, "toast")).toBe(60_000);
  });

  test("toasts from long ago have expired", () => {
    expect(expiredToasts([{ id: "old", message: "", since: 0 }, { id: "new", message: "", since: 99_000 }], 100_000)).toEqual(["old 0"]);
  });

  test("the centre has the newest first and counts unread ones", () => {
    expect(newestFirst([n("a", 1), n("b", 2)]).map((x) => x.id)).toEqual(["b", "a"]);
    expect(countUnread([n("a", 1), n("b", 2)], 1)).toBe(1);
  });
});

describe("the focus watch", () => {
  function tabs(...looking: boolean[]): FocusWatch[] {
    type Heard = Channel & { onmessage: ((e: { data: unknown }) => void) | null };
    const channels = looking.map((): Heard => ({ onmessage: null, postMessage: () => undefined, close: () => undefined }));
    for (const c of channels) c.postMessage = (data) => channels.forEach((o) => o !== c && o.onmessage?.({ data }));
    return looking.map((l, i) => new FocusWatch(channels[i]!, () => l));
  }

  test.each([
    [[false, false], true],
    [[false, true], false],
    [[true, false], false],
  ])("tabs with focus %j: unfocused is %s", async (looking, nobody) => {
    vi.useFakeTimers();
    const asked = tabs(...looking)[0]!.isUnfocused();
    await vi.advanceTimersByTimeAsync(1_100);
    expect(await asked).toBe(nobody);
    vi.useRealTimers();
  });
});
