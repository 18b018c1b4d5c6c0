// Compares two saved states of the session's files, or one with the present files.

import "./compare.css";
import { FileDiff } from "lucide-react";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import type { SessionID } from "../../../core/src/index.js";
import { useFormat, useTexts } from "../i18n/use.js";
import type { Api } from "../shell/api.js";
import { useCommands, useShell } from "../shell/context.js";
import { film as texts } from "../texts/film.js";
import { Button } from "../ui/button.js";
import { Modal } from "../ui/modal.js";
import { linesOf } from "./patch.js";

interface Checkpoint {
  hash: string;
  number: number;
  savedAt: string;
}

interface ChangedFile {
  path: string;
  kind: "added" | "changed" | "deleted" | "type";
  added: number;
  removed: number;
  binary?: boolean;
}

interface Diff {
  files: ChangedFile[];
  patch?: string;
  cut?: boolean;
}

/** The value of the present files in the list. */
const now = "";

function diffOf(api: Api, session: SessionID, from: string, to: string, path?: string): Promise<Diff> {
  const query = new URLSearchParams({ from, ...(to === now ? {} : { to }), ...(path === undefined ? {} : { path }) });
  return api.ask("GET", `/api/sessions/${encodeURIComponent(session)}/checkpoints/diff?${query}`);
}

/** Reads something again when what it depends on changes; undefined until it is there. */
function useRead<T>(read: (() => Promise<T>) | undefined): { value?: T; why?: string } {
  const [got, setGot] = useState<{ of?: unknown; value?: T; why?: string }>({});
  useEffect(() => {
    if (read === undefined) return;
    let over = false;
    read().then(
      (value) => over || setGot({ of: read, value }),
      (e: unknown) => over || setGot({ of: read, why: e instanceof Error ? e.message : String(e) }),
    );
    return () => {
      over = true;
    };
  }, [read]);
  return got.of === read ? got : {};
}

/** A button that opens the comparison. */
export function CompareButton({ from }: { from: string | undefined }): ReactNode {
  const t = useTexts(texts);
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button icon={FileDiff} onClick={() => setOpen(true)}>
        {t.compare}
      </Button>
      {open && <ComparePanel from={from} onClose={() => setOpen(false)} />}
    </>
  );
}

/** The comparison of two states, from a checkpoint or, without one, from the newest. */
export function ComparePanel({ from: begin, onClose }: { from?: string | undefined; onClose: () => void }): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  const { api } = useCommands();
  const session = useShell((s) => s.session);
  const list = useRead(useMemo(() => () => api.ask<{ checkpoints: Checkpoint[]; reason?: string }>("GET", `/api/sessions/${encodeURIComponent(session)}/checkpoints`), [api, session]));
  const [chosen, setChosen] = useState<{ from?: string; to: string; path?: string }>({ to: now, ...(begin === undefined ? {} : { from: begin }) });
  const all = list.value?.checkpoints ?? [];
  const from = chosen.from ?? all.at(-1)?.hash;
  const { to, path } = chosen;
  const diff = useRead(useMemo(() => (from === undefined ? undefined : () => diffOf(api, session, from, to)), [api, session, from, to]));
  const patch = useRead(useMemo(() => (from === undefined || path === undefined ? undefined : () => diffOf(api, session, from, to, path)), [api, session, from, to, path]));
  const nameOf = (c: Checkpoint): string => `${c.number} · ${format.moment(Date.parse(c.savedAt))}`;
  const choice = (label: string, value: string, choose: (hash: string) => void, extra: ReactNode): ReactNode => (
    <label className="compare-choice">
      {label}
      <select value={value} onChange={(e) => choose(e.target.value)}>
        {extra}
        {all.toReversed().map((c) => (
          <option key={c.hash} value={c.hash}>
            {nameOf(c)}
          </option>
        ))}
      </select>
    </label>
  );
  const why = list.why ?? diff.why ?? patch.why;
  const files = diff.value?.files;
  return (
    <Modal title={t.compareTitle} closeLabel={t.close} shape="wide" onClose={onClose}>
      <div className="compare" data-compare={files === undefined ? "reading" : files.length}>
        {why !== undefined && <p role="alert">{t.compareFailed(why)}</p>}
        {list.value !== undefined && all.length === 0 && <p>{t.compareNone}</p>}
        {all.length > 0 && from !== undefined && (
          <div className="compare-line">
            {choice(t.compareFrom, from, (hash) => setChosen({ from: hash, to }), null)}
            {choice(t.compareTo, to, (hash) => setChosen({ from, to: hash }), <option value={now}>{t.compareNow}</option>)}
          </div>
        )}
        {files?.length === 0 && <p>{t.compareSame}</p>}
        {files !== undefined && files.length > 0 && (
          <ul className="compare-files" aria-label={t.compareFiles}>
            {files.map((f) => (
              <li key={f.path}>
                <button type="button" aria-pressed={f.path === path} data-compare-file={f.path} onClick={() => setChosen({ ...(from === undefined ? {} : { from }), to, path: f.path })}>
                  <span className="compare-path">{f.path}</span>
                  <span className="compare-kind" data-kind={f.kind}>
                    {{ added: t.fileAdded, changed: t.fileChanged, deleted: t.fileDeleted, type: t.fileChanged }[f.kind]}
                    {f.binary !== true && ` +${f.added} −${f.removed}`}
                  </span>
                </button>
              </li>
            ))}
          </ul>
        )}
        {path !== undefined && patch.value?.patch !== undefined && (
          <pre className="compare-patch" tabIndex={0} aria-label={t.patchOf(path)}>
            {linesOf(patch.value.patch).map((line, i) => (
              <span key={i} data-line={line.kind}>
                {line.text}
                {"\n"}
              </span>
            ))}
            {patch.value.cut === true && t.patchCut}
          </pre>
        )}
      </div>
    </Modal>
  );
}
