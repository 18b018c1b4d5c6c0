import { ChevronDown, Pencil, SlidersHorizontal } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { canDirectAgents } from "../shell/select.js";
import { topbar as texts } from "../texts/entry.js";
import { Menu, MenuItem } from "../ui/menu.js";
import { modeChoices, modeName } from "./modes.js";

/** The mode of this session, with a menu to change it for those who may. A choice is shown as pending until the hub confirms it. */
export function ModeChip(): ReactNode {
  const t = useTexts(texts);
  const mode = useShell((s) => s.desktop.agentMode);
  const canChange = useShell(canDirectAgents);
  const [pending, setPending] = useState<{ id: string; name: string }>();
  const current = mode?.id ?? "";
  useEffect(() => {
    if (pending === undefined) return;
    if (pending.id === current) return setPending(undefined);
    const timer = setTimeout(() => setPending(undefined), 5000);
    return () => clearTimeout(timer);
  }, [pending, current]);
  const name = pending?.name ?? (mode === undefined ? t.modeNone : modeName(mode, t));
  if (!canChange) {
    if (mode === undefined) return null;
    return (
      <span className="topbar-mode" title={t.mode(name)}>
        <SlidersHorizontal size={14} aria-hidden />
        <span className="hidden-text">{t.mode(name)}</span>
        <span className="topbar-mode-name" aria-hidden>
          {name}
        </span>
      </span>
    );
  }
  return (
    <Menu
      label={t.modeMenu}
      align="end"
      trigger={(menu) => (
        <button type="button" className="topbar-mode" aria-busy={pending !== undefined} aria-label={t.mode(name)} title={t.mode(name)} {...menu}>
          <SlidersHorizontal size={14} aria-hidden />
          <span className="topbar-mode-name">{name}</span>
          <ChevronDown size={12} aria-hidden />
        </button>
      )}
    >
      {(close) => <ModeItems close={close} onChoose={setPending} />}
    </Menu>
  );
}

/** The modes to choose from, and the entry to change them. */
export function ModeItems({ close, onChoose }: { close: () => void; onChoose?: (mode: { id: string; name: string }) => void }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const modes = useShell((s) => s.modes?.modes);
  const mode = useShell((s) => s.desktop.agentMode);
  const [failed, setFailed] = useState(false);
  const missing = modes === undefined;
  useEffect(() => {
    if (missing) commands.loadModes().catch(() => setFailed(true)); // reading them at the start of the page may have failed
  }, [missing, commands]);
  return (
    <>
      <div className="menu-title">{t.modeMenu}</div>
      {modes === undefined && <div className="menu-title">{failed ? t.modesFailed : t.modesReading}</div>}
      {modeChoices(modes ?? [], mode, t).map(({ id, name, note, checked, deleted }) => (
        <MenuItem
          key={id}
          checked={checked}
          icon={<SlidersHorizontal size={14} aria-hidden />}
          hint={deleted && modes !== undefined ? t.modeDeleted : undefined}
          onSelect={() => {
            close();
            if (checked) return;
            onChoose?.({ id, name });
            commands.setMode(id);
          }}
        >
          <span className="topbar-mode-item" data-mode={id}>
            {name}
            <small>{note}</small>
          </span>
        </MenuItem>
      ))}
      {mode?.modelMissing === true && <div className="menu-title">{t.modeModelMissing(mode.model ?? "")}</div>}
      <hr />
      <MenuItem
        icon={<Pencil size={14} aria-hidden />}
        onSelect={() => {
          close();
          commands.openPanel("modes");
        }}
      >
        {t.modes}
      </MenuItem>
    </>
  );
}

/** The part of the phone's menu about the mode: the modes for those who may choose, the current one for others. */
export function PhoneMode({ close }: { close: () => void }): ReactNode {
  const t = useTexts(texts);
  const mode = useShell((s) => s.desktop.agentMode);
  const canChange = useShell(canDirectAgents);
  if (!canChange && mode === undefined) return null;
  return (
    <>
      <hr />
      {canChange ? <ModeItems close={close} /> : <div className="menu-title">{t.mode(modeName(mode!, t))}</div>}
    </>
  );
}
