// The data of an app, which its page reads and writes through the desktop. The page itself has no network.

import { useEffect, useRef } from "react";
import { appDataOf, runStorage, type StorageResult } from "../../../../apps/data.js";
import type { StorageRequest } from "../../../../apps/protocol.js";
import type { HubEvent } from "../../../../core/src/index.js";
import { ApiError, problemOf } from "../../shell/api.js";
import { useCommands, useEvents, useShell } from "../../shell/context.js";
import type { Channel } from "./channel.js";

/** The channel over which the frames of this browser notify each other of changed data, sooner than the hub does. */
const channelName = "everdesk-app-data";

interface Changed {
  app: string;
  name: string;
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
    runStorage(appDataOf(api.fetch, problemOf), `/api/sessions/${encodeURIComponent(session)}/app-data/${app}`, r).then(
      (result) => {
        answer(result);
        if (r.op === "save" || r.op === "remove") others.current?.postMessage({ app, name: r.name } satisfies Changed);
      },
      (e: unknown) => answer({ error: e instanceof Error ? e.message : String(e), ...(e instanceof ApiError && e.status === 412 ? { conflict: true } : {}) }),
    );
  };
}

/** Whether an event says that apps or their data have changed, in this session or in another one of the user. */
export function refreshesApps(e: HubEvent): boolean {
  if (e.type === "SETTINGS_CHANGED") return e.data.names?.some((n) => /^appData\/[^/]+\/$/.test(n)) === true;
  return e.type === "ACTIONS" && e.data.actions.some((a) => a.type === "desktop.refreshApps");
}

/** The files of an app that an event says have changed. */
export function changedFiles(e: HubEvent, app: string): string[] {
  const prefix = `appData/${app}/`;
  return e.type === "SETTINGS_CHANGED" ? (e.data.names ?? []).filter((n) => n.startsWith(prefix) && n !== prefix).map((n) => n.slice(prefix.length)) : [];
}
