// The Files window: all files of the session, with what can be done to them.

import "./files.css";
import { ArrowLeft, Download, File, FileAudio, FileCode, FileImage, FileText, FileVideo, Folder, type LucideIcon, PackageOpen, Pencil, Table2, Trash2, Upload } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useContext, useMemo, useRef, useState } from "react";
import { type App, useApps } from "../canvas/apps.js";
import { useFormat, useTexts } from "../i18n/use.js";
import type { Page } from "../shell/boot.js";
import { PageContext, ShellContext, useCommands, useShell } from "../shell/context.js";
import { files as texts } from "../texts/files.js";
import { Button, IconButton } from "../ui/button.js";
import { Modal } from "../ui/modal.js";
import { type FileEntry, reasonOf } from "./api.js";
import { uploadsOf } from "./attach.js";
import { listOf, useKnownFiles } from "./known.js";
import { openFile } from "./open.js";
import { OpenWith, openersOf, openWith } from "./open-with.js";
import { baseName, type FileKind, fileURL, joinPath, kindOf, parentOf, sizeText } from "./paths.js";

const icons: Record<FileKind, LucideIcon> = {
  markdown: FileText,
  csv: Table2,
  picture: FileImage,
  pdf: FileText,
  audio: FileAudio,
  video: FileVideo,
  notebook: FileCode,
  page: FileCode,
  text: FileText,
  other: File,
};

export function FilesView({ folder }: { folder: string }): ReactNode {
  const page = useContext(PageContext);
  return page === undefined ? null : <Browser page={page} begin={folder} />;
}

/** The entries of a folder: folders first, then files, both by name. */
export function entriesIn(folder: string, all: readonly FileEntry[]): FileEntry[] {
  const found = new Map<string, FileEntry>();
  for (const f of all) {
    if (folder !== "" && !f.path.startsWith(`${folder}/`)) continue;
    const [name, ...deeper] = f.path.slice(folder === "" ? 0 : folder.length + 1).split("/");
    const path = joinPath(folder, name!);
    if (deeper.length === 0) found.set(path, f);
    else if (!found.has(path)) found.set(path, { path, isDirectory: true, size: 0, modifiedAt: f.modifiedAt });
  }
  const order = new Intl.Collator(undefined, { numeric: true });
  return [...found.values()].sort((a, b) => Number(b.isDirectory) - Number(a.isDirectory) || order.compare(a.path, b.path));
}

function Browser({ page, begin }: { page: Page; begin: string }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const list = listOf(page);
  const known = useKnownFiles();
  const apps = useApps();
  const [folder, setFolder] = useState(begin);
  const [renaming, setRenaming] = useState<FileEntry>();
  const [deleted, setDeleted] = useState<{ path: string; undo: string }>();
  const [problem, setProblem] = useState("");
  const picker = useRef<HTMLInputElement>(null);
  const rows = useRef<HTMLUListElement>(null);
  const entries = useMemo(() => entriesIn(folder, known.files), [folder, known.files]);
  const attempt = (work: () => Promise<void>): void => {
    setProblem("");
    work().catch((e: unknown) => setProblem(reasonOf(e)));
    list.readSoon();
  };
  const remove = (e: FileEntry): void =>
    attempt(async () => {
      setDeleted({ path: e.path, undo: await list.api.remove(e.path) });
      list.readSoon();
    });
  const undo = (): void => {
    const last = deleted!;
    setDeleted(undefined);
    attempt(async () => commands.notify(t.restored((await list.api.restore(last.undo)).path), "success"));
  };
  const press = (e: KeyboardEvent<HTMLUListElement>): void => {
    const all = [...(rows.current?.querySelectorAll<HTMLElement>("[data-entry]") ?? [])];
    const at = all.findIndex((row) => row.contains(document.activeElement));
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[e.key];
    const entry = entries[at];
    if (to !== undefined && all[to] !== undefined) all[to].querySelector<HTMLElement>("button")?.focus();
    else if (e.key === "Delete" && entry !== undefined) remove(entry);
    else if (e.key === "F2" && entry !== undefined) setRenaming(entry);
    else if (e.key === "Backspace" && folder !== "") setFolder(parentOf(folder));
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  return (
    <div className="files-window" data-files-folder={folder} data-content-state={known.ready ? "ready" : "loading"}>
      <div className="files-bar">
        {folder !== "" && <IconButton icon={ArrowLeft} label={t.top} onClick={() => setFolder(parentOf(folder))} />}
        <span className="files-path" title={folder}>
          {folder === "" ? t.top : folder}
        </span>
        <span className="files-state">{t.items(known.files.filter((f) => !f.isDirectory).length)}</span>
        <IconButton icon={Upload} label={t.upload} onClick={() => picker.current?.click()} />
        <a className="icon-button" href={list.api.zipURL(folder)} download aria-label={t.downloadAll} title={t.downloadAll}>
          <PackageOpen size={16} aria-hidden />
        </a>
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          onChange={(e) => {
            void uploadsOf(page).add([...e.target.files!], folder);
            e.target.value = "";
          }}
        />
      </div>
      {deleted !== undefined && (
        <div className="files-undo" role="status">
          <span>{t.deleted(baseName(deleted.path))}</span>
          <Button size="sm" onClick={undo}>
            {t.undo}
          </Button>
        </div>
      )}
      {(problem !== "" || known.problem !== "") && (
        <div className="files-conflict" role="alert">
          <span>{t.failed(problem || known.problem)}</span>
          <Button size="sm" onClick={() => attempt(() => list.read())}>
            {t.again}
          </Button>
        </div>
      )}
      <div className="content-scroll files-body">
        {known.ready && entries.length === 0 && <p className="files-note">{t.empty}</p>}
        {!known.ready && known.problem === "" && <p className="files-note">{t.loading}</p>}
        <ul ref={rows} className="files-list" aria-label={t.title} onKeyDown={press}>
          {entries.map((e) => (
            <Row key={e.path} entry={e} page={page} apps={apps} onEnter={() => setFolder(e.path)} onRename={() => setRenaming(e)} onRemove={() => remove(e)} />
          ))}
        </ul>
      </div>
      {renaming !== undefined && (
        <Rename
          entry={renaming}
          onClose={() => setRenaming(undefined)}
          onMove={(to) => {
            setRenaming(undefined);
            attempt(async () => {
              await list.api.move(renaming.path, to);
              list.readSoon();
            });
          }}
        />
      )}
    </div>
  );
}

interface RowProps {
  entry: FileEntry;
  page: Page;
  apps: readonly App[];
  onEnter: () => void;
  onRename: () => void;
  onRemove: () => void;
}

function Row({ entry: e, page, apps, onEnter, onRename, onRemove }: RowProps): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  const { store, commands } = useContext(ShellContext)!;
  const session = useShell((s) => s.session);
  const name = baseName(e.path);
  const open = (): void => {
    // What the desktop cannot show is opened with an app that can.
    const opener = kindOf(e.path) === "other" ? openersOf(e.path, apps)[0] : undefined;
    if (e.isDirectory) onEnter();
    else if (opener !== undefined) void openWith(page, e.path, opener);
    else openFile(commands, store.getState(), e.path);
  };
  const Icon = e.isDirectory ? Folder : icons[kindOf(e.path)];
  return (
    <li className="files-row" data-entry={e.path}>
      <button type="button" className="files-name" aria-label={t.open(name)} title={e.path} onClick={open}>
        <Icon size={16} aria-hidden />
        <span>{name}</span>
      </button>
      <span className="files-fact">{e.isDirectory ? "" : sizeText(e.size)}</span>
      <time className="files-fact files-time" dateTime={e.modifiedAt}>
        {format.moment(Date.parse(e.modifiedAt))}
      </time>
      {!e.isDirectory && <OpenWith path={e.path} apps={apps} />}
      <IconButton icon={Pencil} size={14} label={t.renameOf(name)} aria-keyshortcuts="F2" onClick={onRename} />
      {!e.isDirectory && (
        <a className="icon-button" href={`${fileURL(session, e.path)}?download=true`} download={name} aria-label={t.downloadOf(name)} title={t.downloadOf(name)}>
          <Download size={14} aria-hidden />
        </a>
      )}
      <IconButton icon={Trash2} size={14} label={t.removeOf(name)} aria-keyshortcuts="Delete" onClick={onRemove} />
    </li>
  );
}

function Rename({ entry, onClose, onMove }: { entry: FileEntry; onClose: () => void; onMove: (to: string) => void }): ReactNode {
  const t = useTexts(texts);
  const [to, setTo] = useState(entry.path);
  return (
    <Modal title={t.renameOf(baseName(entry.path))} closeLabel={t.close} onClose={onClose}>
      <form
        className="files-rename"
        onSubmit={(e) => {
          e.preventDefault();
          if (to.trim() === "" || to === entry.path) onClose();
          else onMove(to.trim());
        }}
      >
        <label>
          {t.newPath}
          <input value={to} onChange={(e) => setTo(e.target.value)} autoComplete="off" spellCheck={false} />
        </label>
        <p className="files-note">{t.renameHint}</p>
        <div className="files-actions">
          <Button onClick={onClose}>{t.cancel}</Button>
          <Button kind="primary" type="submit">
            {t.save}
          </Button>
        </div>
      </form>
    </Modal>
  );
}
