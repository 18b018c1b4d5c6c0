// The window manager of one canvas. It turns the user's actions on windows into pending placements, draws them at once and sends
// them to the hub. It never changes the desktop state.

import { createStore, type StoreApi } from "zustand/vanilla";
import { type Bounds, isStandard, shownMonitor, type WindowState } from "../../../core/src/index.js";
import type { Commands } from "../shell/commands.js";
import type { Shell, ShellStore } from "../shell/shell.js";
import { drawn, type Edge, inside, moved, panelBounds, regained, resized, rounded, type Size, sameBounds, smallestOf, workArea, type Zone, zoneBounds, zoneOf } from "./geometry.js";
import { confirmTimeout, newPlacement, type PendingPlacement, type Place, placeOf, planUpdate, reconcile } from "./pending-placement.js";
import { frontOf, isOnTop, isSeen, keyOf, panelsOf } from "./stack.js";

/** What the canvas knows beside the desktop. */
export interface Board {
  readonly canvas: Size;
  readonly pendings: ReadonlyMap<string, PendingPlacement>;
  /** The window that was brought to the front and of which the hub has not said so yet. */
  readonly raised: string;
  /** Where the window in hand snaps to when it is let go. */
  readonly preview: Bounds | undefined;
}

/** The hub hears of a window in motion this often. */
const sendInterval = 100;

export class Manager {
  readonly board: StoreApi<Board>;
  private readonly shell: ShellStore;
  private readonly commands: Commands;
  private readonly now: () => number;
  /** Where the windows in hand are. They are drawn without React, so no store knows it. */
  private readonly dragged = new Map<string, Place>();
  private readonly told = new Map<string, number>();
  private readonly timers = new Map<string, ReturnType<typeof setTimeout>>();
  /** Where snapped windows were before. */
  private readonly before = new Map<string, Bounds>();
  /** Where the person has put windows. Only they may leave a part of one outside. */
  private readonly put = new Map<string, Bounds>();
  private raiseTold = 0;
  private patienceTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(shell: ShellStore, commands: Commands, now: () => number = Date.now) {
    this.shell = shell;
    this.commands = commands;
    this.now = now;
    this.board = createStore<Board>(() => ({ canvas: { w: 0, h: 0 }, pendings: new Map(), raised: "", preview: undefined }));
  }

  /** Follows the hub; gives a function that ends it. */
  start(): () => void {
    const stop = this.shell.subscribe((s, before) => {
      if (s.desktop.windows !== before.desktop.windows) this.reconcilePending();
      if (isLive(s) && !isLive(before)) this.sendMissed();
    });
    const leave = (): void => [...this.timers.keys()].forEach((key) => this.sendNow(key));
    addEventListener("pagehide", leave);
    return () => {
      stop();
      leave();
      removeEventListener("pagehide", leave);
      clearTimeout(this.patienceTimer);
    };
  }

  get live(): boolean {
    return isLive(this.shell.getState());
  }

  window(key: string): WindowState | undefined {
    return this.shell.getState().desktop.windows.get(key);
  }

  /** The window in front on the monitor this tab shows. */
  front(): WindowState | undefined {
    const { raised } = this.board.getState();
    const { desktop, view } = this.shell.getState();
    const monitor = shownMonitor(view, desktop);
    const w = desktop.windows.get(raised);
    return w !== undefined && isStandard(w) && isSeen(w, monitor) ? w : frontOf(desktop.windows.values(), monitor);
  }

  /** What panels leave of the canvas. */
  area(): Bounds {
    const { desktop, view } = this.shell.getState();
    return workArea(this.board.getState().canvas, panelsOf(desktop.windows.values(), shownMonitor(view, desktop)));
  }

  measure(canvas: Size): void {
    this.board.setState({ canvas });
  }

  /** Where a window is wanted. */
  place(w: WindowState): Place {
    const key = keyOf(w);
    return this.dragged.get(key) ?? this.board.getState().pendings.get(key)?.place ?? placeOf(w);
  }

  /** Where a window is drawn. */
  drawn(w: WindowState): Bounds {
    if (w.variant === "panel") return this.panel(w);
    const place = this.place(w);
    return place.maximized ? this.area() : this.fit(w, place.bounds, this.area());
  }

  /** Where a window that is to be at a place is drawn. */
  fit(w: WindowState, b: Bounds, area: Bounds): Bounds {
    const put = this.put.get(keyOf(w));
    return (put !== undefined && sameBounds(put, b) ? drawn : inside)(b, area, smallestOf(w));
  }

  private panel(w: WindowState): Bounds {
    const place = this.place(w);
    const panels = panelsOf(this.shell.getState().desktop.windows.values(), w.monitorId);
    return panelBounds({ ...w, bounds: place.bounds }, this.board.getState().canvas, panels);
  }

  /** The zone that a window fills, if any. */
  zone(w: WindowState): Zone | undefined {
    return this.place(w).maximized ? "full" : zoneOf(this.drawn(w), this.area());
  }

  // --- what a person does

  /** Brings a window to the front, once. */
  raise(w: WindowState): void {
    const key = keyOf(w);
    const { raised } = this.board.getState();
    if (w.variant === "panel" || raised === key) return;
    // Where another one is on its way to the front, this one will not stay there.
    if (raised === "" && isOnTop(this.shell.getState().desktop.windows.values(), w)) return;
    this.board.setState({ raised: key });
    this.sendRaised();
  }

  /** Fills a place of the canvas with a window. */
  snap(w: WindowState, zone: Zone): void {
    if (!isStandard(w)) return;
    const key = keyOf(w);
    const place = this.place(w);
    const now = place.maximized ? (w.restoreBounds ?? w.bounds) : place.bounds;
    if (zone === "full") return this.want(key, { bounds: now, maximized: true });
    const area = this.area();
    if (zoneOf(now, area) === undefined) this.before.set(key, now);
    this.want(key, { bounds: zoneBounds(zone, area), maximized: false });
  }

  /** Whether a window has a size to go back to. */
  canRestore(w: WindowState): boolean {
    return this.place(w).maximized || (this.zone(w) !== undefined && this.before.has(keyOf(w)));
  }

  restore(w: WindowState): void {
    const key = keyOf(w);
    const place = this.place(w);
    const bounds = place.maximized ? this.sizeBefore(w, place) : this.before.get(key);
    if (bounds !== undefined) this.want(key, { bounds, maximized: false });
    if (!place.maximized) this.before.delete(key);
  }

  toggleMaximized(w: WindowState): void {
    if (!isStandard(w)) return;
    if (this.place(w).maximized) this.restore(w);
    else this.snap(w, "full");
  }

  private sizeBefore(w: WindowState, place: Place): Bounds {
    if (w.maximized === true) return w.restoreBounds ?? w.bounds;
    return place.bounds;
  }

  /** Moves a window a step, or its lower right corner. */
  nudge(w: WindowState, dx: number, dy: number, how: "move" | "resize"): void {
    if (this.place(w).maximized) return;
    const from = this.drawn(w);
    const area = this.area();
    if (w.variant === "panel") {
      if (how === "resize") this.want(keyOf(w), { bounds: { ...w.bounds, h: from.h + (w.dockEdge === "top" ? dy : -dy) }, maximized: false });
      return;
    }
    const bounds = how === "move" ? moved(from, dx, dy, area) : resized(from, "se", dx, dy, area, smallestOf(w));
    if (sameBounds(bounds, from)) return;
    this.put.set(keyOf(w), rounded(bounds));
    this.want(keyOf(w), { bounds: rounded(bounds), maximized: false });
  }

  // --- a window in hand

  /** Takes a window from where it is; gives where it is then: one that is maximised or snapped gets its size back. */
  beginDrag(w: WindowState, edge: Edge | undefined, x: number, y: number): Bounds {
    const key = keyOf(w);
    const place = this.place(w);
    const now = this.drawn(w);
    let from = now;
    if (edge === undefined && place.maximized) from = regained(this.sizeBefore(w, place), now, x, y);
    else if (edge === undefined && this.zone(w) !== undefined && this.before.has(key)) from = regained(this.before.get(key)!, now, x, y);
    from = w.variant === "panel" ? from : drawn(from, this.area(), smallestOf(w));
    this.dragTo(key, from);
    this.setPending(key, newPlacement(w, this.board.getState().pendings.get(key), { bounds: from, maximized: false }, true));
    return from;
  }

  /** Says where a window in hand is. */
  dragTo(key: string, bounds: Bounds): void {
    this.dragged.set(key, { bounds: rounded(bounds), maximized: false });
    this.put.set(key, rounded(bounds));
    this.sendSoon(key);
  }

  showPreview(zone: Zone | undefined): void {
    const preview = zone === undefined ? undefined : zoneBounds(zone, this.area());
    this.board.setState({ preview });
  }

  /** Lets a window go, where it is or into a zone; without any place it goes back to where it was. */
  endDrag(key: string, zone: Zone | undefined, was: Place): void {
    const w = this.window(key);
    const at = this.dragged.get(key);
    this.dragged.delete(key);
    this.board.setState({ preview: undefined });
    if (w === undefined || at === undefined) return;
    const area = this.area();
    if (zone === "full") return this.want(key, { bounds: was.bounds, maximized: true });
    if (zone === undefined) {
      this.before.delete(key);
      return this.want(key, at);
    }
    if (!was.maximized && zoneOf(was.bounds, area) === undefined) this.before.set(key, was.bounds);
    else if (!this.before.has(key)) this.before.set(key, at.bounds);
    this.want(key, { bounds: zoneBounds(zone, area), maximized: false });
  }

  /** Forgets a window in hand, which is gone. */
  forgetDrag(key: string): void {
    this.dragged.delete(key);
    this.board.setState({ preview: undefined });
  }

  /** Puts a window in hand back. */
  cancelDrag(key: string, was: Place): void {
    this.dragged.delete(key);
    this.board.setState({ preview: undefined });
    this.want(key, was);
  }

  // --- pending placements

  private want(key: string, place: Place): void {
    const w = this.window(key);
    if (w === undefined) return;
    this.setPending(key, newPlacement(w, this.board.getState().pendings.get(key), place, false));
    this.sendSoon(key);
  }

  private setPending(key: string, pending: PendingPlacement | undefined): void {
    const pendings = new Map(this.board.getState().pendings);
    if (pending === undefined) pendings.delete(key);
    else pendings.set(key, pending);
    this.board.setState({ pendings });
  }

  private sendSoon(key: string): void {
    if (this.timers.has(key)) return;
    const wait = (this.told.get(key) ?? 0) + sendInterval - this.now();
    if (wait <= 0) this.sendNow(key);
    else this.timers.set(key, setTimeout(() => this.sendNow(key), wait));
  }

  /** Sends a pending placement to the hub. While disconnected it is kept, and the newest one is sent after reconnecting. */
  private sendNow(key: string): void {
    clearTimeout(this.timers.get(key));
    this.timers.delete(key);
    const w = this.window(key);
    const pending = this.board.getState().pendings.get(key);
    if (w === undefined || pending === undefined || !this.live) return;
    const place = this.dragged.get(key) ?? pending.place;
    const { update, pending: next } = planUpdate(w, { ...pending, place }, this.now());
    this.told.set(key, this.now());
    this.setPending(key, { ...next, place: pending.place });
    const { toggle, bounds } = update;
    const put = (): void => {
      const resizes = bounds !== undefined && (bounds.w !== w.bounds.w || bounds.h !== w.bounds.h);
      if (bounds !== undefined) this.commands.placeWindow(w, bounds, resizes ? "window.resize" : "window.move");
    };
    if (place.maximized) put();
    if (toggle) this.commands.toggleMaximized(w);
    if (!place.maximized) put();
    this.reconcilePending();
  }

  private sendRaised(): void {
    const w = this.window(this.board.getState().raised);
    if (w === undefined || !this.live) return;
    this.raiseTold = this.now();
    this.commands.focusWindow(w);
    this.reconcilePending();
  }

  /** Tells the hub what was done while it could not hear. */
  private sendMissed(): void {
    for (const [key, pending] of this.board.getState().pendings) if (pending.since === 0 && !pending.held) this.sendSoon(key);
    this.sendRaised();
  }

  /** Forgets what has come true or will not. */
  private reconcilePending(): void {
    const { pendings, raised } = this.board.getState();
    const { windows } = this.shell.getState().desktop;
    const now = this.now();
    const next = new Map<string, PendingPlacement>();
    let changed = false;
    for (const [key, pending] of pendings) {
      const left = reconcile(windows.get(key), pending, now);
      changed ||= left !== pending;
      if (left !== undefined) next.set(key, left);
      else this.told.delete(key);
    }
    for (const key of this.dragged.keys()) if (!windows.has(key)) this.forgetDrag(key);
    for (const key of this.timers.keys()) if (!windows.has(key)) this.sendNow(key);
    for (const known of [this.before, this.put, this.told]) {
      for (const key of known.keys()) if (!windows.has(key)) known.delete(key);
    }
    if (changed) this.board.setState({ pendings: next });
    const w = windows.get(raised);
    const over = this.raiseTold > 0 && now - this.raiseTold >= confirmTimeout;
    if (raised !== "" && (w === undefined || over || isOnTop(windows.values(), w))) {
      this.raiseTold = 0;
      this.board.setState({ raised: "" });
    }
    clearTimeout(this.patienceTimer);
    if (next.size > 0 || this.board.getState().raised !== "") this.patienceTimer = setTimeout(() => this.reconcilePending(), confirmTimeout);
  }
}

function isLive(s: Shell): boolean {
  return s.link.phase === "live" && s.link.released;
}
