import { type ReactNode, useMemo } from "react";
import { WindowIcon } from "../canvas/body.js";
import { useTexts } from "../i18n/use.js";
import { useCommands } from "../shell/context.js";
import { useMonitor, useWindows } from "../shell/select.js";
import { dock as texts } from "../texts/entry.js";
import { Menu, MenuItem } from "../ui/menu.js";
import { useFitting } from "./fitting.js";

/** The minimised windows of the monitor. Those that do not fit are in a menu. */
export function MinimisedWindows(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const windows = useWindows(useMonitor());
  const minimised = useMemo(() => windows.filter((w) => w.minimized === true), [windows]);
  const { ref, count } = useFitting(entryWidth, moreWidth, minimised.length);
  const rest = minimised.slice(count);
  return (
    <div className="dock-windows" ref={ref} role="group" aria-label={t.minimised}>
      {minimised.slice(0, count).map((w) => (
        <button
          key={w.windowId}
          type="button"
          className="dock-window"
          data-dock-window={w.windowId}
          title={w.title || t.untitled}
          aria-label={t.restore(w.title || t.untitled)}
          onClick={() => commands.focusWindow(w)}
        >
          <WindowIcon window={w} />
          <span>{w.title || t.untitled}</span>
        </button>
      ))}
      {rest.length > 0 && (
        <Menu
          label={t.moreWindows(rest.length)}
          trigger={(props) => (
            <button type="button" className="dock-more" title={t.moreWindows(rest.length)} {...props}>
              +{rest.length} <span className="hidden-text">{t.moreWindows(rest.length)}</span>
            </button>
          )}
        >
          {(close) =>
            rest.map((w) => (
              <MenuItem
                key={w.windowId}
                icon={<WindowIcon window={w} />}
                onSelect={() => {
                  close();
                  commands.focusWindow(w);
                }}
              >
                {w.title || t.untitled}
              </MenuItem>
            ))
          }
        </Menu>
      )}
    </div>
  );
}

/** The minimum width of an entry with its gap, in px. */
const entryWidth = 92;
/** The usual width of an entry, in px. */
export const usualEntry = 156;
const moreWidth = 44;
