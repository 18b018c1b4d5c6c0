import { expect, test } from "vitest";
import type { Bounds, WindowState } from "../../../core/src/index.js";
import { patience, placeOf, settled, tell, wished } from "../../src/canvas/wish.js";

const at = (x: number, y = 0): Bounds => ({ x, y, w: 400, h: 300 });

function windowAt(bounds: Bounds, more: Partial<WindowState> = {}): WindowState {
  return { windowId: "w", monitorId: "monitor-0", title: "", bounds, content: { renderer: "text", data: "" }, ...more };
}

const put = (bounds: Bounds, maximized = false): { bounds: Bounds; maximized: boolean } => ({ bounds, maximized });

test("the hub hears of a place once, and the wish ends when it says so", () => {
  const w = windowAt(at(0));
  const { telling, wish } = tell(w, wished(w, undefined, put(at(50)), false), 1000);
  expect(telling).toEqual({ toggle: false, bounds: at(50) });
  expect(tell(w, wish, 1100).telling).toEqual({ toggle: false });
  expect(settled(w, wish, 1200)).toBe(wish);
  expect(settled(windowAt(at(50)), wish, 1200)).toBeUndefined();
});

test("echoes of places on the way do not end a wish", () => {
  const w = windowAt(at(0));
  let wish = wished(w, undefined, put(at(0)), true);
  for (const x of [10, 20, 30]) wish = tell(w, { ...wish, place: put(at(x)) }, 1000 + x).wish;
  wish = tell(w, wished(w, wish, put(at(40)), false), 1100).wish;
  for (const x of [10, 20, 30]) {
    const left = settled(windowAt(at(x)), wish, 1200);
    expect(left?.place.bounds).toEqual(at(40));
    wish = left!;
  }
  expect(settled(windowAt(at(40)), wish, 1200)).toBeUndefined();
});

test("somebody else's move ends a wish, but not while the window is in hand", () => {
  const w = windowAt(at(0));
  const held = tell(w, wished(w, undefined, put(at(10)), true), 1000).wish;
  const other = windowAt(at(777));
  expect(settled(other, held, 1050)?.place.bounds).toEqual(at(10));
  const released = tell(w, wished(w, held, put(at(20)), false), 1100).wish;
  expect(settled(other, released, 1150)).toBeUndefined();
});

test("a wish the hub never answers ends after a while, one it never heard of does not", () => {
  const w = windowAt(at(0));
  const unheard = wished(w, undefined, put(at(50)), false);
  expect(settled(w, unheard, 99_999)).toBe(unheard);
  expect(settled(windowAt(at(5)), unheard, 99_999)?.place.bounds).toEqual(at(50));
  const { wish } = tell(w, unheard, 1000);
  expect(settled(w, wish, 1000 + patience - 1)).toBe(wish);
  expect(settled(w, wish, 1000 + patience)).toBeUndefined();
  expect(settled(undefined, unheard, 0)).toBeUndefined();
});

test("maximising says where the window goes back to first, and is said once however often it is wished", () => {
  const w = windowAt(at(0));
  const dragged = tell(w, wished(w, undefined, put(at(300, 2)), true), 1000).wish;
  const { telling, wish } = tell(w, wished(w, dragged, put(at(0), true), false), 1100);
  expect(telling).toEqual({ toggle: true, bounds: at(0) });
  expect(tell(w, wish, 1200).telling).toEqual({ toggle: false });
  expect(settled(windowAt(at(300, 2)), wish, 1150)).toBeDefined();
  expect(settled(windowAt(at(0), { maximized: true, restoreBounds: at(0) }), wish, 1150)).toBeUndefined();
});

test("a maximised window that is dragged away is restored first", () => {
  const w = windowAt(at(0), { maximized: true, restoreBounds: at(5) });
  const { telling, wish } = tell(w, wished(w, undefined, put(at(200)), false), 1000);
  expect(telling).toEqual({ toggle: true, bounds: at(200) });
  const restored = settled(windowAt(at(5)), wish, 1010);
  expect(restored?.place).toEqual(put(at(200)));
  expect(settled(windowAt(at(200)), restored!, 1020)).toBeUndefined();
});

test("quick changes of mind tell the hub the difference to what it was told, not to what it has said", () => {
  const w = windowAt(at(0));
  const first = tell(w, wished(w, undefined, put(at(0), true), false), 1000);
  expect(first.telling.toggle).toBe(true);
  const second = tell(w, wished(w, first.wish, placeOf(w), false), 1010);
  expect(second.telling.toggle).toBe(true);
  const third = tell(w, wished(w, second.wish, placeOf(w), false), 1020);
  expect(third.telling.toggle).toBe(false);
});
