import { Ellipsis, Pencil, Trash2, Undo2 } from "lucide-react";
import type { ReactNode } from "react";
import type { MessageEntry } from "../drawer/entries.js";
import { useTexts } from "../i18n/use.js";
import { gesturesIn, pressIn } from "../shell/gesture.js";
import { history as texts } from "../texts/history.js";
import { IconButton } from "../ui/button.js";
import { Menu, MenuItem } from "../ui/menu.js";
import { useMessageActions } from "./conversation-state.js";

/** The menu of a message that has a row: edit it, or remove it with everything after it. */
export function MessageMenu({ entry, window }: { entry: MessageEntry; window: string | undefined }): ReactNode {
  const t = useTexts(texts);
  const actions = useMessageActions();
  if (actions === undefined || entry.row === undefined) return null;
  const old = !entry.row.id;
  const typed = gesturesIn(entry.text) === undefined && (window === undefined || pressIn(entry.text, window) === undefined);
  const hint = old ? { hint: t.tooOld } : {};
  return (
    <Menu label={t.actions} align="end" trigger={(menu) => <IconButton icon={Ellipsis} size={14} className="drawer-copy history-more" label={t.actions} {...menu} />}>
      {(close) => {
        const item = (icon: ReactNode, text: string, run: () => void, danger = false): ReactNode => (
          <MenuItem
            icon={icon}
            disabled={old}
            danger={danger}
            {...hint}
            onSelect={() => {
              close();
              run();
            }}
          >
            {text}
          </MenuItem>
        );
        return (
          <>
            {typed && item(<Pencil size={14} aria-hidden />, t.edit, () => actions.edit(entry.ts))}
            {item(<Undo2 size={14} aria-hidden />, t.rewind, () => actions.rewind(entry, true))}
            {item(<Trash2 size={14} aria-hidden />, t.remove, () => actions.rewind(entry, false), true)}
          </>
        );
      }}
    </Menu>
  );
}
