// Paths of files of the session, their addresses and kinds. Pure.

import type { SessionID } from "../../../core/src/index.js";

const encodePath = (path: string): string => path.split("/").map(encodeURIComponent).join("/");

/** The URL of a file on the hub. */
export function fileURL(session: SessionID, path: string): string {
  return `/api/sessions/${encodeURIComponent(session)}/files/${encodePath(path)}`;
}

/** The address of a file or, with a slash at its end, of a folder in the content of a window. */
export function addressOf(path: string): string {
  return `/files/${encodePath(path)}`;
}

/** The path of the file that a URL of [fileURL] has; undefined for any other. */
export function pathOf(url: string, session: SessionID): string | undefined {
  const home = `/api/sessions/${encodeURIComponent(session)}/files/`;
  if (!url.startsWith(home)) return undefined;
  try {
    return decodeURIComponent(url.slice(home.length));
  } catch {
    return undefined;
  }
}

/** The folder that an address of a window has: "" for all files; undefined if it is no folder. */
export function folderOf(address: string): string | undefined {
  const found = /^\/files\/((?:[^\\?#\s]+\/)?)$/.exec(address);
  if (found === null) return undefined;
  try {
    return decodeURIComponent(found[1]!.slice(0, -1));
  } catch {
    return undefined;
  }
}

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** The folder that a file is in; "" for the top. */
export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

export function joinPath(folder: string, name: string): string {
  return folder === "" ? name : `${folder}/${name}`;
}

export type FileKind = "markdown" | "csv" | "picture" | "pdf" | "audio" | "video" | "notebook" | "page" | "text" | "other";

const kinds: [RegExp, FileKind][] = [
  [/\.(?:md|markdown)$/i, "markdown"],
  [/\.(?:csv|tsv)$/i, "csv"],
  [/\.(?:png|jpe?g|gif|webp|avif)$/i, "picture"],
  [/\.pdf$/i, "pdf"],
  [/\.(?:mp3|ogg|wav)$/i, "audio"],
  [/\.(?:mp4|webm)$/i, "video"],
  [/\.ipynb$/i, "notebook"],
  [/\.(?:html?|xhtml|svg)$/i, "page"],
  [/\.(?:zip|gz|tgz|bz2|xz|zst|7z|rar|tar|exe|dll|so|bin|iso|dmg|docx?|xlsx?|pptx?|odt|ods|woff2?|ttf|otf|ico|bmp|tiff?|heic|mov|avi|mkv|flac|m4a|wasm|sqlite|db|parquet|npy|pkl)$/i, "other"],
];

/** How a file is shown, by its name. What turns out to be no text is offered as a download. */
export function kindOf(path: string): FileKind {
  return kinds.find(([name]) => name.test(path))?.[1] ?? "text";
}

/** A size for people, such as 1.4 MB. */
export function sizeText(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let n = bytes;
  let unit = 0;
  while (n >= 1000 && unit < units.length - 1) {
    n /= 1000;
    unit++;
  }
  return `${unit === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)} ${units[unit]}`;
}

/** A path that is not taken: the path itself, or one with a number. */
export function freePath(path: string, taken: ReadonlySet<string>): string {
  const name = baseName(path);
  const dot = name.lastIndexOf(".") > 0 ? path.length - name.length + name.lastIndexOf(".") : path.length;
  for (let n = 1; ; n++) {
    const next = n === 1 ? path : `${path.slice(0, dot)} (${n})${path.slice(dot)}`;
    if (!taken.has(next)) return next;
  }
}

/** The name that the hub accepts for a file of the user's machine. */
export function safeName(name: string): string {
  const plain = name.replaceAll(/[\u0000-\u001f\u007f-\u009f\\/]/g, "_").replace(/^(.):/, "$1_");
  return plain === "" || /^\.{1,2}$/.test(plain) || plain === ".partial" ? `_${plain}` : plain.slice(0, 200);
}
