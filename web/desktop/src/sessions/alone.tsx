import { type ReactNode, useEffect, useId, useState } from "react";
import type { AutoApproval } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { type ApprovalDefault, isConflict } from "../shell/api.js";
import { useCommands, useShell } from "../shell/context.js";
import { alone as texts } from "../texts/alone.js";
import { Button } from "../ui/button.js";
import { Modal } from "../ui/modal.js";
import { CommandTester } from "./command-tester.js";
import { type Draft, draftOf, type Flag, rulesOf } from "./rules.js";

/** What the agents of this session may do without asking. */
export function AlonePanel(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const isOwner = useShell((s) => s.ownSession);
  const [standard, setStandard] = useState<ApprovalDefault | "loading" | undefined>("loading");
  const close = (): void => commands.openPanel("");
  useEffect(() => {
    let gone = false;
    const show = (found: ApprovalDefault | undefined): void => {
      if (!gone) setStandard(found);
    };
    if (isOwner) commands.api.approvalDefault().then(show, () => show(undefined));
    else show(undefined); // the default of the owner is not this user's
    return () => {
      gone = true;
    };
  }, [commands, isOwner]);
  return (
    <Modal title={t.title} closeLabel={t.close} onClose={close} shape="wide">
      {standard === "loading" ? <p role="status">{t.loading}</p> : <AloneForm key={standard === undefined ? "unknown" : "known"} standard={standard} onStandard={setStandard} onClose={close} />}
    </Modal>
  );
}

interface AloneFormProps {
  /** The default of the user; undefined if it is not known. */
  standard: ApprovalDefault | undefined;
  onStandard: (standard: ApprovalDefault) => void;
  onClose: () => void;
}

function AloneForm({ standard, onStandard, onClose }: AloneFormProps): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const saved = useShell((s) => s.desktop.autoApproval);
  const modeRules = useShell((s) => s.desktop.agentMode?.ownRules === true);
  const [base, setBase] = useState(saved);
  const [draft, setDraft] = useState(() => draftOf(saved ?? standard?.rules));
  const change = (part: Partial<Draft>): void => setDraft((d) => ({ ...d, ...part }));
  const reload = (): void => {
    setBase(saved);
    setDraft(draftOf(saved ?? standard?.rules));
  };
  const send = (data: { rules: AutoApproval } | { useDefault: true }): void => {
    if (commands.send("SET_AUTO_APPROVAL", data) === undefined) return commands.notify(t.full, "error");
    onClose();
  };
  const saveDefault = async (now: ApprovalDefault): Promise<void> => {
    try {
      onStandard(await commands.api.putApprovalDefault(rulesOf(draft), now.version));
      commands.notify(t.savedDefault, "success");
    } catch (error) {
      commands.notify(isConflict(error) ? t.changedDefault : t.failedDefault, "error");
      if (isConflict(error)) await commands.api.approvalDefault().then(onStandard, () => undefined);
    }
  };
  return (
    <>
      <p className="sessions-lead">{t.lead}</p>
      {standard !== undefined && (
        <p className="sessions-elsewhere" role="status">
          {saved === undefined ? t.follows : t.ownRules} {saved !== undefined && <Button onClick={() => send({ useDefault: true })}>{t.followDefault}</Button>}
        </p>
      )}
      {modeRules && (
        <p className="sessions-elsewhere" role="status">
          {t.modeRules}
        </p>
      )}
      {saved !== base && (
        <p className="sessions-elsewhere" role="status">
          {t.elsewhere} <Button onClick={reload}>{t.reload}</Button>
        </p>
      )}
      <form
        className="sessions-alone"
        onSubmit={(e) => {
          e.preventDefault();
          send({ rules: rulesOf(draft) });
        }}
      >
        <RuleFields draft={draft} onChange={change} />
        <CommandTester rules={rulesOf(draft)} />
        <div className="sessions-actions">
          <Button onClick={onClose}>{t.cancel}</Button>
          {standard !== undefined && <Button onClick={() => void saveDefault(standard)}>{t.saveDefault}</Button>}
          <Button kind="primary" type="submit">
            {t.save}
          </Button>
        </div>
      </form>
    </>
  );
}

interface PartProps {
  draft: Draft;
  onChange: (part: Partial<Draft>) => void;
}

/** The fields of rules. */
export function RuleFields({ draft, onChange }: PartProps): ReactNode {
  const t = useTexts(texts);
  return (
    <>
      <Check
        label={t.outsideData}
        hint={t.outsideDataHint}
        on={!draft.flags.alwaysAllowAfterOutsideData}
        onChange={(on) => onChange({ flags: { ...draft.flags, alwaysAllowAfterOutsideData: !on } })}
      />
      <Check label={t.enabled} hint={t.enabledHint} on={draft.flags.autoApprovalEnabled} onChange={(on) => onChange({ flags: { ...draft.flags, autoApprovalEnabled: on } })} />
      <fieldset disabled={!draft.flags.autoApprovalEnabled}>
        <legend className="hidden-text">{t.title}</legend>
        <Kinds draft={draft} onChange={onChange} />
        <Prefixes draft={draft} onChange={onChange} />
        <Limits draft={draft} onChange={onChange} />
      </fieldset>
    </>
  );
}

/** The kinds of tools, each with the wider permissions that depend on it. */
function Kinds({ draft, onChange }: PartProps): ReactNode {
  const t = useTexts(texts);
  const kinds: [Flag, string, [Flag, string][]][] = [
    ["alwaysAllowReadOnly", t.read, [["alwaysAllowReadOnlyOutsideWorkspace", t.outside]]],
    [
      "alwaysAllowWrite",
      t.write,
      [
        ["alwaysAllowWriteOutsideWorkspace", t.outside],
        ["alwaysAllowWriteProtected", t.protected],
      ],
    ],
    ["alwaysAllowExecute", t.execute, []],
    ["alwaysAllowMcp", t.mcp, []],
    ["alwaysAllowSubtasks", t.subtasks, []],
    ["alwaysAllowModeSwitch", t.modes, []],
  ];
  const set = (flag: Flag) => (on: boolean) => onChange({ flags: { ...draft.flags, [flag]: on } });
  return (
    <section className="sessions-set" aria-label={t.kinds}>
      <h3>{t.kinds}</h3>
      {kinds.map(([flag, label, wider]) => (
        <div key={flag}>
          <Check label={label} on={draft.flags[flag]} onChange={set(flag)} />
          {wider.map(([id, name]) => (
            <div key={id} className="sessions-wider">
              <Check label={name} on={draft.flags[id]} disabled={!draft.flags[flag]} onChange={set(id)} />
            </div>
          ))}
        </div>
      ))}
    </section>
  );
}

interface CheckProps {
  label: string;
  hint?: string;
  on: boolean;
  disabled?: boolean;
  onChange: (on: boolean) => void;
}

export function Check({ label, hint, on, disabled = false, onChange }: CheckProps): ReactNode {
  const id = useId();
  return (
    <div className="sessions-check">
      <input id={id} type="checkbox" checked={on} disabled={disabled} aria-describedby={hint === undefined ? undefined : `${id}-hint`} onChange={(e) => onChange(e.target.checked)} />
      <label htmlFor={id}>{label}</label>
      {hint !== undefined && <p id={`${id}-hint`}>{hint}</p>}
    </div>
  );
}

/** The beginnings of commands, one per line. */
function Prefixes({ draft, onChange }: PartProps): ReactNode {
  const t = useTexts(texts);
  const lists: [keyof Pick<Draft, "allowed" | "denied" | "tools">, string, string, boolean][] = [
    ["allowed", t.allowed, t.allowedHint, draft.flags.alwaysAllowExecute],
    ["denied", t.denied, t.deniedHint, draft.flags.alwaysAllowExecute],
    ["tools", t.tools, t.toolsHint, draft.flags.alwaysAllowMcp],
  ];
  return (
    <section className="sessions-set sessions-lists" aria-label={t.commands}>
      {lists.map(([id, label, hint, used]) => (
        <label key={id} hidden={!used}>
          {label}
          <textarea rows={4} spellCheck={false} value={draft[id]} onChange={(e) => onChange({ [id]: e.target.value })} />
          <small>{hint}</small>
        </label>
      ))}
    </section>
  );
}

function Limits({ draft, onChange }: PartProps): ReactNode {
  const t = useTexts(texts);
  return (
    <section className="sessions-set sessions-lists" aria-label={t.limits}>
      <label>
        {t.requests}
        <input type="number" min={0} step={1} value={draft.requests} onChange={(e) => onChange({ requests: e.target.value })} />
        <small>{t.requestsHint}</small>
      </label>
      <label>
        {t.cost}
        <input type="number" min={0} step="any" value={draft.cost} onChange={(e) => onChange({ cost: e.target.value })} />
        <small>{t.costHint}</small>
      </label>
    </section>
  );
}

