import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createStore } from "zustand/vanilla";
import { type Bounds, emptyDesktop, type WindowState } from "../../../core/src/index.js";
import { WindowManager } from "../../src/canvas/manager.js";
import type { Commands } from "../../src/shell/commands.js";
import type { Shell, ShellStore } from "../../src/shell/shell.js";

const at = (x: number, y = 100): Bounds => ({ x, y, w: 400, h: 300 });

function win(windowId: string, bounds: Bounds, more: Partial<WindowState> = {}): WindowState {
  return { windowId, monitorId: "monitor-0", title: windowId, bounds, content: { renderer: "text", data: "" }, ...more };
}

/** A desktop whose hub only records commands. */
class Desktop {
  readonly told: string[] = [];
  readonly store: ShellStore;
  readonly manager: WindowManager;
  readonly stop: () => void;

  constructor(...windows: WindowState[]) {
    const view = { monitor: "monitor-0", pinned: false, drawer: false };
    this.store = createStore(() => ({ desktop: emptyDesktop(), view, link: { phase: "live", released: true } }) as unknown as Shell);
    const note = (name: string) => (w: WindowState, b?: Bounds) => void this.told.push([name, w.windowId, ...(b === undefined ? [] : [b.x, b.y, b.w, b.h])].join(" "));
    const commands = { placeWindow: note("place"), focusWindow: note("focus"), toggleMaximized: note("toggle") };
    this.manager = new WindowManager(this.store, commands as unknown as Commands);
    this.manager.measure({ w: 1000, h: 700 });
    this.stop = this.manager.start();
    for (const w of windows) this.deliver(w);
  }

  /** Delivers a window from the hub. */
  deliver(w: WindowState): void {
    this.store.setState((s) => ({ desktop: { ...s.desktop, windows: new Map(s.desktop.windows).set(`monitor-0/${w.windowId}`, w) } }));
  }

  connect(live: boolean): void {
    this.store.setState((s) => ({ link: { ...s.link, phase: live ? "live" : "waiting" } }));
  }

  pendings(): number {
    return this.manager.store.getState().pendings.size;
  }
}

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 });
  vi.stubGlobal("addEventListener", () => undefined);
  vi.stubGlobal("removeEventListener", () => undefined);
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("a drag of a second sends about ten updates, and always the last place", () => {
  const w = win("a", at(100));
  const d = new Desktop(w);
  d.manager.beginDrag(w, undefined, 150, 110);
  for (let i = 1; i <= 60; i++) {
    vi.advanceTimersByTime(16);
    d.manager.dragTo("monitor-0/a", at(100 + i));
  }
  d.manager.endDrag("monitor-0/a", undefined, { bounds: at(100), maximized: false });
  vi.advanceTimersByTime(200);
  expect(d.told.length).toBeGreaterThan(7);
  expect(d.told.length).toBeLessThan(13);
  expect(d.told.at(-1)).toBe("place a 160 100 400 300");
  d.stop();
});

test("echoes of own updates do not move a window back, and it stays where it was dropped", () => {
  const w = win("a", at(100));
  const d = new Desktop(w);
  d.manager.beginDrag(w, undefined, 150, 110);
  d.manager.dragTo("monitor-0/a", at(200));
  vi.advanceTimersByTime(100);
  d.manager.dragTo("monitor-0/a", at(300));
  d.deliver(win("a", at(200)));
  expect(d.manager.drawnBounds(win("a", at(200)))).toEqual(at(300));
  d.manager.endDrag("monitor-0/a", undefined, { bounds: at(100), maximized: false });
  vi.advanceTimersByTime(100);
  expect(d.manager.drawnBounds(win("a", at(200)))).toEqual(at(300));
  d.deliver(win("a", at(300)));
  expect(d.pendings()).toBe(0);
  d.stop();
});

test("without a confirmation a window returns to its place at the hub", () => {
  const w = win("a", at(100));
  const d = new Desktop(w);
  d.manager.nudge(w, 16, 0, "move");
  expect(d.manager.drawnBounds(w)).toEqual(at(116));
  vi.advanceTimersByTime(2500);
  expect(d.pendings()).toBe(0);
  expect(d.manager.drawnBounds(w)).toEqual(at(100));
  d.stop();
});

test("a change while disconnected is shown, and sent once after reconnecting", () => {
  const w = win("a", at(100), { z: 1 });
  const front = win("b", at(300), { z: 2 });
  const d = new Desktop(w, front);
  d.connect(false);
  d.manager.raise(w);
  for (let i = 0; i < 5; i++) {
    d.manager.nudge(w, 16, 0, "move");
    vi.advanceTimersByTime(1000);
  }
  d.manager.toggleMaximized(front);
  expect(d.told).toEqual([]);
  expect(d.manager.front()?.windowId).toBe("a");
  expect(d.manager.drawnBounds(w)).toEqual(at(180));
  d.connect(true);
  vi.advanceTimersByTime(200);
  expect(d.told.sort()).toEqual(["focus a", "place a 180 100 400 300", "toggle b"]);
  d.stop();
});

test("a window is raised once", () => {
  const w = win("a", at(100), { z: 1 });
  const d = new Desktop(w, win("b", at(300), { z: 2 }));
  for (let i = 0; i < 5; i++) d.manager.raise(w);
  expect(d.told).toEqual(["focus a"]);
  const raised = win("a", at(100), { z: 3 });
  d.deliver(raised);
  d.manager.raise(raised);
  expect(d.told).toEqual(["focus a"]);
  expect(d.manager.store.getState().raised).toBe("");
  d.stop();
});

test("of two windows that are raised quickly, the last one stays in front", () => {
  const w = win("a", at(100), { z: 1 });
  const other = win("b", at(300), { z: 2 });
  const d = new Desktop(w, other);
  d.manager.raise(w);
  d.manager.raise(other);
  expect(d.told).toEqual(["focus a", "focus b"]);
  expect(d.manager.front()?.windowId).toBe("b");
  d.stop();
});

test("a snapped window gets its size back", () => {
  const w = win("a", at(100));
  const d = new Desktop(w);
  d.manager.snap(w, "left");
  expect(d.manager.zone(w)).toBe("left");
  d.manager.snap(w, "full");
  expect(d.manager.zone(w)).toBe("full");
  d.manager.restore(w);
  expect(d.manager.zone(w)).toBe("left");
  expect(d.manager.canRestore(w)).toBe(true);
  d.manager.restore(w);
  expect(d.manager.drawnBounds(w)).toEqual(at(100));
  expect(d.manager.canRestore(w)).toBe(false);
  d.stop();
});

test("a window dragged to the top is maximised and restores to where the drag began", () => {
  const w = win("a", at(100));
  const d = new Desktop(w);
  d.manager.beginDrag(w, undefined, 150, 110);
  d.manager.dragTo("monitor-0/a", at(250, 0));
  d.manager.endDrag("monitor-0/a", "full", { bounds: at(100), maximized: false });
  vi.advanceTimersByTime(200);
  expect(d.told).toEqual(["place a 250 0 400 300", "place a 100 100 400 300", "toggle a"]);
  d.stop();
});

test("only the user can leave a part of a window outside", () => {
  const low = win("a", at(100, 600));
  const d = new Desktop(low);
  expect(d.manager.drawnBounds(low)).toEqual(at(100, 400));
  d.manager.beginDrag(low, undefined, 150, 410);
  d.manager.dragTo("monitor-0/a", at(100, 550));
  d.manager.endDrag("monitor-0/a", undefined, { bounds: at(100, 600), maximized: false });
  const put = win("a", at(100, 550));
  d.deliver(put);
  expect(d.manager.drawnBounds(put)).toEqual(at(100, 550));
  const moved = win("a", at(120, 600));
  d.deliver(moved);
  expect(d.manager.drawnBounds(moved)).toEqual(at(120, 400));
  d.stop();
});

test("a window that is closed during a drag leaves no state behind", () => {
  const w = win("a", at(100));
  const d = new Desktop(w);
  d.manager.beginDrag(w, undefined, 150, 110);
  d.manager.dragTo("monitor-0/a", at(-200, 300));
  d.manager.showPreview("left");
  d.store.setState((s) => ({ desktop: { ...s.desktop, windows: new Map() } }));
  expect(d.manager.store.getState().preview).toBeUndefined();
  const again = win("a", at(400));
  d.deliver(again);
  expect(d.manager.place(again).bounds).toEqual(at(400));
  d.told.length = 0;
  d.manager.nudge(again, 16, 0, "move");
  vi.advanceTimersByTime(200);
  expect(d.told).toEqual(["place a 416 100 400 300"]);
  d.stop();
});

test("a raised window of another monitor is not in front here", () => {
  const [here, there] = [win("a", at(100)), { ...win("b", at(100)), monitorId: "monitor-1" }];
  const d = new Desktop(here);
  d.connect(false);
  d.store.setState((s) => ({ desktop: { ...s.desktop, windows: new Map(s.desktop.windows).set("monitor-1/b", there) } }));
  d.manager.store.setState({ raised: "monitor-1/b" });
  expect(d.manager.front()?.windowId).toBe("a");
  d.stop();
});
