import { AppWindow, ArrowLeft, ChevronRight, X } from "lucide-react";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { type WindowState, windowKey } from "../../../core/src/index.js";
import { Content } from "../content/index.js";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { useMonitor, useWindows } from "../shell/select.js";
import { phone as texts } from "../texts/phone.js";
import { Button, IconButton } from "../ui/button.js";
import { previewOf } from "./preview.js";

/** The windows of the monitor as a list, and one of them over the whole page. */
export function Windows(): ReactNode {
  const monitor = useMonitor();
  const windows = useWindows(monitor);
  const [open, setOpen] = useState("");
  const shown = windows.find((w) => windowKey(w.monitorId, w.windowId) === open);
  const closed = open !== "" && shown === undefined;
  // The back button of the browser, or the back gesture, leads from a window to the list.
  useEffect(() => {
    const back = (): void => setOpen("");
    addEventListener("popstate", back);
    return () => {
      removeEventListener("popstate", back);
      goBack();
    };
  }, []);
  useEffect(() => {
    if (closed) goBack();
  }, [closed]);
  if (shown !== undefined) return <OneWindow window={shown} onBack={goBack} />;
  return (
    <List
      windows={windows}
      onOpen={(w) => {
        history.pushState({ phoneWindow: true }, "");
        setOpen(windowKey(w.monitorId, w.windowId));
      }}
    />
  );
}

/** Goes back in the browser history to before a window was opened. */
function goBack(): void {
  if ((history.state as { phoneWindow?: boolean } | null)?.phoneWindow === true) history.back();
}

function List({ windows, onOpen }: { windows: readonly WindowState[]; onOpen: (w: WindowState) => void }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const newest = useMemo(() => [...windows].reverse(), [windows]);
  if (newest.length === 0) {
    return (
      <div className="phone-empty">
        <AppWindow size={32} aria-hidden />
        <p>{t.noWindows}</p>
        <p>{t.noWindowsHint}</p>
        <Button onClick={() => commands.showPhonePage("chat")}>{t.toChat}</Button>
      </div>
    );
  }
  return (
    <ul className="phone-windows">
      {newest.map((w) => (
        <li key={windowKey(w.monitorId, w.windowId)}>
          <button
            type="button"
            className="phone-window-row"
            onClick={() => {
              commands.focusWindow(w);
              onOpen(w);
            }}
          >
            <AppWindow size={18} aria-hidden />
            <span className="phone-window-text">
              <strong>{w.title || t.untitled}</strong>
              <span>{previewOf(w)}</span>
            </span>
            <RowMark window={w} />
            <ChevronRight size={16} aria-hidden />
          </button>
        </li>
      ))}
    </ul>
  );
}

function RowMark({ window: w }: { window: WindowState }): ReactNode {
  const t = useTexts(texts);
  const busy = useShell((s) => {
    for (const a of s.desktop.agents.values()) if (a.windowId === w.windowId && a.monitorId === w.monitorId && a.status !== "idle") return true;
    return false;
  });
  if (busy) return <span className="phone-mark phone-mark-busy">{t.working}</span>;
  return w.minimized === true ? <span className="phone-mark">{t.minimised}</span> : null;
}

function OneWindow({ window: w, onBack }: { window: WindowState; onBack: () => void }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const id = `phone-title-${w.windowId}`;
  return (
    <section className="phone-window" role="dialog" aria-modal="false" aria-labelledby={id} data-window-id={w.windowId} data-monitor-id={w.monitorId}>
      <header className="phone-window-head" data-title-bar>
        <IconButton icon={ArrowLeft} size={20} label={t.back} autoFocus onClick={onBack} />
        <h2 id={id}>{w.title || t.untitled}</h2>
        <IconButton icon={X} size={20} label={t.close} onClick={() => commands.closeWindow(w)} />
      </header>
      <div className="phone-window-body">
        <Content window={w} />
      </div>
    </section>
  );
}
