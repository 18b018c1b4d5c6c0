// A file of the session as it was at a moment of the film, from the last saved state before that.

import { AppWindow } from "lucide-react";
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from "react";
import { Card } from "../content/card.js";
import { Markdown } from "../content/index.js";
import { TableView } from "../content/table.js";
import { textOf } from "../files/bytes.js";
import { readCSV } from "../files/csv.js";
import { baseName, kindOf } from "../files/paths.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { useShell } from "../shell/context.js";
import { film as texts } from "../texts/film.js";
import { savedFileURL } from "./load.js";
import type { Mark } from "./timeline.js";

/** The mark whose saved state has the files of the shown moment; undefined if there is none. */
export const FilmFiles = createContext<Mark | undefined>(undefined);

/** The kinds that are drawn; the others need the original. */
const drawn: ReadonlySet<string> = new Set(["markdown", "csv", "text", "picture"]);
/** The longest text that is drawn, in bytes. */
const mostText = 256 << 10;

export function FileStill({ path }: { path: string }): ReactNode {
  const mark = useContext(FilmFiles);
  return mark?.hash === undefined || !drawn.has(kindOf(path)) ? <Outside title={baseName(path)} /> : <Saved path={path} hash={mark.hash} time={mark.time} />;
}

/** What the film cannot show. */
export function Outside({ title }: { title: string }): ReactNode {
  const t = useTexts(texts);
  return (
    <Card icon={AppWindow} title={title}>
      <p>{t.outside}</p>
    </Card>
  );
}

function Saved({ path, hash, time }: { path: string; hash: string; time: number }): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  const session = useShell((s) => s.session);
  const url = savedFileURL(session, hash, path);
  const picture = kindOf(path) === "picture";
  const [read, setRead] = useState<{ url: string; text: string | undefined }>();
  useEffect(() => {
    if (picture) return;
    const stop = new AbortController();
    readText(url, stop.signal).then(
      (text) => setRead({ url, text }),
      () => stop.signal.aborted || setRead({ url, text: undefined }),
    );
    return () => stop.abort();
  }, [url, picture]);
  const now = read?.url === url ? read : undefined;
  if (now !== undefined && now.text === undefined) return <Outside title={baseName(path)} />;
  return (
    <div className="film-file" data-film-file={path}>
      <p className="film-note">{t.savedAt(format.moment(time))}</p>
      {picture ? <img src={url} alt={baseName(path)} /> : now?.text !== undefined && <Drawn path={path} text={now.text} />}
    </div>
  );
}

/** The text of a file; undefined if it has none that can be drawn. */
async function readText(url: string, signal: AbortSignal): Promise<string | undefined> {
  const r = await fetch(url, { signal, headers: { Range: `bytes=0-${mostText - 1}` } });
  if (r.status === 416) return ""; // an empty file
  if (!r.ok) return undefined;
  const size = Number(/\/(\d+)$/.exec(r.headers.get("Content-Range") ?? "")?.[1] ?? 0);
  return textOf(await r.arrayBuffer(), size > mostText);
}

function Drawn({ path, text }: { path: string; text: string }): ReactNode {
  const kind = kindOf(path);
  const table = useMemo(() => (kind === "csv" ? readCSV(text, path) : undefined), [kind, text, path]);
  if (table !== undefined) return <TableView table={table} label={baseName(path)} />;
  return kind === "markdown" ? <Markdown text={text} /> : <pre className="content-text">{text}</pre>;
}
