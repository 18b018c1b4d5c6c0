// The pointers of the other people who look at the same monitor. Positions are neither stored nor answered: the next one
// replaces a lost one.

import "./cursors.css";
import { type ReactNode, useContext, useEffect, useRef, useState } from "react";
import type { MonitorID } from "../../../core/src/index.js";
import { PageContext, useEvents, useShell } from "../shell/context.js";
import { tintOf } from "../topbar/avatars.js";
import { aboveWindows } from "./stack.js";

/** A monitor is so many units wide and high in positions of pointers. */
const range = 10_000;

/** The least time between two positions that a tab sends, in ms. */
const interval = 100;

/** How long a pointer that does not move is shown, in ms. */
const still = 6_000;

/** The code of an error about a message that the hub does not know. */
const invalidMessage = 1003;

interface Cursor {
  readonly user: string;
  readonly monitor: MonitorID;
  readonly x: number;
  readonly y: number;
  readonly at: number;
}

/** Draws the pointers of other people over the windows, and sends them that of this tab unless the user does not want that. */
export function Cursors({ monitor }: { monitor: MonitorID }): ReactNode {
  const box = useRef<HTMLDivElement>(null);
  const [cursors, setCursors] = useState<ReadonlyMap<string, Cursor>>(new Map());
  useSending(box, monitor);
  useEvents((event) => {
    if (event.type !== "POINTER_MOVED") return;
    const { connectionId, user = "", monitorId, x, y, gone = false } = event.data;
    setCursors((now) => {
      const next = new Map(now);
      next.delete(connectionId);
      if (!gone) next.set(connectionId, { user, monitor: monitorId, x, y, at: Date.now() });
      return next;
    });
  });
  useEffect(() => {
    if (cursors.size === 0) return;
    const oldest = Math.min(...[...cursors.values()].map((c) => c.at));
    const timer = setTimeout(
      () => setCursors((now) => new Map([...now].filter(([, c]) => Date.now() - c.at < still))),
      Math.max(50, oldest + still - Date.now()),
    );
    return () => clearTimeout(timer);
  }, [cursors]);
  const here = [...cursors].filter(([, c]) => c.monitor === monitor);
  return (
    <div ref={box} className="win-cursors" style={{ zIndex: aboveWindows }} aria-hidden>
      {here.map(([id, c]) => (
        <div key={id} className={`win-cursor win-cursor-${tintOf(c.user)}`} data-cursor={c.user} style={{ left: `${(c.x * 100) / range}%`, top: `${(c.y * 100) / range}%` }}>
          <svg width="18" height="20" viewBox="0 0 18 20">
            <path d="M1 1 L16 10 L9 11.5 L5.5 18 Z" />
          </svg>
          <span>{c.user}</span>
        </div>
      ))}
    </div>
  );
}

/** Sends the position of the pointer over the parent of an element. */
function useSending(box: { readonly current: HTMLElement | null }, monitor: MonitorID): void {
  const page = useContext(PageContext);
  const wanted = useShell((s) => s.prefs.pointer);
  // A hub of an earlier version refuses positions, and closes connections that send many refused messages.
  const [refused, setRefused] = useState(false);
  useEvents((event) => {
    if (event.type === "error" && event.data.code === invalidMessage) setRefused(true);
  });
  useEffect(() => {
    const canvas = box.current?.parentElement ?? undefined;
    if (canvas === undefined || page === undefined || !wanted || refused) return;
    // What lies over the windows, such as the first screen, is in the same region.
    const region = canvas.closest<HTMLElement>("[data-region=canvas]") ?? canvas;
    let last = Number.NEGATIVE_INFINITY;
    let shown = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let at = { x: 0, y: 0 };
    const send = (): void => {
      timer = undefined;
      last = performance.now();
      shown = true;
      page.client.point({ monitorId: monitor, ...at });
    };
    const move = (e: PointerEvent): void => {
      if (e.pointerType === "touch") return; // a finger is no pointer that stays
      const b = canvas.getBoundingClientRect();
      const part = (n: number, from: number, size: number): number => Math.round(Math.min(1, Math.max(0, (n - from) / size)) * range);
      at = { x: part(e.clientX, b.x, b.width), y: part(e.clientY, b.y, b.height) };
      timer ??= setTimeout(send, Math.max(0, last + interval - performance.now()));
    };
    const leave = (): void => {
      clearTimeout(timer);
      timer = undefined;
      if (shown) page.client.point({ monitorId: monitor, ...at, gone: true });
      shown = false;
    };
    region.addEventListener("pointermove", move);
    region.addEventListener("pointerleave", leave);
    return () => {
      region.removeEventListener("pointermove", move);
      region.removeEventListener("pointerleave", leave);
      leave();
    };
  }, [box, page, monitor, wanted, refused]);
}
