// Executes the requests of an app about its data with the HTTP API of the hub.

import type { StorageRequest } from "./protocol.js";

/** A file of an app's data. */
export interface AppFile {
  text: string | null;
  version: string | null;
}

/** Reads, writes or deletes data of an app. A file that has not the given version any more is not written; null means that it must not exist. */
export type AppData = (method: "GET" | "PUT" | "DELETE", path: string, body?: string, version?: string | null) => Promise<AppFile>;

/** Returns the data of an app behind a function that sends requests. `failure` makes the error of a response. */
export function appDataOf(request: typeof fetch, failure: (r: Response) => Promise<Error>): AppData {
  return async (method, path, body, version) => {
    const condition: Record<string, string> = version === undefined ? {} : version === null ? { "If-None-Match": "*" } : { "If-Match": `"${version}"` };
    const r = await request(path, { method, ...(body === undefined ? {} : { body, headers: { "Content-Type": "application/octet-stream", ...condition } }) });
    if (!r.ok) throw await failure(r);
    return { text: r.status === 204 ? null : await r.text(), version: r.headers.get("ETag")?.replaceAll('"', "") ?? null };
  };
}

export interface StorageResult {
  value: string | string[] | null;
  version?: string | null;
}

/** Executes a request of an app about its data, whose address is `folder`. */
export async function runStorage(appData: AppData, folder: string, r: StorageRequest): Promise<StorageResult> {
  const parts = r.name.split("/");
  // Browsers resolve "..", so that a name could lead to any other path of the hub.
  if (r.op !== "list" && parts.some((p) => /^\.{0,2}$/.test(p))) throw new Error("the name of the file is invalid");
  const path = `${folder}/${parts.map(encodeURIComponent).join("/")}`;
  switch (r.op) {
    case "list":
      return { value: (JSON.parse((await appData("GET", folder)).text ?? "") as { files: string[] }).files };
    case "save":
      return { value: null, version: (await appData("PUT", path, r.text, r.version)).version };
    case "remove":
      await appData("DELETE", path);
      return { value: null, version: null };
    default: {
      // Without the parameter a missing file would be an error, which browsers write to the console.
      const { text, version } = await appData("GET", `${path}?optional=true`);
      return { value: text, version };
    }
  }
}
