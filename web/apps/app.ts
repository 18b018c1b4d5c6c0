// The registration of an app in its page, and what the page answers to the desktop.

import { renderPicture, staticCopy } from "./picture.js";
import type { PageMessage, PageRequest, PageResponse } from "./protocol.js";
import type { AppStorage } from "./storage.js";

type Handler = (params?: unknown) => unknown;

/** The registration of an app. */
export interface App {
  appId?: string;
  name?: string;
  state?: Record<string, { description?: string; schema?: unknown; handler?: Handler }>;
  commands?: Record<string, { description?: string; params?: unknown; returns?: unknown; handler?: Handler }>;
}

/** Installs the API that apps expect: `yaar.app` and `yaar.storage`. Returns a function that returns the app once it has registered. */
export function installYaar(send: (what: PageMessage) => void, storage: AppStorage): () => App | undefined {
  let known: App | undefined;
  Object.defineProperty(window, "yaar", {
    configurable: true,
    value: {
      app: {
        register(app: App): void {
          known = app;
          send({ type: "yaar:app-ready", appId: app.appId });
        },
        sendInteraction(what: unknown): void {
          send({ type: "yaar:app-interaction", content: typeof what === "string" ? what : JSON.stringify(what) });
        },
      },
      storage,
    },
  });
  return () => known;
}

export type AppRequest = Exclude<PageRequest, { type: "yaar:capture-request" }>;

/** Answers a request of the desktop to an app. */
export async function respond(app: App, request: AppRequest, send: (a: PageResponse) => void): Promise<void> {
  const { requestId } = request;
  const type = request.type.replace("-request", "-response") as PageResponse["type"];
  try {
    send({ type, requestId, ...(await callApp(app, request)) });
  } catch (e) {
    send({ type, requestId, error: e instanceof Error ? e.message : String(e) });
  }
}

async function callApp(app: App, request: AppRequest): Promise<Pick<PageResponse, "manifest" | "data" | "result">> {
  switch (request.type) {
    case "yaar:app-manifest-request":
      return { manifest: { appId: app.appId, name: app.name, state: withoutHandlers(app.state), commands: withoutHandlers(app.commands) } };
    case "yaar:app-query-request": {
      const handler = ownEntry(app.state, request.stateKey)?.handler;
      if (handler === undefined) throw new Error(`unknown state "${request.stateKey}"`);
      return { data: await handler() };
    }
    case "yaar:app-command-request": {
      const handler = ownEntry(app.commands, request.command)?.handler;
      if (handler === undefined) throw new Error(`unknown command "${request.command}"`);
      return { result: await handler(request.params ?? {}) };
    }
  }
}

function ownEntry<T>(table: Record<string, T> | undefined, key: string): T | undefined {
  return table !== undefined && Object.hasOwn(table, key) ? table[key] : undefined;
}

/** The entries of a manifest without their handlers. */
function withoutHandlers(table: Record<string, { handler?: Handler }> | undefined): object {
  return Object.fromEntries(Object.entries(table ?? {}).map(([key, { handler: _, ...rest }]) => [key, rest]));
}

/** Answers the request for a picture of the page. `style` is the default style of the document, as text. */
export async function capture(requestId: string, style: string, send: (a: PageResponse) => void): Promise<void> {
  const type = "yaar:capture-response";
  try {
    const copy = staticCopy(document.documentElement, true) as HTMLElement;
    copy.style.translate = `${-scrollX}px ${-scrollY}px`;
    copy.style.background ||= "#fff";
    const sheet = document.createElement("style");
    sheet.textContent = style;
    copy.prepend(sheet);
    send({ type, requestId, imageData: await renderPicture(copy, innerWidth, innerHeight) });
  } catch (e) {
    send({ type, requestId, error: e instanceof Error ? e.message : String(e) });
  }
}
