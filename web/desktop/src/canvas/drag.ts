// Drags a window with a pointer. The drag writes to the style of the window's element once per animation frame, so that
// React renders nothing.

import { type Bounds, isStandard, type WindowState } from "../../../core/src/index.js";
import { type Edge, minSizeOf, moved, resized, type Zone, zoneAt } from "./geometry.js";
import { elementOf } from "./keys.js";
import type { SharedBorder, WindowManager } from "./manager.js";
import type { Place } from "./pending-placement.js";
import { keyOf } from "./stack.js";

/** The distance in px from which a pointer movement is a drag; less is a click. */
const threshold = 4;

export function transformOf(b: Bounds): string {
  return `translate(${b.x}px, ${b.y}px)`;
}

function drawAt(el: HTMLElement | undefined, b: Bounds): void {
  if (el !== undefined) Object.assign(el.style, { transform: transformOf(b), width: `${b.w}px`, height: `${b.h}px` });
}

/** Starts to drag a window, or one of its edges, when a pointer is pressed on it. */
export function startDrag(manager: WindowManager, frame: HTMLElement, w: WindowState, down: PointerEvent, edge?: Edge): void {
  const canvas = frame.parentElement;
  if (canvas === null || down.button !== 0 || !down.isPrimary) return;
  new Drag(manager, frame, canvas, w, down, edge).listen();
}

class Drag {
  private readonly key: string;
  private from: Bounds | undefined;
  private zone: Zone | undefined;
  /** The border that is dragged, if other windows share it, and where they were. */
  private border: SharedBorder | undefined;
  private others: Map<string, Place> | undefined;
  private lastEvent: PointerEvent;
  private request = 0;
  private readonly abort = new AbortController();
  private readonly original;
  private readonly area: Bounds;
  private readonly origin: DOMRect;
  private readonly manager: WindowManager;
  private readonly frame: HTMLElement;
  private readonly canvas: HTMLElement;
  private readonly w: WindowState;
  private readonly down: PointerEvent;
  private readonly edge: Edge | undefined;

  constructor(manager: WindowManager, frame: HTMLElement, canvas: HTMLElement, w: WindowState, down: PointerEvent, edge: Edge | undefined) {
    this.manager = manager;
    this.frame = frame;
    this.canvas = canvas;
    this.w = w;
    this.down = down;
    this.edge = edge;
    this.lastEvent = down;
    this.key = keyOf(w);
    this.area = manager.area();
    this.origin = canvas.getBoundingClientRect();
    this.original = manager.currentPlace(w);
  }

  listen(): void {
    const { signal } = this.abort;
    const ownPointer = (f: (e: PointerEvent) => void) => (e: PointerEvent) => {
      if (e.pointerId === this.down.pointerId) f(e);
    };
    document.addEventListener("pointermove", ownPointer((e) => this.move(e)), { signal });
    document.addEventListener("pointerup", ownPointer(() => this.finish(true)), { signal });
    document.addEventListener("pointercancel", ownPointer(() => this.finish(false)), { signal });
    document.addEventListener("keydown", (e) => this.onKeyDown(e), { signal, capture: true });
  }

  private onKeyDown(e: KeyboardEvent): void {
    if (e.key !== "Escape" || this.from === undefined) return;
    e.preventDefault();
    e.stopPropagation();
    this.finish(false);
  }

  private move(e: PointerEvent): void {
    this.lastEvent = e;
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
    this.border = this.edge && this.manager.groups?.border(this.w, this.edge);
    this.others = this.border && new Map(this.border.others.map((o) => [keyOf(o), this.manager.currentPlace(o)]));
    this.border?.others.forEach((o) => this.manager.beginDrag(o, this.edge, 0, 0));
    this.from = this.manager.beginDrag(this.w, this.edge, this.down.clientX - this.origin.x, this.down.clientY - this.origin.y);
  }

  private draw(): void {
    this.request = 0;
    const { from } = this;
    if (from === undefined) return;
    if (this.manager.window(this.key) === undefined) {
      this.others?.forEach((was, key) => this.manager.cancelDrag(key, was));
      this.stop();
      return this.manager.discardDrag(this.key);
    }
    const dx = this.lastEvent.clientX - this.down.clientX;
    const dy = this.lastEvent.clientY - this.down.clientY;
    if (this.edge === undefined) {
      const b = moved(from, dx, dy, this.area);
      this.frame.style.transform = transformOf(b);
      this.manager.dragTo(this.key, b);
      this.preview();
      return;
    }
    const area = this.w.variant === "panel" ? { ...this.area, y: 0, h: this.origin.height } : this.area;
    const b = resized(from, this.edge, dx, dy, area, minSizeOf(this.w));
    (this.border?.move(b) ?? new Map([[this.key, b]])).forEach((to, key) => {
      drawAt(this.elementOf(key), to);
      if (this.manager.window(key) !== undefined) this.manager.dragTo(key, to);
    });
  }

  private elementOf(key: string): HTMLElement | undefined {
    return key === this.key ? this.frame : elementOf(key);
  }

  private preview(): void {
    const zone = isStandard(this.w) ? zoneAt(this.lastEvent.clientX - this.origin.x, this.lastEvent.clientY - this.origin.y, this.area) : undefined;
    if (zone === this.zone) return;
    this.zone = zone;
    this.manager.showPreview(zone);
  }

  private finish(commit: boolean): void {
    const dragged = this.from !== undefined;
    if (dragged && this.request !== 0) this.draw();
    this.stop();
    if (!dragged) return;
    if (commit) this.manager.endDrag(this.key, this.zone, this.original, this.others);
    else {
      this.manager.cancelDrag(this.key, this.original);
      this.others?.forEach((was, key) => this.manager.cancelDrag(key, was));
    }
    this.drawFinal(this.key);
    this.others?.forEach((_, key) => this.drawFinal(key));
  }

  /** Draws the final placement: React last rendered the window before the drag and may see no change since then. */
  private drawFinal(key: string): void {
    const w = this.manager.window(key);
    if (w === undefined || this.manager.place(w).maximized) return;
    drawAt(this.elementOf(key), this.manager.drawnBounds(w));
  }

  private stop(): void {
    cancelAnimationFrame(this.request);
    this.request = 0;
    this.abort.abort();
    this.from = undefined;
    delete this.frame.dataset.moving;
    delete this.canvas.dataset.dragging;
  }
}
