// The data of an app, which its page reads and writes through the desktop. The page itself has no network.

import { useEffect, useRef } from "react";
import type { StorageRequest } from "../../../../apps/protocol.js";
import type { HubEvent, SessionID } from "../../../../core/src/index.js";
import type { Api } from "../../shell/api.js";
import { useCommands, useEvents, useShell } from "../../shell/context.js";
import type { Channel } from "./channel.js";

/** The channel over which the frames of this browser tell each other of changed data. */
const channelName = "everdesk-app-data";

interface Changed {
  app: string;
  name: string;
}

/** Executes a request of an app about its data. */
export async function runStorage(api: Pick<Api, "appData">, session: SessionID, app: string, r: StorageRequest): Promise<string | string[] | null> {
  const folder = `/api/sessions/${encodeURIComponent(session)}/app-data/${app}`;
  const parts = r.name.split("/");
  // Browsers resolve "..", so that a name could lead to any other path of the hub.
  if (r.op !== "list" && parts.some((p) => /^\.{0,2}$/.test(p))) throw new Error("the name of the file is invalid");
  const path = `${folder}/${parts.map(encodeURIComponent).join("/")}`;
  switch (r.op) {
    case "list":
      return (JSON.parse((await api.appData("GET", folder)) ?? "") as { files: string[] }).files;
    case "save":
      await api.appData("PUT", path, r.text);
      return null;
    case "remove":
      await api.appData("DELETE", path);
      return null;
    default:
      // Without the parameter a missing file would be an error, which browsers write to the console.
      return api.appData("GET", `${path}?optional=true`);
  }
}

/** Answers the requests of an app about its data, and tells it of changes by other tabs and by agents. */
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
    if (app !== undefined && refreshesApps(e)) channel.current?.send({ type: "everdesk:storage-changed", name: "" });
  });
  return (r) => {
    const answer = (result: { value?: string | string[] | null; error?: string }): void =>
      channel.current?.send({ type: "everdesk:storage-result", call: r.call, ...result });
    if (app === undefined) return answer({ error: "this window shows no app, so that it has no storage" });
    runStorage(api, session, app, r).then(
      (value) => {
        answer({ value });
        if (r.op === "save" || r.op === "remove") others.current?.postMessage({ app, name: r.name } satisfies Changed);
      },
      (e: unknown) => answer({ error: e instanceof Error ? e.message : String(e) }),
    );
  };
}

/** Whether an event says that apps or their data have changed. */
export function refreshesApps(e: HubEvent): boolean {
  return e.type === "ACTIONS" && e.data.actions.some((a) => a.type === "desktop.refreshApps");
}
