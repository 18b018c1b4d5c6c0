// The script that the hub writes into the page of an app for the frames of desktops of the desktop dialect. Such a desktop
// exchanges messages with the app directly, but does not store its data: the page does so itself, with a token that opens
// nothing else. The page has an opaque origin, so that the desktop cannot put a script into it.

import { type AppRequest, capture, installYaar, respond } from "./app.js";
import { blockNetwork } from "./block-network.js";
import { appDataOf, runStorage } from "./data.js";
import type { PageMessage, PageRequest, PageResponse, StorageMessage, StorageRequest } from "./protocol.js";
import { createStorage } from "./storage.js";

/** A response that is an error of the hub. */
class DataError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const desktop = window.parent;
const own = document.currentScript!;
const { data, token } = (own as HTMLScriptElement).dataset;
own.remove();
blockNetwork();

const appData = appDataOf(
  (path, init) => fetch(path, { ...init, credentials: "omit", headers: { ...init?.headers, Authorization: `Bearer ${token}` } }),
  async (r) => new DataError(r.status, ((await r.json().catch(() => ({}))) as { detail?: string }).detail ?? `the hub answered ${r.status}`),
);
const { storage, handle } = createStorage((request) => void execute(request).then(handle));
const send = (what: PageMessage | PageResponse): void => desktop.postMessage(what, "*");
const registered = installYaar(send, storage);

addEventListener("message", (e) => {
  const request = e.data as PageRequest | null;
  if (e.source !== desktop || typeof request?.requestId !== "string") return;
  if (request.type === "yaar:capture-request") void capture(request.requestId, "", send);
  else if (isAppRequest(request)) answer(request);
});
// Nothing notifies this page of changes, so it looks at the files that the app has used when the user comes back to it.
addEventListener("focus", () => handle({ type: "everdesk:storage-changed", name: "" }));

const appRequests: readonly string[] = ["yaar:app-manifest-request", "yaar:app-query-request", "yaar:app-command-request"] satisfies AppRequest["type"][];

function answer(request: AppRequest): void {
  const app = registered();
  if (app !== undefined) void respond(app, request, send);
  else send({ type: request.type.replace("-request", "-response") as PageResponse["type"], requestId: request.requestId, manifest: null, error: "the page has not registered an app" });
}

function isAppRequest(r: PageRequest): r is AppRequest {
  return appRequests.includes(r.type);
}

async function execute(r: StorageRequest): Promise<StorageMessage> {
  const type = "everdesk:storage-result";
  if (data === undefined) return { type, call: r.call, error: "this page may not use the data of the app" };
  try {
    return { type, call: r.call, ...(await runStorage(appData, data, r)) };
  } catch (e) {
    return { type, call: r.call, error: e instanceof Error ? e.message : String(e), ...(e instanceof DataError && e.status === 412 ? { conflict: true } : {}) };
  }
}
