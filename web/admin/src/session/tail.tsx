import { Pause, Play } from "lucide-react";
import { type FormEvent, type KeyboardEvent, memo, type ReactNode, useEffect, useId, useLayoutEffect, useRef, useState } from "react";
import { Button } from "../../../desktop/src/ui/button.js";
import type { Detail, LogEvent } from "../api/types.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { usePage } from "../state/use.js";
import { useVisibleRange } from "../table/use-visible-range.js";
import { cellAfterKey, scrollToRow } from "../table/visible-range.js";
import { session as texts } from "../texts.js";
import { CopyButton } from "../ui/copy.js";
import { lineOf, positionBefore, subjectOf, tailStart } from "./log.js";
import { type TailQuery, useTail } from "./use-tail.js";

const lineHeight = 22;

/** The live end of a session's log. */
export function Tail({ detail }: { detail: Detail }): ReactNode {
  const t = useTexts(texts);
  const f = useFormat();
  const content = usePage((s) => s.me?.content === true);
  const session = detail.row.sessionId;
  // The start position is fixed; newer events follow.
  const [query, setQuery] = useState<TailQuery>(() => ({ after: tailStart(detail), type: "", agent: "", monitor: "" }));
  const { log, link, pause } = useTail(session, query);
  const [chosen, setChosen] = useState<LogEvent>();
  const types = [...new Set(log.events.map((e) => e.type))].sort();
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{t.tail}</h2>
        <span className="faint" role="status">
          {link === "reconnecting" ? t.tailReconnecting : ""}
        </span>
        <span className="faint">{t.events(f.number(log.events.length))}</span>
      </div>
      {!content && <p className="note">{t.redacted}</p>}
      <div className="filters">
        <Choice name="type" label={t.type} value={query.type} options={types} onChange={(type) => setQuery({ ...query, type })} />
        <Choice name="agent" label={t.agent} value={query.agent} options={detail.agents.map((a) => a.id)} onChange={(agent) => setQuery({ ...query, agent })} />
        <Choice name="monitor" label={t.monitor} value={query.monitor} options={detail.monitors.map((m) => m.id)} onChange={(monitor) => setQuery({ ...query, monitor })} />
        <Jump onJump={(after) => setQuery({ ...query, after })} />
        <Button size="sm" onClick={() => setQuery({ ...query, after: tailStart(detail) })}>
          {t.newest}
        </Button>
        <Button size="sm" icon={log.paused ? Play : Pause} aria-pressed={log.paused} data-tail-pause onClick={() => pause(!log.paused)}>
          {log.paused ? t.resume(f.number(log.buffered.length)) : t.pause}
        </Button>
        <CopyButton text={() => log.events.map((e) => JSON.stringify(e)).join("\n")} label={t.copy} done={t.copied} failed={t.copyFailed} />
      </div>
      {log.trimmed && <p className="note">{t.trimmed}</p>}
      <Lines events={log.events} following={!log.paused} chosen={chosen} onChoose={setChosen} />
      {chosen !== undefined && (
        <div className="tail-event">
          <CopyButton text={() => JSON.stringify(chosen, null, 2)} label={t.copy} done={t.copied} failed={t.copyFailed} />
          <pre tabIndex={0}>{JSON.stringify(chosen, null, 2)}</pre>
        </div>
      )}
    </section>
  );
}

/** A filter field with suggestions; it applies on blur, Enter, or when a suggestion is chosen. */
function Choice({ name, label, value, options, onChange }: { name: string; label: string; value: string; options: readonly string[]; onChange: (v: string) => void }): ReactNode {
  const list = useId();
  const [text, setText] = useState(value);
  const apply = (): void => {
    if (text.trim() !== value) onChange(text.trim());
  };
  return (
    <>
      <input
        className="field tail-filter"
        type="search"
        name={`tail-${name}`}
        aria-label={label}
        placeholder={label}
        list={list}
        value={text}
        onChange={(e) => {
          setText(e.target.value);
          if (e.target.value === "" || options.includes(e.target.value)) onChange(e.target.value);
        }}
        onBlur={apply}
        onKeyDown={(e) => {
          if (e.key === "Enter") apply();
        }}
      />
      <datalist id={list}>
        {options.map((o) => (
          <option key={o} value={o} />
        ))}
      </datalist>
    </>
  );
}

function Jump({ onJump }: { onJump: (after: string) => void }): ReactNode {
  const t = useTexts(texts);
  const [text, setText] = useState("");
  const [bad, setBad] = useState(false);
  const id = useId();
  const jump = (e: FormEvent): void => {
    e.preventDefault();
    const after = positionBefore(text);
    setBad(after === undefined);
    if (after !== undefined) onJump(after);
  };
  return (
    <form className="tail-jump" onSubmit={jump}>
      <input className="field mono" name="tail-position" aria-label={t.jump} placeholder={t.jump} value={text} aria-invalid={bad} aria-describedby={bad ? id : undefined} onChange={(e) => setText(e.target.value)} />
      <Button size="sm" type="submit">
        {t.goto}
      </Button>
      {bad && (
        <small id={id} role="alert" className="bad">
          {t.jumpBad}
        </small>
      )}
    </form>
  );
}

interface LinesProps {
  events: readonly LogEvent[];
  following: boolean;
  chosen: LogEvent | undefined;
  onChoose: (e: LogEvent) => void;
}

/**
 * The events, one line each; only visible ones are in the document. It stays at the end until the user scrolls away.
 */
function Lines({ events, following, chosen, onChoose }: LinesProps): ReactNode {
  const t = useTexts(texts);
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const span = useVisibleRange(box, events.length, lineHeight);
  useLayoutEffect(() => {
    const view = box.current!;
    if (following && atEnd.current) view.scrollTop = view.scrollHeight;
  }, [events, following]);
  useEffect(() => {
    const view = box.current!;
    const update = (): void => {
      atEnd.current = view.scrollTop + view.clientHeight >= view.scrollHeight - 2 * lineHeight;
    };
    view.addEventListener("scroll", update, { passive: true });
    return () => view.removeEventListener("scroll", update);
  }, []);
  const row = chosen === undefined ? -1 : events.indexOf(chosen);
  const press = (e: KeyboardEvent): void => {
    const view = box.current!;
    const page = Math.max(1, Math.floor(view.clientHeight / lineHeight) - 1);
    const start = row < 0 && e.key === "ArrowUp" ? events.length : row;
    const to = cellAfterKey(e.key, { row: start, column: 0 }, { rows: events.length, columns: 1 }, page);
    const event = to === undefined || e.key === "ArrowLeft" || e.key === "ArrowRight" ? undefined : events[to.row];
    if (event === undefined) return;
    e.preventDefault();
    view.scrollTop = scrollToRow(to!.row, view.scrollTop, view.clientHeight, lineHeight);
    onChoose(event);
  };
  return (
    <div ref={box} className="tail-lines" role="listbox" tabIndex={0} aria-label={t.tail} aria-activedescendant={row >= span.from && row < span.to ? `${id}-${row}` : undefined} onKeyDown={press}>
      {events.length === 0 && <p className="faint tail-none">{t.tailEmpty}</p>}
      <div role="presentation" className="tail-body" ref={(e) => void (e !== null && (e.style.height = `${events.length * lineHeight}px`))}>
        {events.slice(span.from, span.to).map((e, n) => (
          <EventLine key={e.message_id ?? span.from + n} id={`${id}-${span.from + n}`} event={e} index={span.from + n} count={events.length} chosen={e === chosen} onChoose={onChoose} />
        ))}
      </div>
    </div>
  );
}

const EventLine = memo(function EventLine({ id, event, index, count, chosen, onChoose }: { id: string; event: LogEvent; index: number; count: number; chosen: boolean; onChoose: (e: LogEvent) => void }): ReactNode {
  const f = useFormat();
  const line = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    line.current!.style.transform = `translateY(${index * lineHeight}px)`;
  }, [index]);
  const { agent, monitor } = subjectOf(event);
  return (
    <div ref={line} id={id} role="option" aria-selected={chosen} aria-posinset={index + 1} aria-setsize={count} className="tail-line" data-event={event.type} onClick={() => onChoose(event)}>
      <span className="tail-position">{event.message_id}</span>
      <span className="tail-time">{f.clock(Date.parse(event.timestamp))}</span>
      <span className="tail-type">{event.type}</span>
      <span className="tail-about">{[monitor, agent].filter((s) => s !== "").join(" ")}</span>
      <span>{lineOf(event)}</span>
    </div>
  );
});
