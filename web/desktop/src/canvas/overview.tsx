// The overview: all windows of the monitor at once, to choose one.

import "./overview.css";
import { type KeyboardEvent, type ReactNode, useEffect, useRef } from "react";
import type { Bounds, WindowState } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { windows as texts } from "../texts/windows.js";
import { WindowIcon } from "./body.js";
import { useWindowManager } from "./context.js";
import { bringForward } from "./groups.js";
import { focusWindow } from "./keys.js";
import { nearestInDirection } from "./nearest.js";
import { around, overviewLayout } from "./overview-layout.js";
import { aboveWindows, keyOf } from "./stack.js";

export function Overview({ layout }: { layout: ReadonlyMap<string, Bounds> }): ReactNode {
  const t = useTexts(texts);
  const manager = useWindowManager();
  const commands = useCommands();
  const windows = useShell((s) => s.desktop.windows);
  const root = useRef<HTMLDivElement>(null);
  const front = useRef(manager.front());
  const shown = [...layout.keys()].flatMap((key) => windows.get(key) ?? []);

  const groups = new Map<string, readonly WindowState[]>();
  for (const w of shown) {
    const group = manager.groups?.of(w) ?? [];
    if (group.length > 1) groups.set(keyOf(w), group);
  }
  // Each group once: of its first window.
  const firsts = shown.filter((w) => groups.get(keyOf(w))?.every((o) => shown.indexOf(o) >= shown.indexOf(w)));

  const buttons = (): HTMLElement[] => [...root.current!.querySelectorAll<HTMLElement>("[data-overview]")];
  useEffect(() => {
    const key = front.current === undefined ? "" : keyOf(front.current);
    (buttons().find((b) => b.dataset.overview === key) ?? buttons()[0] ?? root.current)?.focus();
  }, []);
  useEffect(() => {
    // Windows that were opened or closed meanwhile get or lose their place.
    const { monitorId } = front.current ?? shown[0] ?? {};
    const here = [...windows.values()].filter((w) => w.monitorId === monitorId && w.variant !== "panel");
    if (here.length !== layout.size || here.some((w) => !layout.has(keyOf(w)))) manager.showOverview(overviewLayout(here, manager));
  }, [windows]);

  const leave = (key?: string): void => {
    manager.showOverview(undefined);
    const w = key === undefined ? front.current : windows.get(key);
    if (w === undefined) return;
    if (key !== undefined) bringForward(groups.get(key) ?? [w], commands);
    // The windows cannot have the focus until they are drawn again.
    requestAnimationFrame(() => focusWindow(keyOf(w)));
  };
  const press = (e: KeyboardEvent): void => {
    const all = buttons();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const w = windows.get(all[at]?.dataset.overview ?? "");
    if (e.key === "Escape") leave();
    else if (e.key === "Delete" && w !== undefined) {
      (all[at + 1] ?? all[at - 1] ?? root.current)?.focus();
      manager.close([w]);
    } else {
      const to = nearestInDirection(e.key, all.map((b) => b.getBoundingClientRect()), at);
      if (to === undefined) return;
      all[to]?.focus();
    }
    e.preventDefault();
    e.stopPropagation();
  };
  return (
    <div
      ref={root}
      className="win-overview"
      role="dialog"
      aria-label={t.overview}
      tabIndex={-1}
      style={{ zIndex: aboveWindows + 8 }}
      onKeyDown={press}
      onClick={(e) => {
        if (e.target === e.currentTarget) leave();
      }}
    >
      {shown.length === 0 && <p className="win-overview-empty">{t.overviewEmpty}</p>}
      {shown.map((w) => {
        const key = keyOf(w);
        const b = layout.get(key)!;
        const title = w.title || t.untitled;
        return (
          <button
            key={key}
            type="button"
            className="win-overview-window"
            data-overview={key}
            data-grouped={groups.has(key) || undefined}
            aria-label={groups.has(key) ? t.showGroup(title) : t.show(title)}
            style={{ left: b.x, top: b.y, width: b.w, height: b.h }}
            onClick={() => leave(key)}
          >
            <span className="win-overview-title">
              <WindowIcon window={w} /> {title}
              {w.minimized === true && ` (${t.minimized})`}
            </span>
          </button>
        );
      })}
      {firsts.map((w) => {
        const group = groups.get(keyOf(w))!;
        const b = around(group.flatMap((o) => layout.get(keyOf(o)) ?? []));
        return (
          <div key={keyOf(w)} className="win-overview-group" aria-hidden style={{ left: b.x, top: b.y, width: b.w, height: b.h }}>
            <span className="win-overview-title">{group.map((o) => o.title || t.untitled).join(" + ")}</span>
          </div>
        );
      })}
      <p className="win-overview-hint">{t.overviewHint}</p>
    </div>
  );
}
