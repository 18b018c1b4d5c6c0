// What an address in the content of an agent is: content may name anything, and only what is listed here is loaded.

import type { SessionID } from "../../../core/src/index.js";

/** Where the files of any session are, as content may name them; `/files/` and `/api/storage/` are short for its own. */
const filePath = /^\/(?:api\/sessions\/[^/]+\/files|files|api\/storage)\/./;

/** Pictures that are in the address itself. */
const pictureData = /^data:image\/(?:png|jpeg|gif|webp);/i;

/** Whether an address has the form of a file of ours or is a picture by itself: all that a `src` may be. */
export function mayBeSource(src: string): boolean {
  return pictureData.test(src) || /^blob:/i.test(src) || filePath.test(src);
}

/** The path at the hub of a file of this session, or undefined when the address is something else. */
export function ownFile(address: string, session: SessionID): string | undefined {
  // What a path hides, such as the way up, shows when it is read as browsers read it.
  if (!filePath.test(address) || /[\\?#\s]/.test(address)) return undefined;
  let path: string;
  try {
    path = new URL(address, "http://hub.invalid").pathname;
  } catch {
    return undefined;
  }
  const home = `/api/sessions/${encodeURIComponent(session)}/files/`;
  if (/(?:^|\/)\.{1,2}(?:\/|$)/.test(address) || /%2f|%5c|%2e%2e/i.test(address)) return undefined;
  for (const short of ["/files/", "/api/storage/"]) if (path.startsWith(short)) return home + path.slice(short.length);
  return path.startsWith(home) ? path : undefined;
}

/** What to load for a picture, or undefined when it must not be loaded. */
export function pictureSource(src: string, session: SessionID): string | undefined {
  return pictureData.test(src) || /^blob:/i.test(src) ? src : ownFile(src, session);
}

/** The name of where an address leads, for people. */
export function hostOf(address: string): string {
  try {
    const url = new URL(address, "http://hub.invalid");
    return url.host === "hub.invalid" || url.host === "" ? address.slice(0, 80) : url.host;
  } catch {
    return address.slice(0, 80);
  }
}

/** An address that can be opened outside of the desktop, written in full; undefined for everything else. */
export function outside(address: string): string | undefined {
  try {
    const url = new URL(address);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : undefined;
  } catch {
    return undefined;
  }
}

/** How the text of a file is shown, by its name. */
export function fileKind(path: string): "picture" | "document" | "text" {
  if (/\.(?:png|jpe?g|gif|webp|avif)$/i.test(path)) return "picture";
  return /\.(?:html?|xhtml|svg)$/i.test(path) ? "document" : "text";
}
