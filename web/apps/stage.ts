// The page in which a document of an agent lives. It has an origin of its own that nobody shares, and no network. It gets
// one port from the desktop, writes the document into itself, and carries what the app in it says.

import { picture, still } from "./picture.js";
import type { Answered, Asked, Begin, Hello, Told } from "./protocol.js";
import { seal } from "./seal.js";

type Handler = (params?: unknown) => unknown;

/** How an app introduces itself. */
interface App {
  appId?: string;
  name?: string;
  state?: Record<string, { description?: string; schema?: unknown; handler?: Handler }>;
  commands?: Record<string, { description?: string; params?: unknown; returns?: unknown; handler?: Handler }>;
}

const desktop = window.parent;
const token = location.hash.slice(1);

addEventListener("message", begin);
desktop.postMessage({ type: "everdesk:hello", token } satisfies Hello, "*");

function begin(e: MessageEvent): void {
  const said = e.data as Partial<Begin> | null;
  const port = e.ports[0];
  if (e.source !== desktop || said?.type !== "everdesk:begin" || said.token !== token || port === undefined) return;
  removeEventListener("message", begin);
  show(port, said.text ?? "");
}

function show(port: MessagePort, html: string): void {
  // Opening the document takes all listeners away, so ours come after it and before the first script of the document.
  document.open();
  seal();
  const tell = (what: Told | Answered | object): void => port.postMessage(JSON.stringify(what));
  const app = bridge(tell);
  port.onmessage = (e) => {
    const asked = JSON.parse(e.data as string) as Asked;
    if (asked.type === "yaar:capture-request") void capture(asked.requestId, tell);
    else if (app.known()) void answer(app.known()!, asked, tell);
    else app.pass(asked);
  };
  document.adoptedStyleSheets = [paper()];
  addEventListener("click", (e) => follow(e, tell), true);
  addEventListener("auxclick", (e) => follow(e, tell), true);
  document.write(/^\s*<!doctype/i.test(html) ? html : `<!doctype html>${html}`);
  document.close();
  tell({ type: "everdesk:shown" });
}

/** How a document looks that says nothing of its looks. */
const plainLook = ":where(html) { font: 14px/1.5 system-ui, sans-serif; color: #16202e; } :where(body) { margin: 16px; }";

function paper(): CSSStyleSheet {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(plainLook);
  return sheet;
}

/** Gives the document what apps expect: `yaar.app`, and a parent to post messages to. */
function bridge(tell: (what: object) => void): { known: () => App | undefined; pass: (asked: Asked) => void } {
  let known: App | undefined;
  const parent = {
    postMessage: (what: object): void => tell(what),
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
          tell({ type: "yaar:app-ready", appId: app.appId });
        },
        sendInteraction(what: unknown): void {
          tell({ type: "yaar:app-interaction", content: typeof what === "string" ? what : JSON.stringify(what) });
        },
      },
    },
  });
  return {
    known: () => known,
    pass(asked) {
      const event = new MessageEvent("message", { data: asked });
      Object.defineProperty(event, "source", { value: parent });
      window.dispatchEvent(event);
    },
  };
}

type Question = Exclude<Asked, { type: "yaar:capture-request" }>;

async function answer(app: App, asked: Question, tell: (a: Answered) => void): Promise<void> {
  const { requestId } = asked;
  const type = asked.type.replace("-request", "-response") as Answered["type"];
  try {
    tell({ type, requestId, ...(await outcome(app, asked)) });
  } catch (e) {
    tell({ type, requestId, error: e instanceof Error ? e.message : String(e) });
  }
}

async function outcome(app: App, asked: Question): Promise<Pick<Answered, "manifest" | "data" | "result">> {
  switch (asked.type) {
    case "yaar:app-manifest-request":
      return { manifest: { appId: app.appId, name: app.name, state: bare(app.state), commands: bare(app.commands) } };
    case "yaar:app-query-request": {
      const handler = own(app.state, asked.stateKey)?.handler;
      if (handler === undefined) throw new Error(`unknown state "${asked.stateKey}"`);
      return { data: await handler() };
    }
    case "yaar:app-command-request": {
      const handler = own(app.commands, asked.command)?.handler;
      if (handler === undefined) throw new Error(`unknown command "${asked.command}"`);
      return { result: await handler(asked.params ?? {}) };
    }
  }
}

function own<T>(table: Record<string, T> | undefined, key: string): T | undefined {
  return table !== undefined && Object.hasOwn(table, key) ? table[key] : undefined;
}

/** A part of a manifest without what only the app itself can use. */
function bare(table: Record<string, { handler?: Handler }> | undefined): object {
  return Object.fromEntries(Object.entries(table ?? {}).map(([key, { handler: _, ...rest }]) => [key, rest]));
}

async function capture(requestId: string, tell: (a: Answered) => void): Promise<void> {
  const type = "yaar:capture-response";
  try {
    const copy = still(document.documentElement, true) as HTMLElement;
    copy.style.translate = `${-scrollX}px ${-scrollY}px`;
    copy.style.background ||= "#fff";
    const look = document.createElement("style");
    look.textContent = plainLook;
    copy.prepend(look);
    tell({ type, requestId, imageData: await picture(copy, innerWidth, innerHeight) });
  } catch (e) {
    tell({ type, requestId, error: e instanceof Error ? e.message : String(e) });
  }
}

/** A link leads out of the desktop, for which the person is asked there. */
function follow(e: MouseEvent, tell: (t: Told) => void): void {
  const link = e.composedPath().find((at): at is HTMLAnchorElement => at instanceof HTMLAnchorElement && at.href !== "");
  const to = link?.getAttribute("href") ?? "";
  if (link === undefined || to.startsWith("#") || /^javascript:/i.test(link.href)) return;
  e.preventDefault();
  tell({ type: "everdesk:leave", url: link.href });
}
