import "./drawer.css";
import { type KeyboardEvent, type PointerEvent, type ReactNode, useEffect, useState } from "react";
import { useTexts } from "../i18n/use.js";
import { useCommands } from "../shell/context.js";
import { forBrowser } from "../shell/storage.js";
import { drawer as texts } from "../texts/drawer.js";
import { Conversation } from "./conversation.js";
import { clampWidth, loadWidth, saveWidth, widths } from "./width.js";

export { Conversation } from "./conversation.js";

/** The conversation at the right edge, with an adjustable width. */
export function Drawer(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const [width, setWidth] = useState(() => loadWidth(forBrowser, innerWidth));

  useEffect(() => {
    const fit = (): void => setWidth(loadWidth(forBrowser, innerWidth));
    addEventListener("resize", fit);
    return () => removeEventListener("resize", fit);
  }, []);
  const set = (next: number): void => setWidth(clampWidth(next, innerWidth));
  const drag = (e: PointerEvent<HTMLDivElement>): void => {
    if (e.button !== 0) return;
    e.preventDefault();
    const handle = e.currentTarget;
    handle.setPointerCapture(e.pointerId);
    const from = e.clientX + width;
    let last = width;
    const move = (m: globalThis.PointerEvent): void => set((last = from - m.clientX));
    const end = (): void => {
      handle.removeEventListener("pointermove", move);
      saveWidth(forBrowser, clampWidth(last, innerWidth));
    };
    handle.addEventListener("pointermove", move);
    handle.addEventListener("lostpointercapture", end, { once: true });
  };
  const press = (e: KeyboardEvent): void => {
    const to = { ArrowLeft: width + 24, ArrowRight: width - 24, Home: widths.max, End: widths.min }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    set(to);
    saveWidth(forBrowser, clampWidth(to, innerWidth));
  };
  return (
    <div className="drawer" style={{ width }}>
      <div
        className="drawer-edge"
        role="separator"
        aria-orientation="vertical"
        aria-label={t.resize}
        aria-valuemin={widths.min}
        aria-valuemax={widths.max}
        aria-valuenow={width}
        tabIndex={0}
        onPointerDown={drag}
        onDoubleClick={() => {
          set(widths.initial);
          saveWidth(forBrowser, widths.initial);
        }}
        onKeyDown={press}
      />
      <Conversation onClose={() => commands.showDrawer(false)} />
    </div>
  );
}
