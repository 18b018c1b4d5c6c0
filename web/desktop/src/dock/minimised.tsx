import { type ReactNode, useMemo } from "react";
import type { WindowState } from "../../../core/src/index.js";
import { WindowIcon } from "../canvas/body.js";
import { bringForward, minimisedGroups } from "../canvas/groups.js";
import { useTexts } from "../i18n/use.js";
import { useCommands } from "../shell/context.js";
import { useMonitor, useWindows } from "../shell/select.js";
import { dock as texts } from "../texts/entry.js";
import { Menu, MenuItem } from "../ui/menu.js";
import { useFitting } from "./fitting.js";

/** The minimised windows of the monitor, those of one group as one entry. Those that do not fit are in a menu. */
export function MinimisedWindows(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const windows = useWindows(useMonitor());
  const minimised = useMemo(() => minimisedGroups(windows), [windows]);
  const titleOf = (group: readonly WindowState[]): string => group.map((w) => w.title || t.untitled).join(" + ");
  const { ref, count } = useFitting(entryWidth, moreWidth, minimised.length);
  const rest = minimised.slice(count);
  return (
    <div className="dock-windows" ref={ref} role="group" aria-label={t.minimised}>
      {minimised.slice(0, count).map((group) => (
        <button
          key={group[0]!.windowId}
          type="button"
          className="dock-window"
          data-dock-window={group.map((w) => w.windowId).join(" ")}
          title={titleOf(group)}
          aria-label={t.restore(titleOf(group))}
          onClick={() => bringForward(group, commands)}
        >
          <WindowIcon window={group[0]!} />
          <span>{titleOf(group)}</span>
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
            rest.map((group) => (
              <MenuItem
                key={group[0]!.windowId}
                icon={<WindowIcon window={group[0]!} />}
                onSelect={() => {
                  close();
                  bringForward(group, commands);
                }}
              >
                {titleOf(group)}
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
const moreWidth = 44;
