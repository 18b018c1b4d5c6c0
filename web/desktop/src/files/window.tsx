// The content of a window that shows one file: a viewer for its kind, and for texts an editor.

import "./files.css";
import { Download, Eye, FileX, Pencil, Save } from "lucide-react";
import { lazy, type ReactNode, Suspense, useCallback, useContext, useEffect, useMemo, useRef, useState } from "react";
import type { WindowState } from "../../../core/src/index.js";
import { useApps } from "../canvas/apps.js";
import { AppFrame } from "../content/app-frame/index.js";
import { Card } from "../content/card.js";
import MarkdownView from "../content/markdown/view.js";
import { TableView } from "../content/table.js";
import { useTexts } from "../i18n/use.js";
import { PageContext, useEvents, useShell } from "../shell/context.js";
import { files as texts } from "../texts/files.js";
import { Button, IconButton } from "../ui/button.js";
import { type FilesApi, hasChanged, reasonOf } from "./api.js";
import { OpenAsNotebook } from "./as-notebook.js";
import { textOf } from "./bytes.js";
import { readCSV } from "./csv.js";
import { listOf } from "./known.js";
import { Notebook } from "./notebook.js";
import { OpenWith } from "./open-with.js";
import { baseName, type FileKind, fileURL, kindOf, sizeText } from "./paths.js";
import { PDFView } from "./pdf.js";

const Editor = lazy(() => import("./editor.js"));

/** How much of a file is read to show it: a text, and a PDF file. */
const mostText = 2 << 20;
const mostPDF = 50 << 20;
/** The longest text that is formatted. */
const mostFormatted = 256 << 10;

/** A file of the session in a window. */
export function FileWindow({ window: w, path }: { window: WindowState; path: string }): ReactNode {
  const page = useContext(PageContext);
  return page === undefined ? null : <Shown key={path} window={w} path={path} api={listOf(page).api} />;
}

interface ShownProps {
  window: WindowState;
  path: string;
  api: FilesApi;
}

function Shown({ window: w, path, api }: ShownProps): ReactNode {
  const kind = kindOf(path);
  switch (kind) {
    case "picture":
    case "audio":
    case "video":
    case "other":
      return <Media path={path} kind={kind} />;
    case "pdf":
      return <PDFWindow path={path} api={api} />;
    default:
      return <TextWindow window={w} path={path} api={api} kind={kind} />;
  }
}

/** The bar above a file. */
function Bar({ path, children }: { path: string; children?: ReactNode }): ReactNode {
  const t = useTexts(texts);
  const session = useShell((s) => s.session);
  const apps = useApps();
  return (
    <div className="files-bar">
      <span className="files-path" title={path}>
        {path}
      </span>
      {children}
      <OpenWith path={path} apps={apps} />
      <a className="icon-button" href={`${fileURL(session, path)}?download=true`} download={baseName(path)} aria-label={t.downloadOf(baseName(path))} title={t.download}>
        <Download size={16} aria-hidden />
      </a>
    </div>
  );
}

/** Counts the changes of a file, so that its URL is loaded again. */
function useVersion(path: string): number {
  const [version, setVersion] = useState(0);
  useEvents((e) => {
    if (e.type === "FILES_CHANGED" && e.data.files.some((f) => f.path === path && f.removed !== true)) setVersion((n) => n + 1);
  });
  return version;
}

function Media({ path, kind }: { path: string; kind: FileKind }): ReactNode {
  const t = useTexts(texts);
  const session = useShell((s) => s.session);
  const version = useVersion(path);
  const [broken, setBroken] = useState(false);
  const source = `${fileURL(session, path)}?v=${version}`;
  useEffect(() => setBroken(false), [source]);
  const name = baseName(path);
  return (
    <div className="files-window" data-file={path} data-file-kind={kind}>
      <Bar path={path} />
      {kind === "other" || broken ? (
        <Unshown why={broken ? t.missing : t.notText} />
      ) : (
        <div className="content-scroll content-picture-box" data-content-state="ready">
          {kind === "picture" && <img className="content-picture" src={source} alt={name} onError={() => setBroken(true)} />}
          {kind === "audio" && <audio controls src={source} aria-label={name} onError={() => setBroken(true)} />}
          {kind === "video" && <video controls className="content-picture" src={source} aria-label={name} onError={() => setBroken(true)} />}
        </div>
      )}
    </div>
  );
}

function Unshown({ why, onAgain }: { why: string; onAgain?: () => void }): ReactNode {
  const t = useTexts(texts);
  return (
    <div className="content-state" data-content-state="failed" data-content-error={why}>
      <Card icon={FileX} title={why}>
        {onAgain !== undefined && <Button onClick={onAgain}>{t.again}</Button>}
      </Card>
    </div>
  );
}

function PDFWindow({ path, api }: { path: string; api: FilesApi }): ReactNode {
  const t = useTexts(texts);
  const version = useVersion(path);
  const [data, setData] = useState<{ data: ArrayBuffer; version: number } | { problem: string }>();
  useEffect(() => {
    let over = false;
    api.read(path, mostPDF).then(
      (f) => over || setData(f.size > mostPDF ? { problem: t.tooLarge(sizeText(f.size)) } : { data: f.data, version }),
      (e: unknown) => over || setData({ problem: reasonOf(e) }),
    );
    return () => {
      over = true;
    };
  }, [api, path, version, t]);
  return (
    <div className="files-window" data-file={path} data-file-kind="pdf">
      <Bar path={path} />
      {data === undefined ? <p className="files-note">{t.loading}</p> : "problem" in data ? <Unshown why={data.problem} /> : <PDFView key={data.version} data={data.data} title={baseName(path)} />}
    </div>
  );
}

/** A text as it is on the hub and as it is in the editor. */
interface Doc {
  /** The stored text, and the tag of its version. */
  readonly stored: string;
  readonly etag: string;
  readonly size: number;
  readonly draft: string;
  /** Whether the file is another one by now than the one that the draft began with. */
  readonly conflict: "" | "changed" | "gone";
}

function TextWindow({ window: w, path, api, kind }: ShownProps & { kind: FileKind }): ReactNode {
  const t = useTexts(texts);
  const { doc, problem, saving, read, save, type } = useText(path, api);
  const [editing, setEditing] = useState(kind === "text");
  const [openProblem, setOpenProblem] = useState("");
  const cut = doc !== undefined && doc.size > mostText;
  const dirty = doc !== undefined && doc.draft !== doc.stored;
  const canPreview = kind !== "text";
  return (
    <div className="files-window" data-file={path} data-file-kind={kind} data-file-state={dirty ? "dirty" : "clean"}>
      <Bar path={path}>
        <span className="files-state" role="status">
          {saving ? t.saving : dirty ? t.unsaved : editing && doc !== undefined && !cut ? t.saved : ""}
        </span>
        {kind === "notebook" && doc !== undefined && <OpenAsNotebook window={w} path={path} draft={cut ? undefined : doc.draft} api={api} onProblem={setOpenProblem} />}
        {canPreview && !cut && (
          <IconButton icon={editing ? Eye : Pencil} label={editing ? t.preview : t.edit} onClick={() => setEditing(!editing)} />
        )}
        {editing && !cut && <IconButton icon={Save} label={t.save} aria-keyshortcuts="Control+S" disabled={!dirty || saving} onClick={() => void save(false)} />}
      </Bar>
      {doc !== undefined && doc.conflict !== "" && (
        <div className="files-conflict" role="alert">
          <span>{doc.conflict === "gone" ? t.gone : t.conflict}</span>
          {doc.conflict === "changed" && (
            <Button size="sm" onClick={() => void read(true)}>
              {t.takeTheirs}
            </Button>
          )}
          <Button size="sm" kind="danger" onClick={() => void save(true)}>
            {t.keepMine}
          </Button>
        </div>
      )}
      {(problem !== "" || openProblem !== "") && doc !== undefined && (
        <p className="files-note" role="alert">
          {t.failed(problem || openProblem)}
        </p>
      )}
      {cut && <p className="files-note">{t.shortened(sizeText(mostText))}</p>}
      <div className="files-body">
        {doc === undefined ? (
          problem === "" ? (
            <p className="files-note">{t.loading}</p>
          ) : (
            <Unshown why={problem} onAgain={() => void read(false)} />
          )
        ) : editing && !cut ? (
          <Suspense fallback={<p className="files-note">{t.loading}</p>}>
            <Editor name={baseName(path)} label={t.editor(baseName(path))} text={doc.draft} onChange={type} onSave={() => void save(false)} />
          </Suspense>
        ) : (
          <Preview window={w} kind={kind} name={baseName(path)} text={doc.draft} />
        )}
      </div>
    </div>
  );
}

/** Reads a text, keeps what the user types, and saves it only over the version that it came from. */
function useText(path: string, api: FilesApi) {
  const t = useTexts(texts);
  const [doc, setDoc] = useState<Doc>();
  const [problem, setProblem] = useState("");
  const [saving, setSaving] = useState(false);
  const latest = useRef(doc);
  latest.current = doc;
  const own = useRef("");
  const read = useCallback(
    async (discard: boolean): Promise<void> => {
      try {
        const f = await api.read(path, mostText);
        const text = textOf(f.data, f.size > mostText);
        if (text === undefined) return setProblem(t.notText);
        setProblem("");
        setDoc((now) => {
          const dirty = now !== undefined && now.draft !== now.stored;
          if (dirty && !discard) return f.etag === now.etag ? now : { ...now, conflict: "changed" };
          return { stored: text, draft: text, etag: f.etag, size: f.size, conflict: "" };
        });
      } catch (e) {
        setProblem(reasonOf(e));
      }
    },
    [api, path, t],
  );
  useEffect(() => void read(false), [read]);
  useEvents((e) => {
    if (e.type === "session_state") return void read(false);
    if (e.type !== "FILES_CHANGED") return;
    const change = e.data.files.findLast((f) => f.path === path);
    if (change === undefined) return;
    if (change.removed === true) setDoc((now) => now && { ...now, conflict: "gone" });
    else if (change.etag !== latest.current?.etag && change.etag !== own.current) void read(false);
  });
  /** Saves the draft; with `force` over whatever is stored. */
  const save = async (force: boolean): Promise<void> => {
    const now = latest.current;
    if (now === undefined || saving) return;
    setSaving(true);
    try {
      const saved = await api.write(path, now.draft, force ? {} : { etag: now.etag });
      own.current = saved.etag ?? "";
      setProblem("");
      setDoc((d) => d && { ...d, stored: now.draft, etag: saved.etag ?? "", size: saved.size, conflict: "" });
    } catch (e) {
      if (hasChanged(e)) setDoc((d) => d && { ...d, conflict: "changed" });
      else setProblem(reasonOf(e));
    }
    setSaving(false);
  };
  const type = (draft: string): void => setDoc((d) => d && { ...d, draft });
  return { doc, problem, saving, read, save, type };
}

function Preview({ window: w, kind, name, text }: { window: WindowState; kind: FileKind; name: string; text: string }): ReactNode {
  const t = useTexts(texts);
  const table = useMemo(() => (kind === "csv" ? readCSV(text, name) : undefined), [kind, text, name]);
  if (table !== undefined) {
    return (
      <>
        {table.cut && <p className="files-note">{t.shortened(t.items(table.rows.length))}</p>}
        <TableView table={table} label={name} />
      </>
    );
  }
  if (kind === "page") return <AppFrame key={text} window={w} html={text} app={undefined} />;
  return (
    <div className="content-scroll" tabIndex={0} role="document" aria-label={name} data-content-state="ready">
      {kind === "notebook" ? (
        <Notebook text={text} />
      ) : kind === "markdown" && text.length <= mostFormatted ? (
        <div className="content-document">
          <MarkdownView text={text} />
        </div>
      ) : (
        <pre className="content-text">{text}</pre>
      )}
    </div>
  );
}
