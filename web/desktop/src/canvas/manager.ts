// The window manager of one canvas. It turns the user's actions on windows into pending placements, draws them at once and sends
// them to the hub. It never changes the desktop state.

import { createStore, type StoreApi } from "zustand/vanilla";
import { type Bounds, isStandard, shownMonitor, type WindowState } from "../../../core/src/index.js";
import type { Commands } from "../shell/commands.js";
import type { Shell, ShellStore } from "../shell/shell.js";
import { type Edge, fitReachable, minSizeOf, moved, panelBounds, resized, restoredUnderPointer, rounded, type Size, sameBounds, workArea, type Zone, zoneBounds, zoneOf } from "./geometry.js";
import { WindowHistory } from "./history.js";
import { AgentLayouts, fitScaled, type Scale } from "./layout.js";
import { confirmTimeout, newPlacement, type PendingPlacement, type Place, placeOf, planUpdate, reconcile } from "./pending-placement.js";
import { frontOf, isOnTop, isVisible, keyOf, panelsOf } from "./stack.js";

/** The state of the canvas that is not part of the desktop state. */
export interface CanvasState {
  readonly canvas: Size;
  readonly pendings: ReadonlyMap<string, PendingPlacement>;
  /** The window that the user brought to the front, until the hub confirms it. */
  readonly raised: string;
  /** The bounds that the dragged window will snap to. */
  readonly preview: Bounds | undefined;
  /** Where the overview draws the windows, by their keys; undefined while it is closed. */
  readonly overview: ReadonlyMap<string, Bounds> | undefined;
  /** The windows that stay above the others in this tab. */
  readonly onTop: ReadonlySet<string>;
}

/** The border that a dragged window shares with others of its group. */
export interface SharedBorder {
  readonly others: readonly WindowState[];
  /** The bounds of all windows along the border if the dragged one had these. */
  move(to: Bounds): ReadonlyMap<string, Bounds>;
}

/** The rules of windows that are side by side; they load after the first paint. */
export interface GroupRules {
  /** The windows of a window's group, that window first; empty if it has none. */
  of(w: WindowState): readonly WindowState[];
  border(w: WindowState, edge: Edge): SharedBorder | undefined;
  /** Moves the border that a window shares; false if it shares none. */
  nudge(w: WindowState, dx: number, dy: number): boolean;
}

/** The interval between updates sent to the hub during a drag, in ms. */
const sendInterval = 100;

export class WindowManager {
  readonly store: StoreApi<CanvasState>;
  readonly history = new WindowHistory();
  readonly layouts = new AgentLayouts();
  groups: GroupRules | undefined;
  private readonly shell: ShellStore;
  private readonly commands: Commands;
  private readonly now: () => number;
  /** The places of the dragged windows. They are drawn without React, so they are not in the store. */
  private readonly dragged = new Map<string, Place>();
  private readonly lastSent = new Map<string, number>();
  private readonly timers = new Map<string, ReturnType<typeof setTimeout>>();
  /** The bounds that snapped windows had before. */
  private readonly boundsBeforeSnap = new Map<string, Bounds>();
  /** The bounds that the user gave to windows. Only such a window may be drawn partly outside. */
  private readonly userBounds = new Map<string, Bounds>();
  private raiseSentAt = 0;
  private confirmTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(shell: ShellStore, commands: Commands, now: () => number = Date.now) {
    this.shell = shell;
    this.commands = commands;
    this.now = now;
    this.store = createStore<CanvasState>(() => ({ canvas: { w: 0, h: 0 }, pendings: new Map(), raised: "", preview: undefined, overview: undefined, onTop: new Set() }));
  }

  /** Starts following the hub; returns a function that stops it. */
  start(): () => void {
    const stop = this.shell.subscribe((s, before) => {
      if (s.desktop.windows !== before.desktop.windows) {
        this.history.follow(s.desktop.windows, before.desktop.windows, s.desktop.monitors);
        this.reconcilePending();
      }
      if (isLive(s) && !isLive(before)) this.sendMissed();
    });
    const leave = (): void => [...this.timers.keys()].forEach((key) => this.sendNow(key));
    addEventListener("pagehide", leave);
    return () => {
      stop();
      leave();
      removeEventListener("pagehide", leave);
      clearTimeout(this.confirmTimer);
    };
  }

  get live(): boolean {
    return isLive(this.shell.getState());
  }

  window(key: string): WindowState | undefined {
    return this.shell.getState().desktop.windows.get(key);
  }

  windows(): WindowState[] {
    return [...this.shell.getState().desktop.windows.values()];
  }

  front(): WindowState | undefined {
    const { raised } = this.store.getState();
    const { desktop, view } = this.shell.getState();
    const monitor = shownMonitor(view, desktop);
    const w = desktop.windows.get(raised);
    return w !== undefined && isStandard(w) && isVisible(w, monitor) ? w : frontOf(desktop.windows.values(), monitor);
  }

  /** The part of the canvas that panels leave to the other windows. */
  area(): Bounds {
    const { desktop, view } = this.shell.getState();
    return workArea(this.store.getState().canvas, panelsOf(desktop.windows.values(), shownMonitor(view, desktop)));
  }

  measure(canvas: Size): void {
    this.store.setState({ canvas });
  }

  /** The place of a window: of its drag, else of its pending placement, else from the hub. */
  place(w: WindowState): Place {
    const key = keyOf(w);
    return this.dragged.get(key) ?? this.store.getState().pendings.get(key)?.place ?? placeOf(w);
  }

  /** The bounds at which a window is drawn. */
  drawnBounds(w: WindowState): Bounds {
    if (w.variant === "panel") return this.drawnPanel(w);
    const place = this.place(w);
    return place.maximized ? this.area() : this.fitBounds(w, place.bounds, this.area());
  }

  /** The bounds to draw for a window whose place is `b`. */
  fitBounds(w: WindowState, b: Bounds, area: Bounds, scale = this.scale(area)): Bounds {
    const put = this.userBounds.get(keyOf(w));
    const byUser = put === undefined ? w.placed === true : sameBounds(put, b);
    return byUser ? fitReachable(b, area, minSizeOf(w)) : fitScaled(b, area, minSizeOf(w), scale);
  }

  /** The scale of the windows that agents placed. */
  private scale(area: Bounds): Scale {
    const { desktop, view } = this.shell.getState();
    return this.layouts.scale(desktop.windows.values(), shownMonitor(view, desktop), area);
  }

  /** The place at which a window is drawn; of a maximised one, the place to which it returns. */
  currentPlace(w: WindowState): Place {
    const place = this.place(w);
    if (w.variant === "panel") return place;
    return place.maximized ? { ...place, bounds: this.sizeBefore(w, place) } : { ...place, bounds: rounded(this.drawnBounds(w)) };
  }

  private drawnPanel(w: WindowState): Bounds {
    const place = this.place(w);
    const panels = panelsOf(this.shell.getState().desktop.windows.values(), w.monitorId);
    return panelBounds({ ...w, bounds: place.bounds }, this.store.getState().canvas, panels);
  }

  zone(w: WindowState): Zone | undefined {
    return this.place(w).maximized ? "full" : zoneOf(this.drawnBounds(w), this.area());
  }

  // --- actions of the user

  /** Brings a window to the front and sends this once. */
  raise(w: WindowState): void {
    const key = keyOf(w);
    const { raised } = this.store.getState();
    if (w.variant === "panel" || raised === key) return;
    // The window on top is raised, too, if another raised window is about to cover it.
    if (raised === "" && isOnTop(this.shell.getState().desktop.windows.values(), w)) return;
    this.store.setState({ raised: key });
    this.sendRaised();
  }

  /** Snaps a window to a zone. */
  snap(w: WindowState, zone: Zone): void {
    if (!isStandard(w)) return;
    const key = keyOf(w);
    const { bounds: now } = this.currentPlace(w);
    if (zone === "full") return this.userPlace(w, { bounds: now, maximized: true });
    const area = this.area();
    if (zoneOf(now, area) === undefined) this.boundsBeforeSnap.set(key, now);
    this.userPlace(w, { bounds: zoneBounds(zone, area), maximized: false });
  }

  /** Places windows, as one step that can be undone. */
  placeAll(places: ReadonlyMap<string, Place>, undoable = true): void {
    const was = new Map<string, Place>();
    for (const key of places.keys()) {
      const w = this.window(key);
      if (w !== undefined) was.set(key, this.currentPlace(w));
    }
    for (const [key, place] of places) this.requestPlace(key, place);
    if (undoable && was.size > 0) this.history.addPlaced(was, this.now());
  }

  private userPlace(w: WindowState, place: Place): void {
    this.placeAll(new Map([[keyOf(w), place]]));
  }

  /** Closes windows, as one step that can be undone. */
  close(windows: readonly WindowState[]): void {
    this.history.addClosed(windows);
    this.commands.closeWindows(windows);
  }

  keepOnTop(w: WindowState, on: boolean): void {
    const onTop = new Set(this.store.getState().onTop);
    if (on) onTop.add(keyOf(w));
    else onTop.delete(keyOf(w));
    this.store.setState({ onTop });
  }

  showOverview(overview: ReadonlyMap<string, Bounds> | undefined): void {
    this.store.setState({ overview });
  }

  /** Whether a window has former bounds to restore. */
  canRestore(w: WindowState): boolean {
    return this.place(w).maximized || (this.zone(w) !== undefined && this.boundsBeforeSnap.has(keyOf(w)));
  }

  restore(w: WindowState): void {
    const key = keyOf(w);
    const place = this.place(w);
    const bounds = place.maximized ? this.sizeBefore(w, place) : this.boundsBeforeSnap.get(key);
    if (bounds !== undefined) this.userPlace(w, { bounds, maximized: false });
    if (!place.maximized) this.boundsBeforeSnap.delete(key);
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

  /** Moves a window, or its lower right corner, by a step. */
  nudge(w: WindowState, dx: number, dy: number, how: "move" | "resize"): void {
    if (this.place(w).maximized) return;
    const from = this.drawnBounds(w);
    const area = this.area();
    if (w.variant === "panel") {
      if (how === "resize") this.userPlace(w, { bounds: { ...w.bounds, h: from.h + (w.dockEdge === "top" ? dy : -dy) }, maximized: false });
      return;
    }
    if (how === "resize" && this.groups?.nudge(w, dx, dy)) return;
    const bounds = how === "move" ? moved(from, dx, dy, area) : resized(from, "se", dx, dy, area, minSizeOf(w));
    if (sameBounds(bounds, from)) return;
    this.userPlace(w, { bounds: rounded(bounds), maximized: false });
  }

  // --- drags

  /** Starts a drag and returns the bounds of the window. A maximised or snapped window gets its former size back. */
  beginDrag(w: WindowState, edge: Edge | undefined, x: number, y: number): Bounds {
    const key = keyOf(w);
    const place = this.place(w);
    const now = this.drawnBounds(w);
    let from = now;
    if (edge === undefined && place.maximized) from = restoredUnderPointer(this.sizeBefore(w, place), now, x, y);
    else if (edge === undefined && this.zone(w) !== undefined && this.boundsBeforeSnap.has(key)) from = restoredUnderPointer(this.boundsBeforeSnap.get(key)!, now, x, y);
    from = w.variant === "panel" ? from : fitReachable(from, this.area(), minSizeOf(w));
    this.dragTo(key, from);
    this.setPending(key, newPlacement(w, this.store.getState().pendings.get(key), { bounds: from, maximized: false }, true));
    return from;
  }

  /** Records and sends the place of a dragged window. */
  dragTo(key: string, bounds: Bounds): void {
    this.dragged.set(key, { bounds: rounded(bounds), maximized: false });
    this.userBounds.set(key, rounded(bounds));
    this.sendSoon(key);
  }

  showPreview(zone: Zone | undefined): void {
    const preview = zone === undefined ? undefined : zoneBounds(zone, this.area());
    this.store.setState({ preview });
  }

  /** Ends a drag, at the current place or in a zone. The windows that shared the moved border had the places of others. */
  endDrag(key: string, zone: Zone | undefined, was: Place, others?: ReadonlyMap<string, Place>): void {
    const w = this.window(key);
    const at = this.dragged.get(key);
    this.dragged.delete(key);
    this.store.setState({ preview: undefined });
    others?.forEach((_, other) => {
      const to = this.dragged.get(other);
      this.dragged.delete(other);
      if (to !== undefined) this.requestPlace(other, to);
    });
    if (w === undefined || at === undefined) return;
    const area = this.area();
    this.history.addPlaced(new Map([[key, was], ...(others ?? [])]), this.now(), true);
    if (zone === "full") return this.requestPlace(key, { bounds: was.bounds, maximized: true });
    if (zone === undefined) {
      if (others === undefined) this.boundsBeforeSnap.delete(key);
      return this.requestPlace(key, at);
    }
    if (!was.maximized && zoneOf(was.bounds, area) === undefined) this.boundsBeforeSnap.set(key, was.bounds);
    else if (!this.boundsBeforeSnap.has(key)) this.boundsBeforeSnap.set(key, at.bounds);
    this.requestPlace(key, { bounds: zoneBounds(zone, area), maximized: false });
  }

  /** Ends the drag of a window that was closed. */
  discardDrag(key: string): void {
    this.dragged.delete(key);
    this.store.setState({ preview: undefined });
  }

  /** Ends a drag and returns the window to its former place. */
  cancelDrag(key: string, was: Place): void {
    this.dragged.delete(key);
    this.store.setState({ preview: undefined });
    this.requestPlace(key, was);
  }

  // --- pending placements

  private requestPlace(key: string, place: Place): void {
    const w = this.window(key);
    if (w === undefined) return;
    if (!place.maximized) this.userBounds.set(key, place.bounds);
    this.setPending(key, newPlacement(w, this.store.getState().pendings.get(key), place, false));
    this.sendSoon(key);
  }

  private setPending(key: string, pending: PendingPlacement | undefined): void {
    const pendings = new Map(this.store.getState().pendings);
    if (pending === undefined) pendings.delete(key);
    else pendings.set(key, pending);
    this.store.setState({ pendings });
  }

  private sendSoon(key: string): void {
    if (this.timers.has(key)) return;
    const wait = (this.lastSent.get(key) ?? 0) + sendInterval - this.now();
    if (wait <= 0) this.sendNow(key);
    else this.timers.set(key, setTimeout(() => this.sendNow(key), wait));
  }

  /** Sends a pending placement to the hub. While disconnected it is kept, and the newest one is sent after reconnecting. */
  private sendNow(key: string): void {
    clearTimeout(this.timers.get(key));
    this.timers.delete(key);
    const w = this.window(key);
    const pending = this.store.getState().pendings.get(key);
    if (w === undefined || pending === undefined || !this.live) return;
    const place = this.dragged.get(key) ?? pending.place;
    const { update, pending: next } = planUpdate(w, { ...pending, place }, this.now());
    this.lastSent.set(key, this.now());
    this.setPending(key, { ...next, place: pending.place });
    const { toggle, bounds } = update;
    const sendBounds = (): void => {
      const resizes = bounds !== undefined && (bounds.w !== w.bounds.w || bounds.h !== w.bounds.h);
      if (bounds !== undefined) this.commands.placeWindow(w, bounds, resizes ? "window.resize" : "window.move");
    };
    if (place.maximized) sendBounds();
    if (toggle) this.commands.toggleMaximized(w);
    if (!place.maximized) sendBounds();
    this.reconcilePending();
  }

  private sendRaised(): void {
    const w = this.window(this.store.getState().raised);
    if (w === undefined || !this.live) return;
    this.raiseSentAt = this.now();
    this.commands.focusWindow(w);
    this.reconcilePending();
  }

  /** Sends the placements and the raise that were made while disconnected. */
  private sendMissed(): void {
    for (const [key, pending] of this.store.getState().pendings) if (pending.since === 0 && !pending.held) this.sendSoon(key);
    this.sendRaised();
  }

  /**
   * Removes placements and the raise that the hub has confirmed or that have expired, and the records of closed
   * windows.
   */
  private reconcilePending(): void {
    const { pendings, raised } = this.store.getState();
    const { windows } = this.shell.getState().desktop;
    const now = this.now();
    const next = new Map<string, PendingPlacement>();
    let changed = false;
    for (const [key, pending] of pendings) {
      const left = reconcile(windows.get(key), pending, now);
      changed ||= left !== pending;
      if (left !== undefined) next.set(key, left);
      else this.lastSent.delete(key);
    }
    for (const key of this.dragged.keys()) if (!windows.has(key)) this.discardDrag(key);
    for (const key of this.timers.keys()) if (!windows.has(key)) this.sendNow(key);
    for (const known of [this.boundsBeforeSnap, this.userBounds, this.lastSent]) {
      for (const key of known.keys()) if (!windows.has(key)) known.delete(key);
    }
    if (changed) this.store.setState({ pendings: next });
    const { onTop } = this.store.getState();
    if ([...onTop].some((key) => !windows.has(key))) this.store.setState({ onTop: new Set([...onTop].filter((key) => windows.has(key))) });
    const w = windows.get(raised);
    const over = this.raiseSentAt > 0 && now - this.raiseSentAt >= confirmTimeout;
    if (raised !== "" && (w === undefined || over || isOnTop(windows.values(), w))) {
      this.raiseSentAt = 0;
      this.store.setState({ raised: "" });
    }
    clearTimeout(this.confirmTimer);
    if (next.size > 0 || this.store.getState().raised !== "") this.confirmTimer = setTimeout(() => this.reconcilePending(), confirmTimeout);
  }
}

function isLive(s: Shell): boolean {
  return s.link.phase === "live" && s.link.released;
}
