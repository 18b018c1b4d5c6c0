import { AppWindow, Unplug } from "lucide-react";
import { type ReactNode, type RefObject, useContext, useEffect, useLayoutEffect, useRef, useState } from "react";
import { type MCPApp, type WindowState, windowKey } from "../../../../core/src/index.js";
import { useTexts } from "../../i18n/use.js";
import { PageContext, useCommands, useEvents, useShell } from "../../shell/context.js";
import { content as pageTexts } from "../../texts/content.js";
import { mcpApp as texts } from "../../texts/mcp-app.js";
import { Button } from "../../ui/button.js";
import { externalURL } from "../addresses.js";
import { newToken, useHandshake } from "../app-frame/handshake.js";
import { interactionText, isForThisTab, Rate } from "../app-frame/rules.js";
import { Card } from "../card.js";
import { LeaveDialog } from "../leave-dialog.js";
import { connectView, type ViewBridge, type ViewHost } from "./bridge.js";
import { hostContext } from "./host-context.js";
import { MessageDialog } from "./message-dialog.js";
import { endFrame } from "./teardown.js";
import { PortTransport } from "./transport.js";
import { stageAddress, type ViewDocument, viewApi } from "./view-api.js";

/** The longest message that a view may offer, in characters. */
const maxMessage = 8000;

/** The longest text of a view for the model, in characters. */
const maxContext = 8000;

/** How often a view may report that it is used, in ms. */
const reportInterval = 300;

/** The first size of a window with a view. Windows that still have it take the height of their view. */
const firstSize = { w: 640, h: 480 };

/** The view of a call of an MCP server's tool. Every tab has its own, made from the same input and result. */
export function MCPAppView({ window: w, app }: { window: WindowState; app: MCPApp }): ReactNode {
  const t = useTexts(texts);
  const common = useTexts(pageTexts);
  const commands = useCommands();
  const { api } = commands;
  const session = useShell((s) => s.session);
  const origin = useShell((s) => s.hub.appsOrigin);
  const { monitorId, windowId } = w;
  const [shown, setShown] = useState<ViewDocument>();
  const [why, setWhy] = useState("");
  const [tries, setTries] = useState(0);
  const [elsewhere, setElsewhere] = useState(false);
  useEffect(() => {
    if (origin === "") return;
    let over = false;
    setWhy("");
    setShown(undefined);
    viewApi(api, session, { monitorId, windowId })
      .document()
      .then(
        (d) => over || setShown(d),
        (e: unknown) => over || setWhy(e instanceof Error ? e.message : String(e)),
      );
    return () => {
      over = true;
    };
  }, [api, session, monitorId, windowId, origin, tries]);
  if (origin === "" || why !== "") {
    const reason = origin === "" ? "html windows are off in this hub (--apps-addr)" : why;
    return (
      <div className="content-state" data-content-state="failed" data-content-error={reason}>
        <Card icon={Unplug} title={origin === "" ? common.pagesOff : t.failed}>
          <p>{origin === "" ? common.pagesOffText : why}</p>
          {origin === "" ? <code>--apps-addr 127.0.0.1:8081</code> : <Button onClick={() => setTries(tries + 1)}>{common.tryAgain}</Button>}
        </Card>
      </div>
    );
  }
  if (shown === undefined) return <p className="content-loading" data-content-state="loading">{t.loading}</p>;
  if (elsewhere) {
    return (
      <div className="content-state" data-content-state="elsewhere">
        <Card icon={AppWindow} title={t.elsewhere}>
          <p>{t.elsewhereText}</p>
          <Button
            onClick={() => {
              setElsewhere(false);
              commands.send("VIEW_USED", { windowId, monitorId });
            }}
          >
            {t.useHere}
          </Button>
        </Card>
      </div>
    );
  }
  return <ViewFrame key={tries} window={w} app={app} origin={origin} shown={shown} onAgain={() => setTries(tries + 1)} onElsewhere={() => setElsewhere(true)} />;
}

interface ViewFrameProps {
  window: WindowState;
  app: MCPApp;
  origin: string;
  shown: ViewDocument;
  onAgain: () => void;
  /** The view is used in another tab. */
  onElsewhere: () => void;
}

interface Offer {
  text: string;
  answer: (send: boolean) => void;
}

function ViewFrame({ window: w, app, origin, shown, onAgain, onElsewhere }: ViewFrameProps): ReactNode {
  const t = useTexts(texts);
  const common = useTexts(pageTexts);
  const commands = useCommands();
  const session = useShell((s) => s.session);
  const language = useShell((s) => s.language);
  const key = windowKey(w.monitorId, w.windowId);
  // The window of the parent changes with its content only.
  const now = useShell((s) => s.desktop.windows.get(key)) ?? w;
  const latest = useRef(now);
  latest.current = now;
  const [token] = useState(newToken);
  const [state, setState] = useState<"loading" | "ready" | "flood">("loading");
  const [leave, setLeave] = useState("");
  const [offer, setOffer] = useState<Offer>();
  const [rates] = useState(() => ({ leave: new Rate(1), message: new Rate(1), turns: new Rate(12, 60_000) }));
  const active = useRef(false);
  const told = useRef<{ timer?: ReturnType<typeof setTimeout>; context?: string }>({});
  useEffect(() => () => clearTimeout(told.current.timer), []);
  const frame = useRef<HTMLIFrameElement>(null);
  const bridge = useRef<ViewBridge>(undefined);
  const sized = useRef(false);
  // A view may offer messages and links only right after the user clicked or pressed a key in it.
  const inUse = (): boolean => navigator.userActivation.isActive && document.activeElement === frame.current;
  const offerLink = (address: string): boolean => {
    const url = externalURL(address);
    if (url === undefined || !inUse() || !rates.leave.allow(Date.now())) return false;
    setLeave(url);
    return true;
  };
  /** Makes this tab the active view of the window, and sets the context that the model gets from it. */
  const use = (context?: string): void => {
    if (inUse()) active.current = true;
    // A view that was not used in this tab does not replace the context of the one that is used in another tab.
    else if (context === undefined || !active.current) return;
    if (context !== undefined) told.current.context = context;
    // Views report every movement, so that the newest report of an interval is sent at its end.
    told.current.timer ??= setTimeout(() => {
      const { windowId, monitorId } = latest.current;
      const newest = told.current.context;
      told.current = {};
      commands.send("VIEW_USED", { windowId, monitorId, ...(newest === undefined ? {} : { context: newest }) });
    }, reportInterval);
  };
  const host: ViewHost = {
    offerLink,
    offerMessage(text) {
      const at = Date.now();
      if (text.trim() === "" || text.length > maxMessage || !inUse() || !rates.message.allow(at) || !rates.turns.allow(at)) return Promise.resolve(false);
      return new Promise((answer) => setOffer({ text, answer }));
    },
    setModelContext: (text) => use(text.slice(0, maxContext)),
    setDisplayMode(mode) {
      const { maximized } = latest.current;
      const wanted = mode === "fullscreen";
      if ((mode !== "inline" && mode !== "fullscreen") || wanted === (maximized === true) || !inUse()) return maximized === true ? "fullscreen" : "inline";
      commands.toggleMaximized(latest.current);
      return mode;
    },
    setSize({ height }) {
      const { bounds, maximized } = latest.current;
      if (sized.current || height === undefined || frame.current === null) return;
      sized.current = true;
      const least = frame.current.clientHeight;
      const wanted = Math.min(Math.max(Math.ceil(height), 160), globalThis.innerHeight - 160);
      if (bounds.w !== firstSize.w || bounds.h !== firstSize.h || maximized === true || !document.hasFocus() || wanted <= least) return;
      commands.placeWindow(latest.current, { ...bounds, h: bounds.h + wanted - least }, "window.resize");
    },
    close: () => commands.closeWindow(latest.current),
    onReady: () => setState("ready"),
    onCall() {
      const pressed = inUse();
      if (pressed) use();
      return pressed;
    },
  };
  const context = (): ReturnType<typeof hostContext> => {
    const at = frame.current;
    return hostContext(document.documentElement, { width: at?.clientWidth ?? 0, height: at?.clientHeight ?? 0 }, latest.current.maximized === true, language);
  };
  const onFlood = (): void => setState("flood");
  useHandshake(frame, token, {
    begin: () => ({ text: shown.html, dark: false }),
    onPort(port) {
      const transport = new PortTransport(port, { now: () => Date.now(), onShown: () => undefined, onLeave: offerLink, onFlood });
      bridge.current = connectView(transport, app, context(), viewApi(commands.api, session, w), host);
    },
    onFlood,
  });
  const page = useContext(PageContext);
  useEvents((e) => {
    if (e.type !== "VIEW_ACTIVE" || e.data.windowId !== w.windowId || e.data.monitorId !== w.monitorId || page === undefined) return;
    if (isForThisTab(e.data.by, page.client.state.desktop.presence, page.client.clientId)) return;
    onElsewhere();
  });
  useContextUpdates(frame, () => bridge.current?.setContext(context()), now.maximized === true);
  useLayoutEffect(() => {
    const at = frame.current;
    return () => {
      if (at !== null && bridge.current !== undefined) endFrame(at, bridge.current.teardown());
    };
  }, []);

  return (
    <div className="content-state" data-content-state={state === "flood" ? "failed" : state} data-content-error={state === "flood" ? "the page sent too many messages" : undefined}>
      {state === "flood" ? (
        <Card icon={Unplug} title={common.pageFlood}>
          <Button onClick={onAgain}>{common.tryAgain}</Button>
        </Card>
      ) : (
        <iframe
          ref={frame}
          className="content-frame"
          sandbox="allow-scripts"
          src={stageAddress(origin, shown, token)}
          title={w.title}
          referrerPolicy="no-referrer"
        />
      )}
      {state === "loading" && <p className="content-loading">{t.loading}</p>}
      {leave !== "" && <LeaveDialog address={leave} onClose={() => setLeave("")} />}
      {offer !== undefined && (
        <MessageDialog
          server={app.server}
          text={offer.text}
          onAnswer={(send) => {
            setOffer(undefined);
            offer.answer(send && commands.sendMessage(interactionText(offer.text), w.monitorId) !== undefined);
          }}
        />
      )}
    </div>
  );
}

/** Tells a view about changes of the theme, of its size and of its display mode. */
function useContextUpdates(frame: RefObject<HTMLIFrameElement | null>, update: () => void, maximized: boolean): void {
  const latest = useRef(update);
  latest.current = update;
  useEffect(() => {
    const changed = (): void => latest.current();
    const sizes = new ResizeObserver(changed);
    if (frame.current !== null) sizes.observe(frame.current);
    const themes = new MutationObserver(changed);
    themes.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme", "lang"] });
    return () => {
      sizes.disconnect();
      themes.disconnect();
    };
  }, [frame]);
  useEffect(() => latest.current(), [maximized]);
}
