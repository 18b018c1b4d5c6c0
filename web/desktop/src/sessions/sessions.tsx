import { ExternalLink, Pencil, Plus, RefreshCw, Trash2 } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useCallback, useEffect, useState } from "react";
import { useFormat, useTexts } from "../i18n/use.js";
import type { SessionCard } from "../shell/api.js";
import { useCommands, useShell } from "../shell/context.js";
import { sessions as texts } from "../texts/sessions.js";
import { Button, IconButton } from "../ui/button.js";
import { isComposing } from "../ui/keys.js";
import { Modal } from "../ui/modal.js";
import { sortByUse, stateOf, usedAt } from "./list.js";
import { findSessions, type Preview, usePreviews } from "./previews.js";
import { useSearch } from "./search.js";
import { SessionThumbnail } from "./thumbnail.js";

type State = { type: "reading" } | { type: "failed"; reason: string } | { type: "ready"; sessions: SessionCard[] };

/** All sessions of the user, by last use. */
export function SessionsPanel(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const [state, setState] = useState<State>({ type: "reading" });
  const read = useCallback(async (): Promise<void> => {
    try {
      setState({ type: "ready", sessions: sortByUse(await commands.api.sessions()) });
    } catch (error) {
      setState({ type: "failed", reason: reasonOf(error) });
    }
  }, [commands]);
  useEffect(() => void read(), [read]);
  return (
    <Modal title={t.sessions} closeLabel={t.close} onClose={() => commands.openPanel("")} shape="wide">
      <NewSession />
      {state.type === "reading" && (
        <p className="sessions-lead" role="status">
          {t.reading}
        </p>
      )}
      {state.type === "failed" && (
        <div role="alert" className="sessions-failed">
          <p>{t.failed(state.reason)}</p>
          <Button icon={RefreshCw} onClick={() => void read()}>
            {t.again}
          </Button>
        </div>
      )}
      {state.type === "ready" && state.sessions.length === 0 && <p className="sessions-lead">{t.none}</p>}
      {state.type === "ready" && state.sessions.length > 0 && <SessionList cards={state.sessions} onChange={() => void read()} />}
    </Modal>
  );
}

/** The sessions with miniatures, and a field that searches all of them. */
function SessionList({ cards, onChange }: { cards: readonly SessionCard[]; onChange: () => void }): ReactNode {
  const t = useTexts(texts);
  const [text, setText] = useState("");
  const previews = usePreviews(cards);
  const { cards: byHub, searching } = useSearch(text);
  const here = findSessions(cards, previews, text);
  const shown = new Set(here.map((c) => c.sessionId));
  const found = [...here, ...[...byHub.values()].filter((c) => !shown.has(c.sessionId))];
  return (
    <>
      {cards.length > 1 && <input className="field sessions-search" type="search" aria-label={t.search} placeholder={t.search} value={text} onChange={(e) => setText(e.target.value)} />}
      {found.length === 0 && (
        <p className="sessions-lead" role="status">
          {searching ? t.searching : t.notFound}
        </p>
      )}
      <ul className="sessions-list">
        {found.map((s) => (
          <SessionRow key={s.sessionId} card={s} excerpt={byHub.get(s.sessionId)?.found} preview={previews.get(s.sessionId)} onChange={onChange} />
        ))}
      </ul>
    </>
  );
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function NewSession(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const [title, setTitle] = useState("");
  const [busy, setBusy] = useState(false);
  const create = (): void => {
    setBusy(true);
    commands.newSession(title.trim().normalize("NFC")).catch((error: unknown) => {
      setBusy(false);
      commands.notify(t.failed(reasonOf(error)), "error", 8000);
    });
  };
  return (
    <div className="sessions-new">
      <input
        className="field"
        aria-label={t.newName}
        placeholder={t.newName}
        value={title}
        maxLength={120}
        onChange={(e) => setTitle(e.target.value)}
        onKeyDown={(e) => {
          if (e.key === "Enter" && !isComposing(e) && !busy) create();
        }}
      />
      <Button kind="primary" icon={Plus} disabled={busy} onClick={create}>
        {t.new}
      </Button>
    </div>
  );
}

type Mode = "plain" | "rename" | "remove";

function SessionRow({ card, excerpt, preview, onChange }: { card: SessionCard; excerpt: string | undefined; preview: Preview | undefined; onChange: () => void }): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  const commands = useCommands();
  const current = useShell((s) => s.session === card.sessionId);
  const me = useShell((s) => s.me.user);
  const [mode, setMode] = useState<Mode>("plain");
  const [leftMode, setLeftMode] = useState<Mode>("plain");
  const [busy, setBusy] = useState(false);
  const name = card.title || t.untitled;
  const state = stateOf(card);
  const used = usedAt(card);

  /** Returns to the plain row and moves the focus to the button that opened the mode. */
  const back = (): void => {
    setLeftMode(mode);
    setMode("plain");
  };
  const doThen = async (what: Promise<unknown>, then: () => void): Promise<void> => {
    setBusy(true);
    try {
      await what;
      back();
      then();
    } catch (error) {
      commands.notify(t.failed(reasonOf(error)), "error", 8000);
    } finally {
      setBusy(false);
    }
  };
  const remove = (): void => {
    // After deleting the current session the page starts again without it.
    void doThen(commands.api.deleteSession(card.sessionId), () => (current ? location.assign("/") : onChange()));
  };
  return (
    <li className="sessions-row" data-session-id={card.sessionId} aria-current={current || undefined}>
      {mode === "rename" ? (
        <RenameField
          title={card.title ?? ""}
          busy={busy}
          onCancel={back}
          onSave={(title) => void doThen(commands.api.renameSession(card.sessionId, title), onChange)}
        />
      ) : (
        <button
          type="button"
          className="sessions-open"
          disabled={state === "setAside"}
          onClick={() => (current ? commands.openPanel("") : commands.openSession(card.sessionId))}
        >
          <SessionThumbnail preview={preview} />
          <span className="sessions-name">
            <span>{name}</span>
            {current && <small>{t.current}</small>}
          </span>
          <span className="sessions-meta">
            <span className={`sessions-state sessions-state-${state}`}>{t[state]}</span>
            {state === "setAside" && <span>{t.setAsideHint}</span>}
            {used > 0 && <span>{t.used(format.moment(used))}</span>}
            {excerpt !== undefined && <q>{excerpt}</q>}
            {preview !== undefined && preview.length > 0 && <span>{t.windows(preview.length)}</span>}
            {card.user !== me && <span>{t.by(card.user)}</span>}
          </span>
        </button>
      )}
      {mode === "plain" && (
        <span className="sessions-tools">
          <IconButton
            icon={ExternalLink}
            label={`${t.openTab}: ${name}`}
            disabled={state === "setAside"}
            onClick={() => window.open(`/?session=${encodeURIComponent(card.sessionId)}`, "_blank", "noopener")}
          />
          {card.access === "owner" && <IconButton icon={Pencil} label={`${t.rename}: ${name}`} autoFocus={leftMode === "rename"} onClick={() => setMode("rename")} />}
          {card.access === "owner" && <IconButton icon={Trash2} label={`${t.remove}: ${name}`} autoFocus={leftMode === "remove"} onClick={() => setMode("remove")} />}
        </span>
      )}
      {mode === "remove" && (
        <div
          className="sessions-remove"
          role="alertdialog"
          aria-label={t.removeAsk(name)}
          onKeyDown={(e) => {
            if (e.key === "Escape") keepOpen(e, back);
          }}
        >
          <div>
            <strong>{t.removeAsk(name)}</strong>
            <p>{t.removeHint}</p>
          </div>
          <Button size="sm" autoFocus onClick={back}>
            {t.keep}
          </Button>
          <Button size="sm" kind="danger" disabled={busy} onClick={remove}>
            {t.removeYes}
          </Button>
        </div>
      )}
    </li>
  );
}

/** Handles a key that would close the panel, and leaves the panel open. */
function keepOpen(e: KeyboardEvent, what: () => void): void {
  e.preventDefault();
  e.stopPropagation();
  what();
}

function RenameField(p: { title: string; busy: boolean; onSave: (title: string) => void; onCancel: () => void }): ReactNode {
  const t = useTexts(texts);
  const [title, setTitle] = useState(p.title);
  const save = (): void => p.onSave(title.trim().normalize("NFC"));
  return (
    <span className="sessions-rename">
      <input
        className="field"
        autoFocus
        aria-label={t.name}
        value={title}
        maxLength={120}
        onChange={(e) => setTitle(e.target.value)}
        onKeyDown={(e) => {
          if (isComposing(e)) return;
          if (e.key === "Enter" && !p.busy) save();
          if (e.key === "Escape") keepOpen(e, p.onCancel);
        }}
      />
      <Button size="sm" onClick={p.onCancel}>
        {t.cancel}
      </Button>
      <Button size="sm" kind="primary" disabled={p.busy} onClick={save}>
        {t.save}
      </Button>
    </span>
  );
}
