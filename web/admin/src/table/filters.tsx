import { Bookmark, Download, Pause, Play, X } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { forBrowser } from "../../../desktop/src/shell/storage.js";
import { Button, IconButton } from "../../../desktop/src/ui/button.js";
import { type Row, statuses } from "../api/types.js";
import { useTexts } from "../i18n/use.js";
import { useActions, usePage } from "../state/use.js";
import { table as texts } from "../texts.js";
import { csvOf, download, jsonOf } from "./export.js";
import { defaultView, isFiltered, type View, writeView } from "./filter.js";
import { useStatusNames } from "./status.js";
import { readViews, saveViews, withView } from "./views.js";

interface FiltersProps {
  view: View;
  rows: readonly Row[];
  onChange: (change: Partial<View>) => void;
}

/** The filters, saved views, and the buttons to pause and export. */
export function Filters({ view, rows, onChange }: FiltersProps): ReactNode {
  const t = useTexts(texts);
  const { pause } = useActions();
  const names = useStatusNames();
  const replicas = usePage((s) => s.overview?.replicas);
  const paused = usePage((s) => s.paused !== undefined);
  const owners = [...new Set([...(replicas ?? []).map((r) => r.id), ...(view.owner === "" ? [] : [view.owner])])];
  const toggles = ["stuck", "questions", "errors", "untabbed"] as const;
  return (
    <div className="filters" role="search" aria-label={t.filters}>
      <TextField name="text" label={t.text} value={view.text} onChange={(text) => onChange({ text })} />
      <TextField name="user" label={t.user} value={view.user} onChange={(user) => onChange({ user })} />
      <label className="filter-select">
        <span>{t.status}</span>
        <select className="field" name="status" value={view.status} onChange={(e) => onChange({ status: e.target.value as View["status"] })}>
          <option value="">{t.any}</option>
          {statuses.map((s) => (
            <option key={s} value={s}>
              {names[s]}
            </option>
          ))}
        </select>
      </label>
      <label className="filter-select">
        <span>{t.owner}</span>
        <select className="field" name="owner" value={view.owner} onChange={(e) => onChange({ owner: e.target.value })}>
          <option value="">{t.any}</option>
          {owners.map((o) => (
            <option key={o}>{o}</option>
          ))}
        </select>
      </label>
      {toggles.map((name) => (
        <Button key={name} size="sm" className="toggle" aria-pressed={view[name]} data-filter={name} onClick={() => onChange({ [name]: !view[name] })}>
          {t[name]}
        </Button>
      ))}
      {isFiltered(view) && (
        <Button size="sm" kind="ghost" icon={X} onClick={() => onChange({ ...defaultView, sort: view.sort, descending: view.descending })}>
          {t.clear}
        </Button>
      )}
      <span className="filters-rest">
        <Views view={view} />
        <Button size="sm" icon={paused ? Play : Pause} aria-pressed={paused} data-pause onClick={() => pause(!paused)}>
          {paused ? t.resume : t.pause}
        </Button>
        <Button size="sm" icon={Download} title={t.exportCsv} onClick={() => download("sessions.csv", "text/csv;charset=utf-8", csvOf(rows))}>
          {t.csv}
        </Button>
        <Button size="sm" icon={Download} title={t.exportJson} onClick={() => download("sessions.json", "application/json", jsonOf(rows))}>
          {t.json}
        </Button>
      </span>
    </div>
  );
}

/** A field that applies after a pause in typing, so that thousands of rows are not filtered at every key. */
function TextField({ name, label, value, onChange }: { name: string; label: string; value: string; onChange: (value: string) => void }): ReactNode {
  const [text, setText] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const applied = useRef(value);
  const latest = useRef(onChange);
  latest.current = onChange;
  useEffect(() => {
    if (value === applied.current) return; // it comes from this field, where typing may go on
    applied.current = value;
    clearTimeout(timer.current); // a chosen view replaces what was typed
    setText(value);
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const type = (typed: string): void => {
    setText(typed);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      applied.current = typed;
      latest.current(typed);
    }, 200);
  };
  return <input className={`field filter-${name}`} type="search" name={name} aria-label={label} placeholder={label} value={text} onChange={(e) => type(e.target.value)} />;
}

/** The saved views. */
function Views({ view }: { view: View }): ReactNode {
  const t = useTexts(texts);
  const { go } = useActions();
  const [views, setViews] = useState(() => readViews(forBrowser));
  const [name, setName] = useState("");
  const change = (next: typeof views): void => {
    saveViews(forBrowser, next);
    setViews(next);
  };
  return (
    <details className="views">
      <summary className="button button-secondary button-sm">
        <Bookmark size={14} aria-hidden />
        {t.views}
      </summary>
      <div className="views-box">
        {views.length === 0 && <p className="faint">{t.noViews}</p>}
        <ul>
          {views.map((v) => (
            <li key={v.name}>
              <button type="button" className="views-go" onClick={() => go({ page: "sessions", query: v.query })}>
                {v.name}
              </button>
              <IconButton icon={X} size={14} label={t.removeView(v.name)} onClick={() => change(views.filter((other) => other !== v))} />
            </li>
          ))}
        </ul>
        <form
          onSubmit={(e) => {
            e.preventDefault();
            change(withView(views, name, writeView(view)));
            setName("");
          }}
        >
          <input className="field" name="view" aria-label={t.viewName} placeholder={t.viewName} maxLength={40} value={name} onChange={(e) => setName(e.target.value)} />
          <Button size="sm" type="submit" disabled={name.trim() === ""}>
            {t.saveView}
          </Button>
        </form>
      </div>
    </details>
  );
}
