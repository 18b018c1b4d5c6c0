import { expect, test } from "vitest";
import type { Bounds, WindowState } from "../../../core/src/index.js";
import { confirmTimeout, newPlacement, placeOf, planUpdate, reconcile } from "../../src/canvas/pending-placement.js";

const at = (x: number, y = 0): Bounds => ({ x, y, w: 400, h: 300 });

function windowAt(bounds: Bounds, more: Partial<WindowState> = {}): WindowState {
  return { windowId: "w", monitorId: "monitor-0", title: "", bounds, content: { renderer: "text", data: "" }, ...more };
}

const placeAt = (bounds: Bounds, maximized = false): { bounds: Bounds; maximized: boolean } => ({ bounds, maximized });

test("a place is sent once, and the pending placement ends with its confirmation", () => {
  const w = windowAt(at(0));
  const { update, pending } = planUpdate(w, newPlacement(w, undefined, placeAt(at(50)), false), 1000);
  expect(update).toEqual({ toggle: false, bounds: at(50) });
  expect(planUpdate(w, pending, 1100).update).toEqual({ toggle: false });
  expect(reconcile(w, pending, 1200)).toBe(pending);
  expect(reconcile(windowAt(at(50)), pending, 1200)).toBeUndefined();
});

test("echoes of intermediate places do not end a pending placement", () => {
  const w = windowAt(at(0));
  let pending = newPlacement(w, undefined, placeAt(at(0)), true);
  for (const x of [10, 20, 30]) pending = planUpdate(w, { ...pending, place: placeAt(at(x)) }, 1000 + x).pending;
  pending = planUpdate(w, newPlacement(w, pending, placeAt(at(40)), false), 1100).pending;
  for (const x of [10, 20, 30]) {
    const left = reconcile(windowAt(at(x)), pending, 1200);
    expect(left?.place.bounds).toEqual(at(40));
    pending = left!;
  }
  expect(reconcile(windowAt(at(40)), pending, 1200)).toBeUndefined();
});

test("another client's move ends a pending placement, but not during a drag", () => {
  const w = windowAt(at(0));
  const held = planUpdate(w, newPlacement(w, undefined, placeAt(at(10)), true), 1000).pending;
  const other = windowAt(at(777));
  expect(reconcile(other, held, 1050)?.place.bounds).toEqual(at(10));
  const released = planUpdate(w, newPlacement(w, held, placeAt(at(20)), false), 1100).pending;
  expect(reconcile(other, released, 1150)).toBeUndefined();
});

test("a late echo of an earlier place does not end a placement at the same place that is not sent yet", () => {
  const w = windowAt(at(0));
  let pending = planUpdate(w, newPlacement(w, undefined, placeAt(at(40)), false), 1000).pending;
  pending = planUpdate(w, newPlacement(w, pending, placeAt(at(90)), false), 1100).pending;
  const undone = newPlacement(w, pending, placeAt(at(40)), false);
  const left = reconcile(windowAt(at(40)), undone, 1150);
  expect(left?.place.bounds).toEqual(at(40));
  expect(planUpdate(windowAt(at(40)), left!, 1200).update).toEqual({ toggle: false, bounds: at(40) });
});

test("an unconfirmed pending placement expires after a while, an unsent one does not", () => {
  const w = windowAt(at(0));
  const unheard = newPlacement(w, undefined, placeAt(at(50)), false);
  expect(reconcile(w, unheard, 99_999)).toBe(unheard);
  expect(reconcile(windowAt(at(5)), unheard, 99_999)?.place.bounds).toEqual(at(50));
  const { pending } = planUpdate(w, unheard, 1000);
  expect(reconcile(w, pending, 1000 + confirmTimeout - 1)).toBe(pending);
  expect(reconcile(w, pending, 1000 + confirmTimeout)).toBeUndefined();
  expect(reconcile(undefined, unheard, 0)).toBeUndefined();
});

test("maximising first sends the bounds to restore, and is sent once however often it is requested", () => {
  const w = windowAt(at(0));
  const dragged = planUpdate(w, newPlacement(w, undefined, placeAt(at(300, 2)), true), 1000).pending;
  const { update, pending } = planUpdate(w, newPlacement(w, dragged, placeAt(at(0), true), false), 1100);
  expect(update).toEqual({ toggle: true, bounds: at(0) });
  expect(planUpdate(w, pending, 1200).update).toEqual({ toggle: false });
  expect(reconcile(windowAt(at(300, 2)), pending, 1150)).toBeDefined();
  expect(reconcile(windowAt(at(0), { maximized: true, restoreBounds: at(0) }), pending, 1150)).toBeUndefined();
});

test("a maximised window that is dragged away is restored first", () => {
  const w = windowAt(at(0), { maximized: true, restoreBounds: at(5) });
  const { update, pending } = planUpdate(w, newPlacement(w, undefined, placeAt(at(200)), false), 1000);
  expect(update).toEqual({ toggle: true, bounds: at(200) });
  const restored = reconcile(windowAt(at(5)), pending, 1010);
  expect(restored?.place).toEqual(placeAt(at(200)));
  expect(reconcile(windowAt(at(200)), restored!, 1020)).toBeUndefined();
});

test("quick changes are sent relative to what was sent, not to what the hub has confirmed", () => {
  const w = windowAt(at(0));
  const first = planUpdate(w, newPlacement(w, undefined, placeAt(at(0), true), false), 1000);
  expect(first.update.toggle).toBe(true);
  const second = planUpdate(w, newPlacement(w, first.pending, placeOf(w), false), 1010);
  expect(second.update.toggle).toBe(true);
  const third = planUpdate(w, newPlacement(w, second.pending, placeOf(w), false), 1020);
  expect(third.update.toggle).toBe(false);
});
