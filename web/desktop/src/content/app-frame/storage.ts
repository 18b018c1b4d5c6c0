// The data of an app, which its page reads and writes through the desktop. The page itself has no network.

import { useEffect, useRef } from "react";
import type { StorageRequest } from "../../../../apps/protocol.js";
import type { HubEvent, SessionID } from "../../../../core/src/index.js";
import { ApiError, problemOf } from "../../shell/api.js";
import { useCommands, useEvents, useShell } from "../../shell/context.js";
import type { Channel } from "./channel.js";

/** The channel over which the frames of this browser notify each other of changed data, sooner than the hub does. */
const channelName = "everdesk-app-data";

interface Changed {
  app: string;
  name: string;
}

/** A file of an app's data. */
interface AppFile {
  text: string | null;
  version: string | null;
}

/** Reads, writes or deletes data of an app. A file that has not the given version any more is not written; null means that it must not exist. */
type AppData = (method: "GET" | "PUT" | "DELETE", path: string, body?: string, version?: string | null) => Promise<AppFile>;

function appDataOf(request: typeof fetch): AppData {
  return async (method, path, body, version) => {
    const condition: Record<string, string> = version === undefined ? {} : version === null ? { "If-None-Match": "*" } : { "If-Match": `"${version}"` };
    const r = await request(path, { method, ...(body === undefined ? {} : { body, headers: { "Content-Type": "application/octet-stream", ...condition } }) });
    if (!r.ok) throw await problemOf(r);
    return { text: r.status === 204 ? null : await r.text(), version: r.headers.get("ETag")?.replaceAll('"', "") ?? null };
  };
}

interface StorageResult {
  value: string | string[] | null;
  version?: string | null;
}

/** Executes a request of an app about its data. */
export async function runStorage(appData: AppData, session: SessionID, app: string, r: StorageRequest): Promise<StorageResult> {
  const folder = `/api/sessions/${encodeURIComponent(session)}/app-data/${app}`;
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

/** Answers the requests of an app about its data, and notifies it of changes by other tabs, on any device, and by agents. */
export function useAppStorage(app: string | undefined, channel: { current: Channel | undefined }): (r: StorageRequest) => void {
  const { api } = useCommands();
  const session = useShell((s) => s.session);
  const others = useRef<BroadcastChannel>(undefined);
  useEffect(() => {
    if (app === undefined) return;
    const c = new BroadcastChannel(channelName);
    c.onmessage = (e: MessageEvent<Changed>) => {
      if (e.data.app === app) channel.current?.send({ type: "everdesk:storage-changed", name: e.data.name });
    };
    others.current = c;
    return () => c.close();
  }, [app, channel]);
  useEvents((e) => {
    if (app === undefined) return;
    if (refreshesApps(e)) channel.current?.send({ type: "everdesk:storage-changed", name: "" });
    for (const name of changedFiles(e, app)) channel.current?.send({ type: "everdesk:storage-changed", name });
  });
  return (r) => {
    const answer = (result: Partial<StorageResult> & { error?: string; conflict?: boolean }): void =>
      channel.current?.send({ type: "everdesk:storage-result", call: r.call, ...result });
    if (app === undefined) return answer({ error: "this window shows no app, so that it has no storage" });
    runStorage(appDataOf(api.fetch), session, app, r).then(
      (result) => {
        answer(result);
        if (r.op === "save" || r.op === "remove") others.current?.postMessage({ app, name: r.name } satisfies Changed);
      },
      (e: unknown) => answer({ error: e instanceof Error ? e.message : String(e), ...(e instanceof ApiError && e.status === 412 ? { conflict: true } : {}) }),
    );
  };
}

/** Whether an event says that apps or their data have changed. */
export function refreshesApps(e: HubEvent): boolean {
  return e.type === "ACTIONS" && e.data.actions.some((a) => a.type === "desktop.refreshApps");
}

/** The files of an app that an event says have changed. */
export function changedFiles(e: HubEvent, app: string): string[] {
  const prefix = `appData/${app}/`;
  return e.type === "SETTINGS_CHANGED" ? (e.data.names ?? []).filter((n) => n.startsWith(prefix)).map((n) => n.slice(prefix.length)) : [];
}
