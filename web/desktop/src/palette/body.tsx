import { CornerDownLeft, Search } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useContext, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useTexts } from "../i18n/use.js";
import type { SessionCard } from "../shell/api.js";
import { ShellContext, useCommands, useShell } from "../shell/context.js";
import { forBrowser } from "../shell/storage.js";
import { palette as texts } from "../texts/palette.js";
import { Kbd } from "../ui/kbd.js";
import { isComposing } from "../ui/keys.js";
import { asksOnly, type Entry, entriesOf } from "./entries.js";
import { addRecent, type Ranked, rank, readRecent, stepTo } from "./rank.js";

const recentKey = "everdesk.recent";

/** The palette while it is open. */
export default function Body(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const dialog = useModal();
  const id = useId();
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const [recent] = useState(() => readRecent(forBrowser.getItem(recentKey)));
  const { sessions, failed } = useSessions();
  const sections = useSections(query, sessions, recent);
  const flat = sections.flatMap((s) => s.items);
  const active = Math.min(at, flat.length - 1);
  const list = useRef<HTMLDivElement>(null);

  const close = (): void => commands.openPanel("");
  const choose = (entry: Entry | undefined): void => {
    if (entry === undefined) return;
    saveRecent(addRecent(recent, entry.id), entry.id !== "ask");
    close();
    entry.run();
  };
  const onKeyDown = (e: KeyboardEvent): void => {
    if (isComposing(e)) return;
    // With text in the field, Home and End move the caret; without, they move in the list.
    const to = (e.key === "Home" || e.key === "End") && query !== "" && !e.ctrlKey ? undefined : stepTo(e.key, active, flat.length);
    if (e.key === "Enter") choose(flat[active]?.item);
    else if (to !== undefined) setAt(to);
    else return;
    e.preventDefault();
  };
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [active, sections]);

  let index = -1;
  return (
    <dialog
      ref={dialog}
      className="palette"
      aria-label={t.palette}
      onCancel={(e) => {
        e.preventDefault();
        close();
      }}
      onPointerDown={(e) => e.target === e.currentTarget && close()}
    >
      <div className="palette-box">
        <div className="palette-search">
          <Search size={16} aria-hidden />
          <input
            role="combobox"
            aria-expanded
            aria-controls={`${id}-list`}
            aria-activedescendant={active < 0 ? undefined : `${id}-${active}`}
            aria-autocomplete="list"
            aria-label={t.palette}
            autoComplete="off"
            spellCheck={false}
            placeholder={t.placeholder}
            value={query}
            onChange={(e) => {
              setQuery(e.target.value);
              setAt(0);
            }}
            onKeyDown={onKeyDown}
          />
        </div>
        <div ref={list} id={`${id}-list`} className="palette-list" role="listbox" aria-label={t.results} tabIndex={-1}>
          {sections.map((section) => (
            <div key={section.group} role="group" aria-label={t[section.group]}>
              <div className="palette-group" aria-hidden>
                {t[section.group]}
              </div>
              {section.items.map((ranked) => {
                const i = ++index;
                return (
                  <Line key={ranked.item.id} id={`${id}-${i}`} ranked={ranked} selected={i === active} onPoint={() => setAt(i)} onChoose={() => choose(ranked.item)} />
                );
              })}
            </div>
          ))}
        </div>
        {flat.length === 0 && <p className="palette-note">{t.nothing}</p>}
        <div role="status" className={failed ? "palette-note" : undefined}>
          {failed && t.sessionsFailed}
        </div>
        <footer className="palette-foot" aria-hidden>
          <span>
            <Kbd combo="arrowup+arrowdown" /> {t.hintMove}
          </span>
          <span>
            <Kbd combo="enter" /> {t.hintRun}
          </span>
          <span>
            <Kbd combo="escape" /> {t.hintClose}
          </span>
        </footer>
      </div>
    </dialog>
  );
}

interface LineProps {
  id: string;
  ranked: Ranked<Entry>;
  selected: boolean;
  onPoint: () => void;
  onChoose: () => void;
}

function Line({ id, ranked: { item, at }, selected, onPoint, onChoose }: LineProps): ReactNode {
  const Icon = item.icon;
  return (
    <div id={id} role="option" aria-selected={selected} className="palette-line" data-entry={item.id} onPointerMove={selected ? undefined : onPoint} onClick={onChoose}>
      <Icon size={16} aria-hidden />
      <span className="palette-line-title">
        <Highlighted text={item.title} at={at} />
      </span>
      {item.hint !== undefined && <span className="palette-line-hint">{item.hint}</span>}
      {item.combo !== undefined && <Kbd combo={item.combo} />}
      {selected && item.combo === undefined && <CornerDownLeft size={14} aria-hidden />}
    </div>
  );
}

/** A text with its matched letters highlighted. */
function Highlighted({ text, at }: { text: string; at: readonly number[] }): ReactNode {
  if (at.length === 0) return text;
  return [...text.normalize("NFC")].map((c, i) => (at.includes(i) ? <b key={i}>{c}</b> : c));
}

/** A modal dialog that takes the focus before the next key press, and returns it when it closes. */
function useModal(): { current: HTMLDialogElement | null } {
  const ref = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const dialog = ref.current!;
    const before = document.activeElement;
    if (!dialog.open) dialog.showModal();
    dialog.querySelector("input")?.focus();
    return () => {
      dialog.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return ref;
}

function useSections(query: string, sessions: readonly SessionCard[], recent: readonly string[]): ReturnType<typeof rank<Entry>> {
  const t = useTexts(texts);
  const commands = useCommands();
  const { store } = useContext(ShellContext)!;
  const windows = useShell((s) => s.desktop.windows);
  const prefs = useShell((s) => s.prefs);
  // The rest of the state changes while agents write; the available actions rarely do.
  return useMemo(() => {
    const entries = entriesOf({ shell: store.getState(), commands, t, en: texts.en, sessions, query });
    return rank(asksOnly(query) ? entries.filter((e) => e.group === "ask") : entries, query, recent);
  }, [windows, prefs, store, commands, t, sessions, query, recent]);
}

function useSessions(): { sessions: readonly SessionCard[]; failed: boolean } {
  const { api } = useCommands();
  const [state, setState] = useState<{ sessions: readonly SessionCard[]; failed: boolean }>({ sessions: [], failed: false });
  useEffect(() => {
    let cancelled = false;
    api.sessions().then(
      (sessions) => cancelled || setState({ sessions, failed: false }),
      () => cancelled || setState({ sessions: [], failed: true }),
    );
    return () => {
      cancelled = true;
    };
  }, [api]);
  return state;
}

function saveRecent(recent: string[], keep: boolean): void {
  if (keep) forBrowser.setItem(recentKey, JSON.stringify(recent));
}
