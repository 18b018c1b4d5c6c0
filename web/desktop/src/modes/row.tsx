import { Pencil, Play, RotateCcw, Trash2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useTexts } from "../i18n/use.js";
import { reasonOf } from "../models/panel.js";
import { isConflict, type Mode } from "../shell/api.js";
import { useCommands, useShell } from "../shell/context.js";
import { canDirectAgents } from "../shell/select.js";
import { topbar } from "../texts/entry.js";
import { modes as texts } from "../texts/modes.js";
import { modeName, modeNote } from "../topbar/modes.js";
import { Button, IconButton } from "../ui/button.js";

interface ModeRowProps {
  mode: Mode;
  version: number;
  /** Whether the button to change it takes the focus. */
  focused: boolean;
  onEdit: () => void;
}

/** A mode in the list. One of the hub cannot be deleted, but the changes of the user can. */
export function ModeRow({ mode: m, version, focused, onEdit }: ModeRowProps): ReactNode {
  const t = useTexts(texts);
  const names = useTexts(topbar);
  const commands = useCommands();
  const current = useShell((s) => s.desktop.agentMode?.id === m.id);
  const canUse = useShell(canDirectAgents);
  const [asking, setAsking] = useState(false);
  const [problem, setProblem] = useState("");
  const name = modeName(m, names);
  const shipped = m.shipped === true;
  const remove = async (): Promise<void> => {
    setProblem("");
    try {
      await commands.api.deleteMode(m.id, version);
      setAsking(false);
    } catch (error) {
      setProblem(isConflict(error) ? t.conflictList : t.failed(reasonOf(error)));
    }
    await commands.loadModes().catch(() => undefined);
  };
  return (
    <li className="models-row" data-mode={m.id} aria-current={current || undefined}>
      <div className="models-row-text">
        <b>
          {name}
          {current && <small>{t.inUse}</small>}
          {shipped && <small className="models-pinned">{m.overridden === true ? t.overridden : t.shipped}</small>}
        </b>
        <span className="models-note">{modeNote(m, names)}</span>
      </div>
      <div className="models-row-tools">
        {canUse && (
          <Button size="sm" icon={Play} disabled={current} aria-label={t.useOf(name)} onClick={() => commands.setMode(m.id)}>
            {t.use}
          </Button>
        )}
        <IconButton icon={Pencil} label={t.editOf(name)} autoFocus={focused} onClick={onEdit} />
        {(!shipped || m.overridden === true) && <IconButton icon={shipped ? RotateCcw : Trash2} label={shipped ? t.revertOf(name) : t.removeOf(name)} onClick={() => setAsking(true)} />}
      </div>
      {asking && (
        <div className="modes-ask" role="group" aria-label={shipped ? t.revertOf(name) : t.removeOf(name)}>
          <p className="models-note">{shipped ? t.revertAsk : t.removeAsk}</p>
          <Button size="sm" kind="danger" autoFocus onClick={() => void remove()} data-modes="remove">
            {shipped ? t.revert : t.remove}
          </Button>
          <Button size="sm" onClick={() => setAsking(false)}>
            {t.cancel}
          </Button>
        </div>
      )}
      {problem !== "" && (
        <p role="alert" className="models-problem">
          {problem}
        </p>
      )}
    </li>
  );
}
