// The page that shows an HTML document of an agent. It has an opaque origin and no network. It gets one port from the
// desktop, writes the document into itself, and forwards the messages of the app in it.

import { type App, capture, installYaar, respond } from "./app.js";
import { blockNetwork } from "./block-network.js";
import { connect } from "./handshake.js";
import type { PageMessage, PageRequest, PageResponse, StorageMessage } from "./protocol.js";
import { createStorage } from "./storage.js";

connect((begin, port) => {
  showDocument(port, begin.text);
  applyTheme(begin.dark);
});

/** Shows a document that supports dark and light colours in those of the desktop, which may differ from the system's. */
function applyTheme(dark: boolean): void {
  const root = document.documentElement;
  const schemes = getComputedStyle(root).colorScheme.split(" ");
  if (schemes.includes("dark") && schemes.includes("light")) root.style.colorScheme = dark ? "dark" : "light";
}

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
    else if (request.type === "yaar:capture-request") void capture(request.requestId, defaultStyle, send);
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

/** Installs the API that apps expect, and a parent to post messages to. */
function installAppAPI(send: (what: object) => void): AppAPI {
  const { storage, handle } = createStorage(send);
  const parent = {
    postMessage: (what: object): void => send(what),
    get document(): never {
      throw new DOMException("Another origin's document is out of reach.", "SecurityError");
    },
  };
  Object.defineProperty(window, "parent", { value: parent, configurable: true });
  return {
    registered: installYaar(send, storage),
    handleStorage: handle,
    dispatch(request) {
      const event = new MessageEvent("message", { data: request });
      Object.defineProperty(event, "source", { value: parent });
      window.dispatchEvent(event);
    },
  };
}

/** Reports a click on a link to the desktop, which asks the user before it opens the address. */
function reportLink(e: MouseEvent, send: (t: PageMessage) => void): void {
  const link = e.composedPath().find((at): at is HTMLAnchorElement => at instanceof HTMLAnchorElement && at.href !== "");
  const to = link?.getAttribute("href") ?? "";
  if (link === undefined || to.startsWith("#") || /^javascript:/i.test(link.href)) return;
  e.preventDefault();
  send({ type: "everdesk:leave", url: link.href });
}
