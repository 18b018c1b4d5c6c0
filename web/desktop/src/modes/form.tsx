import { type FormEvent, type ReactNode, useContext, useState } from "react";
import { useTexts } from "../i18n/use.js";
import { reasonOf } from "../models/panel.js";
import { newProfileId } from "../models/profiles.js";
import { Check, RuleFields } from "../sessions/alone.js";
import { isConflict, type Mode, type Modes } from "../shell/api.js";
import { ShellContext, useCommands, useShell } from "../shell/context.js";
import { topbar } from "../texts/entry.js";
import { modes as texts } from "../texts/modes.js";
import { modeName, toolsNote } from "../topbar/modes.js";
import { profileName } from "../topbar/profile.js";
import { Button } from "../ui/button.js";
import { canSave, type Draft, isChanged, isTooLong, modeDraft, modeOf, withCurrent } from "./drafts.js";

interface ModeFormProps {
  /** The mode to change; undefined for a new one. */
  mode: Mode | undefined;
  modes: Modes;
  onLeave: () => void;
}

/** The form of a mode. If the mode was changed in another tab, saving says so first and replaces it the next time. */
export function ModeForm({ mode, modes, onLeave }: ModeFormProps): ReactNode {
  const t = useTexts(texts);
  const names = useTexts(topbar);
  const commands = useCommands();
  const { store } = useContext(ShellContext)!;
  const [draft, setDraft] = useState(() => modeDraft(mode));
  /** The stored mode as the form last showed it. */
  const [seen, setSeen] = useState(mode);
  const [saving, setSaving] = useState(false);
  const [problem, setProblem] = useState("");
  const change = (part: Partial<Draft>): void => {
    setDraft((now) => ({ ...now, ...part }));
    setProblem("");
  };
  const conflict = (): void => {
    const now = store.getState().modes?.modes.find((m) => m.id === mode?.id);
    setProblem(mode === undefined || !isChanged(seen, now) ? t.conflictNew : t.conflict);
    setSeen(now);
  };
  const save = async (): Promise<void> => {
    if (mode !== undefined && isChanged(seen, modes.modes.find((m) => m.id === mode.id))) return conflict();
    setSaving(true);
    setProblem("");
    try {
      const id = mode?.id ?? newProfileId(draft.name, modes.modes.map((m) => m.id), "mode");
      await commands.api.putMode(id, { ...modeOf(draft), version: modes.version });
      await commands.loadModes().catch(() => undefined); // it is stored; the event of the change also loads them
      onLeave();
    } catch (error) {
      await commands.loadModes().catch(() => undefined);
      if (isConflict(error)) conflict();
      else setProblem(t.failed(reasonOf(error)));
      setSaving(false);
    }
  };
  const submit = (e: FormEvent): void => {
    e.preventDefault();
    if (canSave(draft) && !saving) void save();
  };
  const title = mode === undefined ? t.add : t.edit(modeName(mode, names));
  return (
    <form className="models-new" aria-label={title} onSubmit={submit}>
      <h3>{title}</h3>
      <Fields draft={draft} onChange={change} />
      <Check label={t.ownRules} hint={t.ownRulesHint} on={draft.ownRules} onChange={(ownRules) => change({ ownRules })} />
      {draft.ownRules && (
        <div className="sessions-alone modes-rules">
          <RuleFields draft={draft.rules} onChange={(part) => change({ rules: { ...draft.rules, ...part } })} />
        </div>
      )}
      {problem !== "" && (
        <p role="alert" className="models-problem">
          {problem}
        </p>
      )}
      <div className="sessions-actions">
        <Button onClick={onLeave}>{t.cancel}</Button>
        <Button kind="primary" type="submit" disabled={!canSave(draft) || saving} data-modes="save">
          {saving ? t.saving : t.save}
        </Button>
      </div>
    </form>
  );
}

function Fields({ draft, onChange }: { draft: Draft; onChange: (part: Partial<Draft>) => void }): ReactNode {
  const t = useTexts(texts);
  const names = useTexts(topbar);
  const profiles = useShell((s) => s.models?.profiles) ?? [];
  const known = profiles.map((p) => p.id);
  const modelText = (id: string): string => {
    if (id === "") return t.modelSession;
    const isThere = profiles.some((p) => p.id === id || p.name === id);
    return isThere ? profileName(id, profiles) : t.modelMissing(id);
  };
  return (
    <div className="models-fields">
      <label>
        <span>{t.name}</span>
        <input className="field" name="modeName" autoFocus required maxLength={64} autoComplete="off" value={draft.name} onChange={(e) => onChange({ name: e.target.value })} />
      </label>
      <label>
        <span>{t.instructions}</span>
        <textarea className="field" name="modeInstructions" rows={7} aria-invalid={isTooLong(draft.instructions)} value={draft.instructions} onChange={(e) => onChange({ instructions: e.target.value })} />
      </label>
      {isTooLong(draft.instructions) && (
        <p role="alert" className="models-problem">
          {t.tooLong}
        </p>
      )}
      <label>
        <span>{t.tools}</span>
        <select className="field" name="modeTools" value={draft.toolProfile} onChange={(e) => onChange({ toolProfile: e.target.value })}>
          {withCurrent(["all", "show", "read"], draft.toolProfile).map((profile) => (
            <option key={profile} value={profile}>
              {toolsNote(profile, names)}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span>{t.model}</span>
        <select className="field" name="modeModel" value={draft.model} onChange={(e) => onChange({ model: e.target.value })}>
          {withCurrent(["", ...known], draft.model).map((id) => (
            <option key={id} value={id}>
              {modelText(id)}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}
