import { describe, expect, it, vi } from "vitest";
import { emptyDesktop } from "../src/state.js";
import { Drafts, Leader, lease } from "../src/tabs.js";
import { changeView, newView, saveView, shownMonitor } from "../src/view.js";
import { FakeBus, FakeClock, FakeLocks, FakeStorage } from "./fakes.js";

describe("drafts", () => {
  it("are in all tabs, and in tabs that are opened later", () => {
    const bus = new FakeBus();
    const storage = new FakeStorage();
    const heard: string[] = [];
    const a = new Drafts({ tab: "a", channel: bus.channel(), now: () => 5, storage });
    const b = new Drafts({ tab: "b", channel: bus.channel(), now: () => 5, storage, onDraft: (k, t) => heard.push(`${k}=${t}`) });
    a.set("s/monitor-0", "안녕");
    expect(b.get("s/monitor-0")).toBe("안녕");
    expect(heard).toEqual(["s/monitor-0=안녕"]);
    expect(new Drafts({ tab: "c", channel: bus.channel(), now: () => 5, storage }).get("s/monitor-0")).toBe("안녕");
    a.set("s/monitor-0", "");
    expect(b.get("s/monitor-0")).toBe("");
    expect(JSON.parse(storage.getItem("everdesk.drafts")!)).toEqual([]);
    a.close();
    b.set("s/monitor-0", "later");
    expect(a.get("s/monitor-0")).toBe("");
  });

  it("converge when two tabs type at once", () => {
    const bus = new FakeBus();
    const one = bus.channel();
    const two = bus.channel();
    const a = new Drafts({ tab: "a", channel: one, now: () => 5 });
    const b = new Drafts({ tab: "b", channel: two, now: () => 5 });
    for (const c of [one, two]) c.sleep();
    a.set("k", "from a");
    b.set("k", "from b");
    for (const c of [one, two]) c.wake();
    expect([a.get("k"), b.get("k")]).toEqual(["from b", "from b"]);
  });

  it("have bounds and ignore invalid values", () => {
    const bus = new FakeBus();
    const storage = new FakeStorage();
    storage.items.set("everdesk.drafts", "[1,[2,3],[\"k\",{}]]");
    const a = new Drafts({ tab: "a", channel: bus.channel(), now: () => 5, storage });
    const other = bus.channel();
    for (const bad of [null, 7, {}, { key: "k" }, { key: "k", draft: { text: 1, at: 1, tab: "x" } }]) other.postMessage(bad);
    expect(a.get("k")).toBe("");
    for (let i = 0; i < 60; i++) a.set(`k${i}`, "x".repeat(70_000));
    expect([a.get("k0"), a.get("k59").length]).toEqual(["", 64 << 10]);
    storage.full = true;
    a.set("k59", "still there");
    expect(a.get("k59")).toBe("still there");
  });
});

/** Tabs of one browser without Web Locks. */
function browser(...tabs: string[]) {
  const bus = new FakeBus();
  const clock = new FakeClock();
  const open = (tab: string) => new Leader({ tab, channel: bus.channel(), clock });
  return { bus, clock, open, leaders: tabs.map(open) };
}

const leading = (list: Leader[]) => list.filter((l) => l.leading).length;

describe("the leader", () => {
  it("is exactly one of the tabs, also without Web Locks", () => {
    const { clock, leaders, open } = browser("a", "b", "c");
    clock.advance(lease.end + 300);
    expect(leading(leaders)).toBe(1);
    leaders.push(open("d"));
    clock.advance(60_000);
    expect(leading(leaders)).toBe(1);
  });

  it("is replaced at once when it leaves, and soon when it crashes", () => {
    const { clock, leaders } = browser("a", "b", "c");
    clock.advance(5_000);
    const first = leaders.find((l) => l.leading)!;
    first.close();
    clock.advance(300);
    expect(leading(leaders)).toBe(1);
    expect(first.leading).toBe(false);
    expect(clock.pending).toBe(2);
  });

  it("steps down when there are two", () => {
    const bus = new FakeBus();
    const one = new FakeClock();
    const two = new FakeClock();
    const channel = bus.channel();
    const a = new Leader({ tab: "a", channel, clock: one });
    one.advance(5_000);
    channel.sleep();
    const b = new Leader({ tab: "b", channel: bus.channel(), clock: two });
    // The tab of a is frozen; b receives nothing and takes over.
    two.advance(5_000);
    expect([a.leading, b.leading]).toEqual([true, true]);
    one.freeze(60_000);
    one.advance(0);
    channel.wake();
    expect([a.leading, b.leading]).toEqual([false, true]);
  });

  it("is the smaller of two active ones", () => {
    const { clock, leaders, bus } = browser("b");
    clock.advance(5_000);
    const channel = bus.channel();
    channel.sleep();
    const a = new Leader({ tab: "a", channel, clock });
    clock.advance(5_000);
    expect([a.leading, leaders[0]!.leading]).toEqual([true, false]);
    channel.wake();
    clock.advance(2_000);
    expect([a.leading, leaders[0]!.leading]).toEqual([true, false]);
  });

  it("is the tab that holds the lock", async () => {
    const bus = new FakeBus();
    const clock = new FakeClock();
    const locks = new FakeLocks();
    const leaders = ["a", "b", "c"].map((tab) => new Leader({ tab, channel: bus.channel(), clock, locks }));
    await vi.waitFor(() => expect(leaders.map((l) => l.leading)).toEqual([true, false, false]));
    leaders[1]!.close();
    leaders[0]!.close();
    await vi.waitFor(() => expect(leaders.map((l) => l.leading)).toEqual([false, false, true]));
    expect(clock.pending).toBe(0);
  });

  it("claims a key once, also across successors", () => {
    const { clock, leaders } = browser("a", "b");
    clock.advance(5_000);
    const first = leaders.find((l) => l.leading)!;
    const second = leaders.find((l) => !l.leading)!;
    expect([second.claim("1-7"), first.claim("1-7"), first.claim("1-7")]).toEqual([false, true, false]);
    first.close();
    clock.advance(1_000);
    expect([second.leading, second.claim("1-7"), second.claim("1-8")]).toEqual([true, false, true]);
  });

  it("ignores invalid messages", () => {
    const { bus, clock, leaders } = browser("a");
    const other = bus.channel();
    for (const bad of [null, 7, {}, { word: "lead" }, { word: "shown", tab: "x", key: 7 }]) other.postMessage(bad);
    clock.advance(5_000);
    expect(leaders[0]!.leading).toBe(true);
  });
});

describe("the view of a tab", () => {
  it("is taken from the address, else from the stored view", () => {
    const storage = new FakeStorage();
    let view = newView(new URLSearchParams(), null);
    expect(view).toEqual({ monitor: "monitor-0", pinned: false, drawer: true });
    view = changeView(changeView(view, { type: "monitor", monitor: "monitor-1" }), { type: "drawer", open: false });
    saveView(view, storage, "view");
    expect(newView(new URLSearchParams(), storage.getItem("view"))).toEqual(view);
    const pinned = newView(new URLSearchParams("monitor=monitor-2"), storage.getItem("view"));
    expect(pinned).toEqual({ monitor: "monitor-2", pinned: true, drawer: false });
    expect(changeView(pinned, { type: "monitor", monitor: "monitor-0" })).toBe(pinned);
    storage.full = true;
    saveView(pinned, storage, "view");
    expect(newView(new URLSearchParams("monitor=a/b"), "{").monitor).toBe("monitor-0");
    expect(newView(new URLSearchParams(), null, false).drawer).toBe(false);
    expect(newView(new URLSearchParams(), `{"drawer":true}`, false).drawer).toBe(true);
  });

  it("returns to the first monitor when its own is removed", () => {
    const view = changeView(newView(new URLSearchParams(), null), { type: "monitor", monitor: "monitor-3" });
    expect(shownMonitor(view, emptyDesktop())).toBe("monitor-0");
    expect(shownMonitor({ ...view, pinned: true }, emptyDesktop())).toBe("monitor-3");
  });
});
