import { Undo2 } from "lucide-react";
import { lazy, type ReactNode, Suspense, useMemo, useState } from "react";
import { type DesktopState, hasEnded, type MessageID, type MonitorID } from "../../../core/src/index.js";
import { entriesOf, type MessageEntry } from "../drawer/entries.js";
import { useFormat, useTexts } from "../i18n/use.js";
import type { Api } from "../shell/api.js";
import { useCommands, useEvents, useShell } from "../shell/context.js";
import { film as texts } from "../texts/film.js";
import { Button } from "../ui/button.js";
import { Modal } from "../ui/modal.js";
import { type Mark, returnTo } from "./timeline.js";
import type { FilmReel } from "./use-film.js";

const RewindDialog = lazy(async () => ({ default: (await import("../history/rewind-dialog.js")).RewindDialog }));

interface Rewinding {
  readonly entry: MessageEntry;
  readonly rows: DesktopState["rows"];
}

/** Returns the session to a moment: by a rewind with the files, or by a restore. Both ask first. */
export function GoBack({ reel, position, onGone }: { reel: FilmReel; position: number; onGone: () => void }): ReactNode {
  const t = useTexts(texts);
  const { api } = useCommands();
  const session = useShell((s) => s.session);
  const rows = useShell((s) => s.desktop.rows);
  const [gone, setGone] = useState<ReadonlySet<number>>(new Set());
  const [rewinding, setRewinding] = useState<Rewinding>();
  const [restoring, setRestoring] = useState<Mark>();
  const [note, setNote] = useState("");
  const removed = useMemo(() => removedRows(reel), [reel]);
  const way = returnTo(reel.marks, position, (m) => !removed.has(m.ts!) && !gone.has(m.ts!));
  useEvents((e, replayed) => {
    if (!replayed && rewinding !== undefined && e.type === "HISTORY_REWOUND" && e.data.ts === rewinding.entry.ts) onGone();
  });
  const begin = (): void => {
    setNote("");
    if (way === undefined) return;
    if (way.kind === "restore") return setRestoring(way.mark);
    const { ts, monitorId } = way.mark;
    rowsBackTo(api, session, monitorId, rows, ts!).then(
      (all) => {
        const entry = entriesOf({ rows: all, queues: new Map() }, [], monitorId).find((e) => e.kind === "user" && e.ts === ts);
        if (entry?.kind === "user") setRewinding({ entry, rows: all });
        else setGone((g) => new Set(g).add(ts!));
      },
      (e: unknown) => setNote(e instanceof Error ? e.message : String(e)),
    );
  };
  return (
    <>
      <Button icon={Undo2} disabled={way === undefined} title={way === undefined ? t.nothingToUndo : undefined} onClick={begin} data-film-back={way?.kind}>
        {t.goBack}
      </Button>
      {note !== "" && <span role="alert">{note}</span>}
      {rewinding !== undefined && (
        <Suspense>
          <RewindDialog entry={rewinding.entry} rows={rewinding.rows} back={false} onClose={() => setRewinding(undefined)} />
        </Suspense>
      )}
      {restoring !== undefined && <RestoreDialog mark={restoring} onClose={() => setRestoring(undefined)} onDone={onGone} />}
    </>
  );
}

/** The rows that rewinds in the film removed. */
function removedRows({ film }: FilmReel): Set<number> {
  const known = new Set<number>();
  const removed = new Set<number>();
  for (const e of film.events) {
    if (e.type === "messageUpdated") known.add(e.data.message.ts);
    if (e.type !== "HISTORY_REWOUND") continue;
    const { ts, included, kept } = e.data;
    for (const row of known) if ((row > ts && kept?.includes(row) !== true) || (row === ts && included !== true)) removed.add(row);
  }
  return removed;
}

/** The number of rows per request, and the most requests. */
const pageSize = 500;
const maxPages = 20;

/** The rows of a conversation from a row on, read from the archive as far as the desktop state lacks them. */
async function rowsBackTo(api: Api, session: string, monitor: MonitorID, rows: DesktopState["rows"], ts: number): Promise<DesktopState["rows"]> {
  const all = new Map(rows);
  for (let pages = 0; !all.has(ts) && pages < maxPages; pages++) {
    const before = Math.min(...[...all.values()].flatMap(({ row }) => (row.id !== undefined && row.id > 0 ? [row.id] : [])));
    const page = await api.rows(session, { monitor, limit: pageSize, before: before === Infinity ? undefined : before });
    for (const row of page.rows) all.set(row.ts, { row, bytes: 0 });
    if (!page.more || page.rows.length === 0) break;
  }
  return all;
}

/** Restores the files and the windows of a checkpoint. */
function RestoreDialog({ mark, onClose, onDone }: { mark: Mark; onClose: () => void; onDone: () => void }): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  const commands = useCommands();
  const [sent, setSent] = useState<MessageID>();
  const item = useShell((s) => s.outbox.items.find((i) => i.id === sent));
  const busy = sent !== undefined && (item === undefined || !hasEnded(item));
  useEvents((e) => {
    if (e.type === "CHECKPOINT_RESTORED" && sent !== undefined && e.data.messageId === sent) onDone();
  });
  return (
    <Modal title={t.restoreTitle} closeLabel={t.close} onClose={onClose}>
      <div data-film-restore={mark.hash}>
        <p>{t.restoreText(format.moment(mark.time))}</p>
        <p>{t.restoreUndo}</p>
        {item?.status === "rejected" && <p role="alert">{t.restoreFailed(item.reason ?? "")}</p>}
        <div className="film-buttons">
          <Button onClick={onClose}>{t.cancel}</Button>
          <Button kind="danger" disabled={busy} onClick={() => setSent(commands.send("RESTORE_CHECKPOINT", { hash: mark.hash! }))}>
            {busy ? t.restoring : t.restore}
          </Button>
        </div>
      </div>
    </Modal>
  );
}
