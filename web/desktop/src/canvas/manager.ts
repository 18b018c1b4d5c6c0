// The window manager of one canvas: it turns what a person does to windows into wishes that are drawn at once, and tells
// the hub of them. What the hub says is never changed here.

import { createStore, type StoreApi } from "zustand/vanilla";
import { type Bounds, isStandard, shownMonitor, type WindowState } from "../../../core/src/index.js";
import type { Commands } from "../shell/commands.js";
import type { Shell, ShellStore } from "../shell/shell.js";
import { drawn, type Edge, inside, moved, panelBounds, regained, resized, rounded, type Size, sameBounds, smallestOf, workArea, type Zone, zoneBounds, zoneOf } from "./geometry.js";
import { frontOf, isOnTop, isSeen, keyOf, panelsOf } from "./stack.js";
import { type Place, patience, placeOf, settled, tell, type Wish, wished } from "./wish.js";

/** What the canvas knows beside the desktop. */
export interface Board {
  readonly canvas: Size;
  readonly wishes: ReadonlyMap<string, Wish>;
  /** The window that was brought to the front and of which the hub has not said so yet. */
  readonly raised: string;
  /** Where the window in hand snaps to when it is let go. */
  readonly preview: Bounds | undefined;
}

/** The hub hears of a window in motion this often. */
const tellEvery = 100;

export class Manager {
  readonly board: StoreApi<Board>;
  private readonly shell: ShellStore;
  private readonly commands: Commands;
  private readonly now: () => number;
  /** Where the windows in hand are. They are drawn without React, so no store knows it. */
  private readonly hands = new Map<string, Place>();
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
    this.board = createStore<Board>(() => ({ canvas: { w: 0, h: 0 }, wishes: new Map(), raised: "", preview: undefined }));
  }

  /** Follows the hub; gives a function that ends it. */
  start(): () => void {
    const stop = this.shell.subscribe((s, before) => {
      if (s.desk.windows !== before.desk.windows) this.settle();
      if (isLive(s) && !isLive(before)) this.catchUp();
    });
    const leave = (): void => [...this.timers.keys()].forEach((key) => this.tellNow(key));
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
    return this.shell.getState().desk.windows.get(key);
  }

  /** The window in front on the monitor this tab shows. */
  front(): WindowState | undefined {
    const { raised } = this.board.getState();
    const { desk, view } = this.shell.getState();
    const monitor = shownMonitor(view, desk);
    const w = desk.windows.get(raised);
    return w !== undefined && isStandard(w) && isSeen(w, monitor) ? w : frontOf(desk.windows.values(), monitor);
  }

  /** What panels leave of the canvas. */
  area(): Bounds {
    const { desk, view } = this.shell.getState();
    return workArea(this.board.getState().canvas, panelsOf(desk.windows.values(), shownMonitor(view, desk)));
  }

  measure(canvas: Size): void {
    this.board.setState({ canvas });
  }

  /** Where a window is wanted. */
  place(w: WindowState): Place {
    const key = keyOf(w);
    return this.hands.get(key) ?? this.board.getState().wishes.get(key)?.place ?? placeOf(w);
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
    const panels = panelsOf(this.shell.getState().desk.windows.values(), w.monitorId);
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
    if (raised === "" && isOnTop(this.shell.getState().desk.windows.values(), w)) return;
    this.board.setState({ raised: key });
    this.tellRaised();
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
  lift(w: WindowState, edge: Edge | undefined, x: number, y: number): Bounds {
    const key = keyOf(w);
    const place = this.place(w);
    const now = this.drawn(w);
    let from = now;
    if (edge === undefined && place.maximized) from = regained(this.sizeBefore(w, place), now, x, y);
    else if (edge === undefined && this.zone(w) !== undefined && this.before.has(key)) from = regained(this.before.get(key)!, now, x, y);
    from = w.variant === "panel" ? from : drawn(from, this.area(), smallestOf(w));
    this.carry(key, from);
    this.setWish(key, wished(w, this.board.getState().wishes.get(key), { bounds: from, maximized: false }, true));
    return from;
  }

  /** Says where a window in hand is. */
  carry(key: string, bounds: Bounds): void {
    this.hands.set(key, { bounds: rounded(bounds), maximized: false });
    this.put.set(key, rounded(bounds));
    this.tellSoon(key);
  }

  showPreview(zone: Zone | undefined): void {
    const preview = zone === undefined ? undefined : zoneBounds(zone, this.area());
    this.board.setState({ preview });
  }

  /** Lets a window go, where it is or into a zone; without any place it goes back to where it was. */
  drop(key: string, zone: Zone | undefined, was: Place): void {
    const w = this.window(key);
    const at = this.hands.get(key);
    this.hands.delete(key);
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
  letGo(key: string): void {
    this.hands.delete(key);
    this.board.setState({ preview: undefined });
  }

  /** Puts a window in hand back. */
  putBack(key: string, was: Place): void {
    this.hands.delete(key);
    this.board.setState({ preview: undefined });
    this.want(key, was);
  }

  // --- wishes

  private want(key: string, place: Place): void {
    const w = this.window(key);
    if (w === undefined) return;
    this.setWish(key, wished(w, this.board.getState().wishes.get(key), place, false));
    this.tellSoon(key);
  }

  private setWish(key: string, wish: Wish | undefined): void {
    const wishes = new Map(this.board.getState().wishes);
    if (wish === undefined) wishes.delete(key);
    else wishes.set(key, wish);
    this.board.setState({ wishes });
  }

  private tellSoon(key: string): void {
    if (this.timers.has(key)) return;
    const wait = (this.told.get(key) ?? 0) + tellEvery - this.now();
    if (wait <= 0) this.tellNow(key);
    else this.timers.set(key, setTimeout(() => this.tellNow(key), wait));
  }

  /** Tells the hub of a wish. While there is no connection it is kept, and the newest is told when there is one. */
  private tellNow(key: string): void {
    clearTimeout(this.timers.get(key));
    this.timers.delete(key);
    const w = this.window(key);
    const wish = this.board.getState().wishes.get(key);
    if (w === undefined || wish === undefined || !this.live) return;
    const place = this.hands.get(key) ?? wish.place;
    const { telling, wish: next } = tell(w, { ...wish, place }, this.now());
    this.told.set(key, this.now());
    this.setWish(key, { ...next, place: wish.place });
    const { toggle, bounds } = telling;
    const put = (): void => {
      const resizes = bounds !== undefined && (bounds.w !== w.bounds.w || bounds.h !== w.bounds.h);
      if (bounds !== undefined) this.commands.placeWindow(w, bounds, resizes ? "window.resize" : "window.move");
    };
    if (place.maximized) put();
    if (toggle) this.commands.toggleMaximized(w);
    if (!place.maximized) put();
    this.settle();
  }

  private tellRaised(): void {
    const w = this.window(this.board.getState().raised);
    if (w === undefined || !this.live) return;
    this.raiseTold = this.now();
    this.commands.focusWindow(w);
    this.settle();
  }

  /** Tells the hub what was done while it could not hear. */
  private catchUp(): void {
    for (const [key, wish] of this.board.getState().wishes) if (wish.since === 0 && !wish.held) this.tellSoon(key);
    this.tellRaised();
  }

  /** Forgets what has come true or will not. */
  private settle(): void {
    const { wishes, raised } = this.board.getState();
    const { windows } = this.shell.getState().desk;
    const now = this.now();
    const next = new Map<string, Wish>();
    let changed = false;
    for (const [key, wish] of wishes) {
      const left = settled(windows.get(key), wish, now);
      changed ||= left !== wish;
      if (left !== undefined) next.set(key, left);
      else this.told.delete(key);
    }
    for (const key of this.hands.keys()) if (!windows.has(key)) this.letGo(key);
    for (const key of this.timers.keys()) if (!windows.has(key)) this.tellNow(key);
    for (const known of [this.before, this.put, this.told]) {
      for (const key of known.keys()) if (!windows.has(key)) known.delete(key);
    }
    if (changed) this.board.setState({ wishes: next });
    const w = windows.get(raised);
    const over = this.raiseTold > 0 && now - this.raiseTold >= patience;
    if (raised !== "" && (w === undefined || over || isOnTop(windows.values(), w))) {
      this.raiseTold = 0;
      this.board.setState({ raised: "" });
    }
    clearTimeout(this.patienceTimer);
    if (next.size > 0 || this.board.getState().raised !== "") this.patienceTimer = setTimeout(() => this.settle(), patience);
  }
}

function isLive(s: Shell): boolean {
  return s.link.phase === "live" && s.link.released;
}
