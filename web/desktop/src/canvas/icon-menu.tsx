import { ExternalLink, Pencil, Trash2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { createPortal } from "react-dom";
import type { Action, Shortcut } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { icons as texts } from "../texts/icons.js";
import { Button } from "../ui/button.js";
import { Kbd } from "../ui/kbd.js";
import { isComposing } from "../ui/keys.js";
import { MenuItem, MenuList } from "../ui/menu.js";
import { Modal } from "../ui/modal.js";

export type IconDialogKind = "rename" | "remove";

interface IconMenuProps {
  label: string;
  at: { x: number; y: number };
  onOpen: () => void;
  onDialog: (kind: IconDialogKind) => void;
  /** Called when the menu closes; true if the focus returns to the icon. */
  onClosed: (back: boolean) => void;
}

/** The context menu of an icon on the desktop. */
export function IconMenu({ label, at, onOpen, onDialog, onClosed }: IconMenuProps): ReactNode {
  const t = useTexts(texts);
  const pick = (act: () => void) => (): void => {
    onClosed(true);
    act();
  };
  return (
    <MenuList key={`${at.x} ${at.y}`} label={t.menu(label)} place={() => at} onClosed={onClosed}>
      <MenuItem icon={<ExternalLink size={14} />} hint={<Kbd combo="enter" />} onSelect={pick(onOpen)}>
        {t.open}
      </MenuItem>
      <MenuItem icon={<Pencil size={14} />} hint={<Kbd combo="f2" />} onSelect={pick(() => onDialog("rename"))}>
        {t.rename}
      </MenuItem>
      <hr />
      <MenuItem icon={<Trash2 size={14} />} hint={<Kbd combo="delete" />} danger onSelect={pick(() => onDialog("remove"))}>
        {t.remove}
      </MenuItem>
    </MenuList>
  );
}

interface IconDialogProps {
  shortcut: Shortcut;
  kind: IconDialogKind;
  onSend: (action: Action) => void;
  onClose: () => void;
}

/** Renames an icon, or asks before it is removed. */
export function IconDialog({ shortcut: s, kind, onSend, onClose }: IconDialogProps): ReactNode {
  const t = useTexts(texts);
  const [label, setLabel] = useState(s.label);
  const name = label.trim().normalize("NFC");
  const submit = (): void => {
    if (kind === "remove") onSend({ type: "desktop.removeShortcut", shortcutId: s.id });
    else if (name === "") return;
    else if (name !== s.label) onSend({ type: "desktop.updateShortcut", shortcutId: s.id, updates: { label: name } });
    onClose();
  };
  return createPortal(
    <Modal title={kind === "rename" ? t.renameTitle : t.removeTitle} closeLabel={t.close} onClose={onClose}>
      <form
        className="win-icon-form"
        onSubmit={(e) => {
          e.preventDefault();
          submit();
        }}
      >
        {kind === "remove" ? (
          <p>{t.removeText(s.label)}</p>
        ) : (
          <label>
            {t.name}
            <input
              className="field"
              value={label}
              maxLength={100}
              required
              autoFocus
              onFocus={(e) => e.target.select()}
              onChange={(e) => setLabel(e.target.value)}
              onKeyDown={(e) => {
                if (e.key === "Enter" && isComposing(e)) e.preventDefault();
              }}
            />
          </label>
        )}
        <div className="win-icon-actions">
          <Button onClick={onClose}>{t.cancel}</Button>
          <Button type="submit" kind={kind === "remove" ? "danger" : "primary"} autoFocus={kind === "remove"} disabled={kind === "rename" && name === ""}>
            {kind === "remove" ? t.removeNow : t.save}
          </Button>
        </div>
      </form>
    </Modal>,
    document.body,
  );
}
