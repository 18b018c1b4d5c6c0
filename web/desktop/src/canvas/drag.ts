// A window in the hand of a pointer. It is drawn by writing to its element, once per frame, so that nothing else of the
// page is drawn again.

import { type Bounds, isStandard, type WindowState } from "../../../core/src/index.js";
import { type Edge, moved, resized, smallestOf, type Zone, zoneAt } from "./geometry.js";
import type { Manager } from "./manager.js";
import { keyOf } from "./stack.js";

/** How far a pointer goes before it drags; less is a click. */
const threshold = 4;

export function transformOf(b: Bounds): string {
  return `translate(${b.x}px, ${b.y}px)`;
}

/** Begins to drag a window, or one of its edges, when a pointer goes down on it. */
export function drag(manager: Manager, frame: HTMLElement, w: WindowState, down: PointerEvent, edge?: Edge): void {
  const canvas = frame.parentElement;
  if (canvas === null || down.button !== 0 || !down.isPrimary) return;
  new Drag(manager, frame, canvas, w, down, edge).listen();
}

class Drag {
  private readonly key: string;
  private from: Bounds | undefined;
  private zone: Zone | undefined;
  private at: PointerEvent;
  private request = 0;
  private readonly end = new AbortController();
  private readonly was;
  private readonly area: Bounds;
  private readonly origin: DOMRect;
  private readonly manager: Manager;
  private readonly frame: HTMLElement;
  private readonly canvas: HTMLElement;
  private readonly w: WindowState;
  private readonly down: PointerEvent;
  private readonly edge: Edge | undefined;

  constructor(manager: Manager, frame: HTMLElement, canvas: HTMLElement, w: WindowState, down: PointerEvent, edge: Edge | undefined) {
    this.manager = manager;
    this.frame = frame;
    this.canvas = canvas;
    this.w = w;
    this.down = down;
    this.edge = edge;
    this.at = down;
    this.key = keyOf(w);
    this.area = manager.area();
    this.origin = canvas.getBoundingClientRect();
    const place = manager.place(w);
    this.was = place.maximized ? { ...place, bounds: w.restoreBounds ?? place.bounds } : place;
  }

  listen(): void {
    const { signal } = this.end;
    const mine = (f: (e: PointerEvent) => void) => (e: PointerEvent) => {
      if (e.pointerId === this.down.pointerId) f(e);
    };
    document.addEventListener("pointermove", mine((e) => this.move(e)), { signal });
    document.addEventListener("pointerup", mine(() => this.finish(true)), { signal });
    document.addEventListener("pointercancel", mine(() => this.finish(false)), { signal });
    document.addEventListener("keydown", (e) => this.pressed(e), { signal, capture: true });
  }

  private pressed(e: KeyboardEvent): void {
    if (e.key !== "Escape" || this.from === undefined) return;
    e.preventDefault();
    e.stopPropagation();
    this.finish(false);
  }

  private move(e: PointerEvent): void {
    this.at = e;
    if (this.from === undefined) {
      if (Math.hypot(e.clientX - this.down.clientX, e.clientY - this.down.clientY) < threshold) return;
      this.begin();
    }
    if (this.request === 0) this.request = requestAnimationFrame(() => this.draw());
  }

  private begin(): void {
    this.frame.setPointerCapture(this.down.pointerId);
    this.frame.dataset.moving = this.edge ?? "move";
    this.canvas.dataset.dragging = this.edge ?? "move";
    this.from = this.manager.beginDrag(this.w, this.edge, this.down.clientX - this.origin.x, this.down.clientY - this.origin.y);
  }

  private draw(): void {
    this.request = 0;
    const { from } = this;
    if (from === undefined) return;
    if (this.manager.window(this.key) === undefined) {
      this.stop();
      return this.manager.forgetDrag(this.key);
    }
    const dx = this.at.clientX - this.down.clientX;
    const dy = this.at.clientY - this.down.clientY;
    const { style } = this.frame;
    if (this.edge === undefined) {
      const b = moved(from, dx, dy, this.area);
      style.transform = transformOf(b);
      this.manager.dragTo(this.key, b);
      this.preview();
      return;
    }
    const room = this.w.variant === "panel" ? { ...this.area, y: 0, h: this.origin.height } : this.area;
    const b = resized(from, this.edge, dx, dy, room, smallestOf(this.w));
    style.transform = transformOf(b);
    style.width = `${b.w}px`;
    style.height = `${b.h}px`;
    this.manager.dragTo(this.key, b);
  }

  private preview(): void {
    const zone = isStandard(this.w) ? zoneAt(this.at.clientX - this.origin.x, this.at.clientY - this.origin.y, this.area) : undefined;
    if (zone === this.zone) return;
    this.zone = zone;
    this.manager.showPreview(zone);
  }

  private finish(kept: boolean): void {
    const dragged = this.from !== undefined;
    if (dragged && this.request !== 0) this.draw();
    this.stop();
    if (!dragged) return;
    if (kept) this.manager.endDrag(this.key, this.zone, this.was);
    else this.manager.cancelDrag(this.key, this.was);
    this.rest();
  }

  /** Draws where the window has come to rest: React knows only where it was lifted, and may see no difference to that. */
  private rest(): void {
    const w = this.manager.window(this.key);
    if (w === undefined || this.manager.place(w).maximized) return;
    const b = this.manager.drawn(w);
    Object.assign(this.frame.style, { transform: transformOf(b), width: `${b.w}px`, height: `${b.h}px` });
  }

  private stop(): void {
    cancelAnimationFrame(this.request);
    this.request = 0;
    this.end.abort();
    this.from = undefined;
    delete this.frame.dataset.moving;
    delete this.canvas.dataset.dragging;
  }
}
