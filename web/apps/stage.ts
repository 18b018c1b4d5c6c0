// The page that shows an HTML document of an agent. It has an opaque origin and no network. It gets one port from the
// desktop, writes the document into itself, and forwards the messages of the app in it.

import { blockNetwork } from "./block-network.js";
import { connect } from "./handshake.js";
import { renderPicture, staticCopy } from "./picture.js";
import type { PageMessage, PageRequest, PageResponse, StorageMessage } from "./protocol.js";
import { createStorage } from "./storage.js";

type Handler = (params?: unknown) => unknown;

/** The registration of an app. */
interface App {
  appId?: string;
  name?: string;
  state?: Record<string, { description?: string; schema?: unknown; handler?: Handler }>;
  commands?: Record<string, { description?: string; params?: unknown; returns?: unknown; handler?: Handler }>;
}

connect((begin, port) => showDocument(port, begin.text));

function showDocument(port: MessagePort, html: string): void {
  // document.open removes all listeners, so this page adds its own after it and before the first script of the
  // document.
  document.open();
  blockNetwork();
  const send = (what: PageMessage | PageResponse | object): void => port.postMessage(JSON.stringify(what));
  const app = installAppAPI(send);
  port.onmessage = (e) => {
    const request = JSON.parse(e.data as string) as PageRequest | StorageMessage;
    if (request.type === "everdesk:storage-result" || request.type === "everdesk:storage-changed") app.handleStorage(request);
    else if (request.type === "yaar:capture-request") void capture(request.requestId, send);
    else if (app.registered()) void respond(app.registered()!, request, send);
    else app.dispatch(request);
  };
  document.adoptedStyleSheets = [defaultSheet()];
  addEventListener("click", (e) => reportLink(e, send), true);
  addEventListener("auxclick", (e) => reportLink(e, send), true);
  document.write(/^\s*<!doctype/i.test(html) ? html : `<!doctype html>${html}`);
  document.close();
  send({ type: "everdesk:shown" });
}

/** The default style of a document. */
const defaultStyle = ":where(html) { font: 14px/1.5 system-ui, sans-serif; color: #16202e; } :where(body) { margin: 16px; }";

function defaultSheet(): CSSStyleSheet {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(defaultStyle);
  return sheet;
}

interface AppAPI {
  registered: () => App | undefined;
  dispatch: (asked: PageRequest) => void;
  handleStorage: (m: StorageMessage) => void;
}

/** Installs the API that apps expect: `yaar.app`, `yaar.storage`, and a parent to post messages to. */
function installAppAPI(send: (what: object) => void): AppAPI {
  let known: App | undefined;
  const { storage, handle } = createStorage(send);
  const parent = {
    postMessage: (what: object): void => send(what),
    get document(): never {
      throw new DOMException("Another origin's document is out of reach.", "SecurityError");
    },
  };
  Object.defineProperty(window, "parent", { value: parent, configurable: true });
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
  return {
    registered: () => known,
    handleStorage: handle,
    dispatch(request) {
      const event = new MessageEvent("message", { data: request });
      Object.defineProperty(event, "source", { value: parent });
      window.dispatchEvent(event);
    },
  };
}

type AppRequest = Exclude<PageRequest, { type: "yaar:capture-request" }>;

async function respond(app: App, request: AppRequest, send: (a: PageResponse) => void): Promise<void> {
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

async function capture(requestId: string, send: (a: PageResponse) => void): Promise<void> {
  const type = "yaar:capture-response";
  try {
    const copy = staticCopy(document.documentElement, true) as HTMLElement;
    copy.style.translate = `${-scrollX}px ${-scrollY}px`;
    copy.style.background ||= "#fff";
    const style = document.createElement("style");
    style.textContent = defaultStyle;
    copy.prepend(style);
    send({ type, requestId, imageData: await renderPicture(copy, innerWidth, innerHeight) });
  } catch (e) {
    send({ type, requestId, error: e instanceof Error ? e.message : String(e) });
  }
}

/** Reports a click on a link to the desktop, which asks the user before it opens the address. */
function reportLink(e: MouseEvent, send: (t: PageMessage) => void): void {
  const link = e.composedPath().find((at): at is HTMLAnchorElement => at instanceof HTMLAnchorElement && at.href !== "");
  const to = link?.getAttribute("href") ?? "";
  if (link === undefined || to.startsWith("#") || /^javascript:/i.test(link.href)) return;
  e.preventDefault();
  send({ type: "everdesk:leave", url: link.href });
}
