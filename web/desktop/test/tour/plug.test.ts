import { describe, expect, test } from "vitest";
import { advancePlug, answerEnded, answerTo, beginPlug, countWords, type PlugRun, type PlugView } from "../../src/tour/plug.js";

type Desktop = Parameters<typeof answerTo>[0];
type Outbox = Parameters<typeof answerEnded>[0];

const row = (ts: number, text: string, more: object = {}) => [ts, { row: { ts, type: "say", say: "text", text, messageId: "m1", agentId: "main-monitor-0", ...more }, bytes: 0 }] as const;
const desktopOf = (rows: readonly (readonly [number, object])[], agents: readonly object[] = []): Desktop =>
  ({ rows: new Map(rows), agents: new Map(agents.map((a, n) => [`a${n}`, a])) }) as unknown as Desktop;

describe("the words of the answer", () => {
  test("are counted after the line that announces them", () => {
    expect(countWords("I answer with 3 words, one by one:")).toBeUndefined();
    expect(countWords("I answer with 3 words:\n")).toEqual({ announced: 3, received: 0 });
    expect(countWords("I answer with 3 words:\n\none two\n\nthree")).toEqual({ announced: 3, received: 3 });
    expect(countWords("낱말 2개로 답할게요.\n\n하나 둘 둘")).toEqual({ announced: 2, received: 3 });
    expect(countWords("No number\nat all")).toBeUndefined();
  });

  test("come from the agent while it works, then from the rows of the message, in order", () => {
    const rows = [row(7, "two"), row(3, "2 words:\n\none"), row(1, "the question", { agentId: undefined, say: "user_feedback" }), row(9, "other", { messageId: "m2" })];
    expect(answerTo(desktopOf(rows), "m1")).toBe("2 words:\n\none\ntwo");
    expect(answerTo(desktopOf(rows, [{ messageId: "m1", text: "2 words:\n\none t" }]), "m1")).toBe("2 words:\n\none t");
  });

  test("are complete when the message has ended and no agent works on it", () => {
    const outbox = { items: [{ id: "m1", status: "completed" }] } as unknown as Outbox;
    expect(answerEnded(outbox, desktopOf([]), "m1")).toBe(true);
    expect(answerEnded(outbox, desktopOf([], [{ messageId: "m1", text: "" }]), "m1")).toBe(false);
    expect(answerEnded({ items: [] }, desktopOf([]), "m1")).toBe(false);
  });
});

describe("the step", () => {
  const base: PlugView = { live: true, conn: 1, words: { announced: 10, received: 1 }, ended: false, now: 1000 };
  const play = (views: readonly Partial<PlugView>[]): PlugRun => views.reduce((run: PlugRun, v) => advancePlug(run, { ...base, ...v }), beginPlug("m1"));

  test("kills in the middle, waits until the hub is back and the answer is complete, and measures the time between", () => {
    const half = { words: { announced: 10, received: 5 } };
    expect(play([{}]).phase).toBe("writing");
    expect(play([{}, half]).phase).toBe("killing");
    expect(play([half, half]).phase).toBe("killing");
    expect(play([half, { ...half, live: false, now: 2000 }]).phase).toBe("down");
    const back = [half, { ...half, live: false, now: 2000 }, { ...half, conn: 2, now: 3500 }];
    expect(play(back)).toMatchObject({ phase: "back", lostAt: 2000, backAt: 3500 });
    expect(play([...back, { conn: 2, ended: true }]).phase).toBe("done");
  });

  test("notices a connection that was replaced between two looks", () => {
    expect(play([{ words: { announced: 10, received: 5 } }, { conn: 2 }, { conn: 2 }]).phase).toBe("back");
  });

  test("fails when the answer ends while the hub lives", () => {
    expect(play([{ ended: true }]).phase).toBe("failed");
    expect(play([{ words: { announced: 10, received: 5 } }, { ended: true }]).phase).toBe("failed");
  });

  test("does not change while nothing happens", () => {
    const run = beginPlug("m1");
    expect(advancePlug(run, base)).toBe(run);
  });
});
