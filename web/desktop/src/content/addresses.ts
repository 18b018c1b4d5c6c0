// Classifies addresses in the content of agents. Content may name any address; only the kinds listed here are loaded.

import type { SessionID } from "../../../core/src/index.js";

/**
 * The paths of files of any session, as content may write them; `/files/` and `/api/storage/` are short for the files
 * of the own session, `/api/apps/` and `/api/sandbox/` for the apps of its owner.
 */
const filePath = /^\/(?:api\/sessions\/[^/]+\/files|files|api\/storage|api\/apps\/[a-z0-9-]+|api\/sandbox\/[0-9]+)\/./;

/** Pictures inside the address itself. */
const pictureData = /^data:image\/(?:png|jpeg|gif|webp);/i;

/**
 * Whether an address may be a `src`: a picture inside the address, a blob, or a path of the form of a session's file.
 */
export function isAllowedSource(src: string): boolean {
  return pictureData.test(src) || /^blob:/i.test(src) || filePath.test(src);
}

/** The path on the hub of a file of this session; undefined for any other address. */
export function ownFile(address: string, session: SessionID): string | undefined {
  // Parsing the address as browsers do reveals a path that leaves the folder.
  if (!filePath.test(address) || /[\\?#\s]/.test(address)) return undefined;
  let path: string;
  try {
    path = new URL(address, "http://hub.invalid").pathname;
  } catch {
    return undefined;
  }
  const home = `/api/sessions/${encodeURIComponent(session)}/files/`;
  if (/(?:^|\/)\.{1,2}(?:\/|$)/.test(address) || /%2f|%5c|%2e%2e/i.test(address)) return undefined;
  const owners = { "/api/apps/": "apps", "/api/sandbox/": "sandboxes" };
  for (const [short, folder] of Object.entries(owners)) {
    if (path.startsWith(short)) return `/api/sessions/${encodeURIComponent(session)}/${folder}/${path.slice(short.length)}`;
  }
  for (const short of ["/files/", "/api/storage/"]) if (path.startsWith(short)) return home + path.slice(short.length);
  return path.startsWith(home) ? path : undefined;
}

/** The id of the app that an address opens; undefined for any other address. */
export function appOf(address: string): string | undefined {
  return /^\/api\/apps\/([a-z0-9-]+)\/[^?#\\]+$/.exec(address)?.[1];
}

/** The address to load for a picture; undefined if it must not be loaded. */
export function pictureSource(src: string, session: SessionID): string | undefined {
  return pictureData.test(src) || /^blob:/i.test(src) ? src : ownFile(src, session);
}

/** The host of an address, for display. */
export function hostOf(address: string): string {
  try {
    const url = new URL(address, "http://hub.invalid");
    return url.host === "hub.invalid" || url.host === "" ? address.slice(0, 80) : url.host;
  } catch {
    return address.slice(0, 80);
  }
}

/** The full form of an address that may be opened in a new tab; undefined for every other address. */
export function externalURL(address: string): string | undefined {
  try {
    const url = new URL(address);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : undefined;
  } catch {
    return undefined;
  }
}

/** How a file is displayed, by its name. */
export function fileKind(path: string): "picture" | "document" | "text" {
  if (/\.(?:png|jpe?g|gif|webp|avif)$/i.test(path)) return "picture";
  return /\.(?:html?|xhtml|svg)$/i.test(path) ? "document" : "text";
}
