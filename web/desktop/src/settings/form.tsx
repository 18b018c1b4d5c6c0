import "./settings.css";
import { Lock, RefreshCw, RotateCcw, TriangleAlert } from "lucide-react";
import { type ReactNode, useCallback, useEffect, useId, useRef, useState } from "react";
import { useTexts } from "../i18n/use.js";
import { accountNames } from "../shell/account.js";
import type { SettingInfo } from "../shell/api.js";
import { useCommands, useEvents, useShell } from "../shell/context.js";
import { hasAccount } from "../shell/select.js";
import { account as texts } from "../texts/account.js";
import { Button } from "../ui/button.js";
import { answered, type Entry, edited, type Field, fieldOf, lockOf, type Mistake, parsedText, textOf, withValues, wordsOf } from "./fields.js";

/** The settings of the user, made from the catalogue of the hub. Guests and viewers have none. */
export function AccountSettings(): ReactNode {
  const me = useShell((s) => s.me);
  if (!hasAccount(me)) return null;
  return <Form admin={me.roles.includes("admin")} />;
}

function Form({ admin }: { admin: boolean }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const [entries, setEntries] = useState<readonly Entry[]>([]);
  const [phase, setPhase] = useState<"reading" | "ready" | { failed: string }>("reading");
  const catalogue = useRef<readonly SettingInfo[]>([]);
  const reads = useRef(0);
  const read = useCallback(async (): Promise<void> => {
    const read = ++reads.current;
    try {
      if (catalogue.current.length === 0) catalogue.current = (await commands.api.settingCatalogue()).settings;
      const { settings } = await commands.api.settingValues();
      if (read !== reads.current) return; // a later one is on its way
      setEntries((before) => withValues(catalogue.current, settings, before));
      setPhase("ready");
    } catch (error) {
      setPhase({ failed: error instanceof Error ? error.message : String(error) });
    }
  }, [commands]);
  useEffect(() => void read(), [read]);
  useEvents((event) => {
    if (event.type === "SETTINGS_CHANGED" && !event.data.names?.every((n) => n.startsWith("appData/"))) void read();
  });
  const replace = (name: string, change: (e: Entry) => Entry): void => setEntries((all) => all.map((e) => (e.info.name === name ? change(e) : e)));
  const save = async (entry: Entry, value: unknown, sent: string | undefined): Promise<void> => {
    const { name } = entry.info;
    replace(name, (e) => ({ ...e, saving: true, problem: "" }));
    try {
      const { settings, refused } = await commands.api.changeSetting(name, value, entry.state.value);
      replace(name, (e) => answered(e, sent, settings, refused));
    } catch (error) {
      replace(name, (e) => ({ ...e, saving: false, problem: error instanceof Error ? error.message : String(error) }));
    }
  };
  return (
    <section className="settings" aria-label={t.title} data-settings={typeof phase === "string" ? phase : "failed"}>
      <h3>{t.title}</h3>
      <p className="settings-note">{t.hint}</p>
      {phase === "reading" && <p role="status">{t.reading}</p>}
      {typeof phase === "object" && (
        <div role="alert" className="settings-problem">
          <span>{t.failed(phase.failed)}</span>
          <Button size="sm" icon={RefreshCw} onClick={() => void read()}>
            {t.again}
          </Button>
        </div>
      )}
      {entries.filter((e) => !accountNames.includes(e.info.name)).map((e) => (
        <Row key={e.info.name} entry={e} admin={admin} onEdit={(draft) => replace(e.info.name, (now) => edited(now, draft))} onSave={(value, sent) => void save(e, value, sent)} />
      ))}
    </section>
  );
}

interface RowProps {
  entry: Entry;
  admin: boolean;
  onEdit: (draft: string) => void;
  /** Saves a value that was typed as `sent`; null returns to the default. */
  onSave: (value: unknown, sent: string | undefined) => void;
}

/** One setting. It is a form of its own, so that Enter saves it. */
function Row({ entry, admin, onEdit, onSave }: RowProps): ReactNode {
  const t = useTexts(texts);
  const id = useId();
  const [mistake, setMistake] = useState<Mistake>();
  const { info, state } = entry;
  const field = fieldOf(info.schema);
  const lock = field === undefined ? "hub" : lockOf(entry, admin);
  const known = labelsOf(t)[info.name];
  const label = known?.[0] ?? wordsOf(info.name);
  const submit = (text: string): void => {
    if (field === undefined) return;
    const result = parsedText(field, text);
    setMistake("mistake" in result ? result.mistake : undefined);
    if ("value" in result) onSave(result.value, text);
  };
  const change = (text: string): void => {
    setMistake(undefined);
    onEdit(text);
    if (field?.kind === "boolean" || field?.kind === "choice") submit(text); // a choice is a decision
  };
  const problem = mistake !== undefined && field !== undefined ? mistakeText(t, mistake, field) : entry.problem;
  return (
    <form
      className="settings-row"
      data-setting={info.name}
      aria-busy={entry.saving}
      onSubmit={(e) => {
        e.preventDefault();
        if (entry.draft !== undefined) submit(entry.draft);
      }}
    >
      <div className="settings-head">
        <label htmlFor={id}>{label}</label>
        {lock !== "" && (
          <small className="settings-lock" title={state.pinned}>
            <Lock size={11} aria-hidden />
            {lock === "pinned" ? t.pinned : lock === "admin" ? t.byAdmin : t.ofHub}
          </small>
        )}
        {lock === "" && state.source === "user" && (
          <Button size="sm" kind="ghost" icon={RotateCcw} disabled={entry.saving} aria-label={t.resetOf(label)} onClick={() => onSave(null, entry.draft)}>
            {t.reset}
          </Button>
        )}
      </div>
      <p className="settings-note" id={`${id}-doc`}>
        {known?.[1] ?? info.doc}
      </p>
      <div className="settings-edit">
        <Input id={id} field={field} text={entry.draft ?? textOf(state.value)} disabled={lock !== ""} invalid={problem !== ""} onChange={change} />
        {entry.draft !== undefined && (
          <Button size="sm" kind="primary" type="submit" disabled={entry.saving} aria-label={t.saveOf(label)}>
            {entry.saving ? t.saving : t.save}
          </Button>
        )}
      </div>
      {entry.conflict && (
        <p role="alert" className="settings-problem" data-problem="conflict">
          <TriangleAlert size={14} aria-hidden />
          {t.conflict(textOf(state.value))}
        </p>
      )}
      {problem !== "" && (
        <p role="alert" className="settings-problem" id={`${id}-problem`} data-problem="refused">
          <TriangleAlert size={14} aria-hidden />
          {problem}
        </p>
      )}
      {state.invalid !== undefined && <p className="settings-note">{t.invalid(state.invalid.detail)}</p>}
    </form>
  );
}

interface InputProps {
  id: string;
  field: Field | undefined;
  text: string;
  disabled: boolean;
  invalid: boolean;
  onChange: (text: string) => void;
}

function Input({ id, field, text, disabled, invalid, onChange }: InputProps): ReactNode {
  const shared = { id, disabled, "aria-invalid": invalid, "aria-describedby": invalid ? `${id}-doc ${id}-problem` : `${id}-doc` };
  switch (field?.kind) {
    case "boolean":
      return <input {...shared} type="checkbox" checked={text === "true"} onChange={(e) => onChange(String(e.target.checked))} />;
    case "choice":
      return (
        <select {...shared} className="field" value={text} onChange={(e) => onChange(e.target.value)}>
          {field.choices.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      );
    case "number":
      return <input {...shared} className="field" type="number" step={field.whole ? 1 : "any"} min={field.min} max={field.max} value={text} onChange={(e) => onChange(e.target.value)} />;
    case "list":
      return <textarea {...shared} className="field" rows={4} value={text} onChange={(e) => onChange(e.target.value)} />;
    case "text":
      if (field.long) return <textarea {...shared} className="field" rows={3} value={text} onChange={(e) => onChange(e.target.value)} />;
      return <input {...shared} className="field" type="text" value={text} onChange={(e) => onChange(e.target.value)} />;
    default:
      return <output id={id}>{text}</output>;
  }
}

type Words = (typeof texts)["en"];

/** The names and descriptions of the settings that the page knows. Others have those of the hub, in English. */
function labelsOf(t: Words): Record<string, readonly [string, string] | undefined> {
  return {
    language: [t.language, t.languageDoc],
    onboardingCompleted: [t.onboarding, t.onboardingDoc],
    userName: [t.userName, t.userNameDoc],
    iconSize: [t.iconSize, t.iconSizeDoc],
    customInstructions: [t.instructions, t.instructionsDoc],
  };
}

function mistakeText(t: Words, mistake: Mistake, field: Field): string {
  const min = "min" in field ? String(field.min ?? "") : "";
  const max = "max" in field ? String(field.max ?? "") : "";
  switch (mistake) {
    case "number":
      return t.wantNumber;
    case "whole":
      return t.wantWhole;
    case "range":
      return t.wantRange(min, max);
    case "short":
      return field.kind === "list" ? t.wantMoreItems(min) : t.wantMore(min);
    case "long":
      return field.kind === "list" ? t.wantFewerItems(max) : t.wantLess(max);
  }
}
