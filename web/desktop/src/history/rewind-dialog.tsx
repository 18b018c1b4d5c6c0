import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { type DesktopState, firstMonitor, hasEnded, type MessageID, type Sent } from "../../../core/src/index.js";
import { titleIn, workingAgents } from "../dock/agents.js";
import { usePutBack } from "../dock/drafts.js";
import { kindOf, type MessageEntry } from "../drawer/entries.js";
import { describeAction, type ToolAction } from "../drawer/tool-actions.js";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { gesturesIn } from "../shell/gesture.js";
import { history as texts } from "../texts/history.js";
import { toolCalls as toolCallTexts } from "../texts/tool-calls.js";
import { Button } from "../ui/button.js";
import { Modal } from "../ui/modal.js";
import { useAmounts } from "./amounts.js";
import { hasCheckpointAt } from "./checkpoint.js";
import { lineOf, listedRows, type Preview, previewOf } from "./preview.js";
import { useHistoryReason } from "./reasons.js";

interface Props {
  entry: MessageEntry;
  rows: DesktopState["rows"];
  /** Whether the text returns to the command bar afterwards; the user can change that. */
  back: boolean;
  onClose: () => void;
}

/** The error code for a conversation that has changed. */
const historyChanged = 3008;

/** Shows what a rewind removes, and confirms it. */
export function RewindDialog({ entry, rows, back, onClose }: Props): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const why = useHistoryReason();
  const putBack = usePutBack(entry.monitorId);
  const [keepText, setKeepText] = useState(back);
  const [sent, setSent] = useState<MessageID>();
  const [full, setFull] = useState(false);
  const hasFiles = useMemo(() => hasCheckpointAt([...rows.values()].map((r) => r.row), entry.ts), [rows, entry.ts]);
  const [wantsFiles, setWantsFiles] = useState(true);
  const files = hasFiles && wantsFiles;
  const item = useShell((s) => s.outbox.items.find((i) => i.id === sent));
  const preview = usePreview(entry, rows);
  const changed = useRewoundSince(entry) || item?.code === historyChanged;
  const typed = gesturesIn(entry.text) === undefined && entry.text.trim() !== "";
  const busy = sent !== undefined && (item === undefined || !hasEnded(item));
  const done = item !== undefined && hasEnded(item) && item.status !== "rejected";
  const latest = useRef({ onClose, putBack });
  latest.current = { onClose, putBack };
  useEffect(() => {
    if (!done) return;
    latest.current.onClose();
    if (keepText && typed) latest.current.putBack(entry.text);
  }, [done, keepText, typed, entry.text]);

  const rewind = (): void => {
    const id = commands.rewind(entry.ts, entry.monitorId, files);
    setSent(id);
    setFull(id === undefined);
  };
  return (
    <Modal title={back ? t.rewindTitle : t.removeTitle} closeLabel={t.close} onClose={onClose}>
      <div className="history-preview" data-rewind={entry.ts}>
        {changed && preview !== undefined && (
          <p className="history-changed" role="alert">
            {t.changed}
          </p>
        )}
        <RejectionNote item={item} full={full} say={why} />
        {preview === undefined ? <p role="alert">{t.rowGone}</p> : <Consequences preview={preview} entry={entry} files={files} />}
        {preview !== undefined && hasFiles && (
          <label className="history-check">
            <input type="checkbox" data-files checked={wantsFiles} onChange={(e) => setWantsFiles(e.target.checked)} />
            {t.andFiles}
          </label>
        )}
        {preview !== undefined && typed && (
          <label className="history-check">
            <input type="checkbox" checked={keepText} onChange={(e) => setKeepText(e.target.checked)} />
            {t.textBack}
          </label>
        )}
        <div className="history-buttons">
          <Button onClick={onClose}>{preview === undefined ? t.close : t.cancel}</Button>
          {preview !== undefined && (
            <Button kind="danger" onClick={rewind} disabled={busy} data-go>
              {busy ? t.rewinding : back ? t.rewindDo : t.removeDo}
            </Button>
          )}
        </div>
      </div>
    </Modal>
  );
}

/** Why the hub rejected the rewind. A changed conversation has its own message above the preview. */
function RejectionNote({ item, full, say }: { item: Sent | undefined; full: boolean; say: (reason: string, code: string | undefined) => string }): ReactNode {
  const t = useTexts(texts);
  const refused = item?.status === "rejected" && item.code !== historyChanged;
  if (!full && !refused) return null;
  return (
    <p className="history-changed" role="alert">
      {full ? t.full : t.failed(say(item?.reason ?? "", item?.reasonCode))}
    </p>
  );
}

/** What a rewind removes now; undefined if the row no longer exists. */
function usePreview(entry: MessageEntry, rows: DesktopState["rows"]): Preview | undefined {
  const queues = useShell((s) => s.desktop.queues);
  return useMemo(() => {
    const target = rows.get(entry.ts)?.row;
    if (target === undefined) return undefined;
    const here = [...rows.values()].map((r) => r.row).filter((r) => (r.monitorId || firstMonitor) === entry.monitorId);
    return previewOf(here, target, new Set([...queues.values()].flat().map((m) => m.id)));
  }, [rows, queues, entry]);
}

/** Whether the conversation was rewound since the dialog opened. */
function useRewoundSince(entry: MessageEntry): boolean {
  const revision = useShell((s) => s.desktop.monitors.get(entry.monitorId)?.revision ?? 0);
  const [seen] = useState(revision);
  return revision !== seen;
}

/** The maximum number of listed lines. */
const maxLines = 40;

function Consequences({ preview: p, entry, files }: { preview: Preview; entry: MessageEntry; files: boolean }): ReactNode {
  const t = useTexts(texts);
  const toolCalls = useTexts(toolCallTexts);
  const amounts = useAmounts();
  const windows = useShell((s) => s.desktop.windows);
  const describe = (action: ToolAction, failed: boolean): string => {
    const title = action.window === undefined ? "" : titleIn({ windows }, entry.monitorId, action.window);
    return describeAction(toolCalls, action, title, failed);
  };
  const agents = useShell((s) => workingAgents(s.desktop.agents).filter((a) => a.monitorId === entry.monitorId).length);
  const lines = useMemo(() => listedRows(p.removed), [p]);
  /** The texts for rows that have none. */
  const wordless: Record<string, string> = { condensed: t.condensed, truncated: t.truncated, user: t.pictures };
  return (
    <>
      <p>{t.goes(amounts(p))}</p>
      <ul className="history-lines" aria-label={t.goingList} tabIndex={0}>
        {lines.slice(0, maxLines).map((row) => (
          <li key={row.ts} data-say={row.say}>
            {lineOf(row, describe) || wordless[kindOf(row) ?? ""] || "…"}
          </li>
        ))}
        {lines.length > maxLines && <li>{t.moreLines(lines.length - maxLines)}</li>}
      </ul>
      <ul className="history-notes">
        {agents > 0 && <li>{t.stopsWork(agents)}</li>}
        {p.queued > 0 && <li>{t.takesWaiting(p.queued)}</li>}
        {p.condensed > 0 && <li>{t.undoesCondense}</li>}
        {p.truncated > 0 && <li>{t.undoesTruncation}</li>}
        {p.remaining.length > 0 && <li>{t.staysLater(p.remaining.length)}</li>}
        <li>{files ? t.filesBack : t.windowsStay}</li>
        <li>{files ? t.conversationNotUndone : t.notUndone}</li>
      </ul>
    </>
  );
}
