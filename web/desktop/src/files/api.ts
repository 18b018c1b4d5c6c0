// The requests about files of a session.

import type { SessionID } from "../../../core/src/index.js";
import { ApiError } from "../shell/api.js";
import { fileURL } from "./paths.js";

/** A file or folder as the hub lists it. */
export interface FileEntry {
  path: string;
  isDirectory: boolean;
  size: number;
  modifiedAt: string;
  etag?: string;
}

/** The state of an upload in pieces. */
export interface UploadState {
  id: string;
  path: string;
  size: number;
  offset: number;
  file?: FileEntry;
}

/** A text with the tag of its version. */
export interface FileText {
  text: string;
  etag: string;
  /** The size of the whole file, of which the text may be the beginning. */
  size: number;
}

export class FilesApi {
  private readonly home: string;
  private readonly session: SessionID;

  constructor(session: SessionID) {
    this.session = session;
    this.home = `/api/sessions/${encodeURIComponent(session)}`;
  }

  list = async (): Promise<FileEntry[]> => ((await (await this.ask("GET", "/files?all=true")).json()) as { files: FileEntry[] }).files;

  /** The first `most` bytes of a file. */
  async read(path: string, most: number): Promise<{ data: ArrayBuffer; etag: string; size: number }> {
    const r = await fetch(fileURL(this.session, path), { headers: { Range: `bytes=0-${most - 1}` }, cache: "no-store" });
    if (r.status === 416) return { data: new ArrayBuffer(0), etag: unquote(r.headers.get("ETag")), size: 0 }; // an empty file
    if (!r.ok) throw await problemOf(r);
    const data = await r.arrayBuffer();
    const whole = /\/(\d+)$/.exec(r.headers.get("Content-Range") ?? "")?.[1];
    return { data, etag: unquote(r.headers.get("ETag")), size: whole === undefined ? data.byteLength : Number(whole) };
  }

  /** Stores a file. With an ETag it must be that of the stored file; else the status is 412. */
  async write(path: string, body: Blob | string, condition: { etag?: string; absent?: boolean }): Promise<FileEntry> {
    const headers: Record<string, string> = { "Content-Type": "application/octet-stream" };
    if (condition.etag !== undefined) headers["If-Match"] = `"${condition.etag}"`;
    if (condition.absent === true) headers["If-None-Match"] = "*";
    const r = await fetch(fileURL(this.session, path), { method: "PUT", headers, body });
    if (!r.ok) throw await problemOf(r);
    return (await r.json()) as FileEntry;
  }

  /** Opens a window with a notebook file, in which its cells can run. */
  openNotebook = async (file: BodyInit, windowId: string, monitorId: string, title: string): Promise<void> => {
    const query = new URLSearchParams({ monitor: monitorId, title }).toString();
    const r = await fetch(`${this.home}/notebooks/${encodeURIComponent(windowId)}?${query}`, {
      method: "PUT",
      headers: { "Content-Type": "application/x-ipynb+json" },
      body: file,
    });
    if (!r.ok) throw await problemOf(r);
  };

  move = async (from: string, to: string): Promise<FileEntry> => (await (await this.ask("POST", "/file-moves", { from, to })).json()) as FileEntry;

  /** Deletes a file or folder; returns the URL that undoes it. */
  async remove(path: string): Promise<string> {
    const r = await fetch(fileURL(this.session, path), { method: "DELETE" });
    if (!r.ok) throw await problemOf(r);
    return r.headers.get("Location") ?? "";
  }

  async restore(url: string): Promise<FileEntry> {
    const r = await fetch(url, { method: "POST" });
    if (!r.ok) throw await problemOf(r);
    return (await r.json()) as FileEntry;
  }

  startUpload = async (path: string, size: number, key: string): Promise<UploadState> => (await (await this.ask("POST", "/uploads", { path, size, key }, { "If-None-Match": "*" })).json()) as UploadState;
  uploadState = async (id: string): Promise<UploadState> => (await (await this.ask("GET", `/uploads/${encodeURIComponent(id)}`)).json()) as UploadState;
  cancelUpload = async (id: string): Promise<unknown> => this.ask("DELETE", `/uploads/${encodeURIComponent(id)}`);

  /** Sends the next piece. A conflict is no error: the state says where to go on. */
  async sendPiece(id: string, offset: number, piece: Blob, signal: AbortSignal): Promise<UploadState> {
    const headers = { "Content-Type": "application/octet-stream", "Upload-Offset": String(offset) };
    const r = await fetch(`${this.home}/uploads/${encodeURIComponent(id)}`, { method: "PATCH", headers, body: piece, signal });
    if (!r.ok && (r.status !== 409 || r.headers.get("Upload-Offset") === null)) throw await problemOf(r);
    return (await r.json()) as UploadState;
  }

  zipURL(folder: string): string {
    return `${this.home}/files.zip${folder === "" ? "" : `?folder=${encodeURIComponent(folder)}`}`;
  }

  private async ask(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
    const r = await fetch(this.home + path, {
      method,
      headers: body === undefined ? headers : { ...headers, "Content-Type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!r.ok) throw await problemOf(r);
    return r;
  }
}

function unquote(tag: string | null): string {
  return (tag ?? "").replaceAll('"', "");
}

async function problemOf(r: Response): Promise<ApiError> {
  const p = (await r.json().catch(() => ({}))) as { code?: number; detail?: string; title?: string };
  return new ApiError(r.status, p.code ?? 0, p.detail ?? p.title ?? `HTTP ${r.status}`);
}

/** Whether a write was refused because the file is another one by now. */
export function hasChanged(error: unknown): boolean {
  return error instanceof ApiError && error.status === 412;
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
