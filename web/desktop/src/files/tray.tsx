// The progress of uploads, and the hint while files are dragged over the page.

import "./tray.css";
import { Check, CircleAlert, X } from "lucide-react";
import { type ReactNode, useContext } from "react";
import { useStore } from "zustand";
import { useTexts } from "../i18n/use.js";
import type { Page } from "../shell/boot.js";
import { PageContext, ShellContext } from "../shell/context.js";
import { files as texts } from "../texts/files.js";
import { IconButton } from "../ui/button.js";
import { uploadsOf } from "./attach.js";
import { openFile } from "./open.js";
import { usePastes } from "./paste.js";
import { sizeText } from "./paths.js";
import { type Upload, unreadable } from "./uploads.js";

export function FileTray({ dropping }: { dropping: boolean }): ReactNode {
  const page = useContext(PageContext);
  return page === undefined ? null : <Tray page={page} dropping={dropping} />;
}

function Tray({ page, dropping }: { page: Page; dropping: boolean }): ReactNode {
  const t = useTexts(texts);
  const uploads = uploadsOf(page);
  usePastes(page);
  const list = useStore(uploads.store, (s) => s.uploads);
  return (
    <>
      {dropping && <div className="tray-drop">{t.dropHere}</div>}
      {list.length > 0 && (
        <section className="tray" aria-label={t.uploads}>
          <header>
            <h3>{t.uploads}</h3>
            <IconButton icon={X} size={14} label={t.clear} onClick={() => uploads.clear()} />
          </header>
          <ul>
            {list.map((u) => (
              <Row key={u.id} upload={u} onCancel={() => uploads.cancel(u.id)} />
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

function Row({ upload: u, onCancel }: { upload: Upload; onCancel: () => void }): ReactNode {
  const t = useTexts(texts);
  const { store, commands } = useContext(ShellContext)!;
  return (
    <li data-upload={u.state}>
      {u.state === "done" ? <Check size={14} aria-hidden /> : u.state === "failed" ? <CircleAlert size={14} aria-hidden /> : null}
      {u.state === "done" ? (
        <button type="button" className="tray-name tray-open" onClick={() => openFile(commands, store.getState(), u.path)}>
          {u.path}
        </button>
      ) : (
        <span className="tray-name">{u.name}</span>
      )}
      <span className="tray-state" role="status">
        {u.state === "failed" ? (u.problem === unreadable ? t.unreadable : u.problem) : u.state === "done" ? t.done : u.state === "offline" ? t.waiting : t.progress(sizeText(u.sent), sizeText(u.size))}
      </span>
      {u.state !== "done" && u.state !== "failed" && <progress max={Math.max(u.size, 1)} value={u.sent} aria-label={u.name} />}
      <IconButton icon={X} size={12} label={t.stop(u.name)} onClick={onCancel} />
    </li>
  );
}
