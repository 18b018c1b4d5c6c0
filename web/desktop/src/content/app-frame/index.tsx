import { Unplug } from "lucide-react";
import { type ReactNode, useCallback, useContext, useEffect, useRef, useState } from "react";
import type { PageMessage } from "../../../../apps/protocol.js";
import type { WindowState } from "../../../../core/src/index.js";
import { useTexts } from "../../i18n/use.js";
import { PageContext, useCommands, useEvents, useHubClock, useShell } from "../../shell/context.js";
import { content as texts } from "../../texts/content.js";
import { Button } from "../../ui/button.js";
import { externalURL } from "../addresses.js";
import { Card } from "../card.js";
import { LeaveDialog } from "../leave-dialog.js";
import { appCommandsOf } from "./app-commands.js";
import { type CaptureRequest, captureEvent } from "./capture.js";
import { Channel } from "./channel.js";
import { newToken, useHandshake } from "./handshake.js";
import { appRequestOf, interactionText, isExpired, isForThisTab, Rate, responseOf } from "./rules.js";
import { useAppStorage } from "./storage.js";

/** How long each try to load a page may take, in ms. */
const tryTimeouts = [4_000, 10_000, 20_000] as const;

/** How long a page that has sent hello may take until it is shown, in ms: it does not need another try. */
const showTimeout = 20_000;

/** How long an app may take for a command of the page, in ms: files can be large. */
const commandTimeout = 30_000;

/**
 * An HTML document of an agent in a sandboxed frame of another origin, without network. The same document is not loaded
 * again.
 */
export function AppFrame({ window: w, html, app }: { window: WindowState; html: string; app?: string | undefined }): ReactNode {
  const t = useTexts(texts);
  const origin = useShell((s) => s.hub.appsOrigin);
  // The number of loads, and of tries since the user asked for one.
  const [{ load, attempt }, setLoad] = useState({ load: 0, attempt: 0 });
  if (origin === "") {
    return (
      <div className="content-state" data-content-state="failed" data-content-error="html windows are off in this hub (--apps-addr)">
        <Card icon={Unplug} title={t.pagesOff}>
          <p>{t.pagesOffText}</p>
          <code>--apps-addr 127.0.0.1:8081</code>
        </Card>
      </div>
    );
  }
  return (
    <AppFrameContent
      key={`${load} ${html}`}
      window={w}
      origin={origin}
      html={html}
      app={app}
      timeout={tryTimeouts[attempt]!}
      onSilent={attempt + 1 < tryTimeouts.length ? () => setLoad({ load: load + 1, attempt: attempt + 1 }) : undefined}
      onAgain={() => setLoad({ load: load + 1, attempt: 0 })}
    />
  );
}

interface AppFrameContentProps {
  window: WindowState;
  origin: string;
  html: string;
  /** The app whose data the page may use. */
  app: string | undefined;
  /** How long the page may take to send hello, in ms. */
  timeout: number;
  /** Loads the page once more because it was silent; undefined after the last try. */
  onSilent: (() => void) | undefined;
  onAgain: () => void;
}

type State = "loading" | "ready" | "silent" | "flood";

function AppFrameContent({ window: w, origin, html, app, timeout, onSilent, onAgain }: AppFrameContentProps): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const [token] = useState(newToken);
  const [state, setState] = useState<State>("loading");
  const [greeted, setGreeted] = useState(false);
  const [leave, setLeave] = useState("");
  const frame = useRef<HTMLIFrameElement>(null);
  const channel = useRef<Channel>(undefined);
  const store = useAppStorage(app, channel);
  const flush = usePageCommands(app, w, channel);
  const latest = useRef(w);
  latest.current = w;
  const [rates] = useState(() => ({ ready: new Rate(1), message: new Rate(1), turns: new Rate(12, 60_000), leave: new Rate(1) }));
  // A page may send messages or open links for the user only right after the user clicked or pressed a key in this
  // frame.
  const inUse = (): boolean => navigator.userActivation.isActive && document.activeElement === frame.current;

  const hear = (told: PageMessage): void => {
    const now = Date.now();
    switch (told.type) {
      case "everdesk:shown":
        return setState("ready");
      case "everdesk:leave": {
        const url = externalURL(told.url);
        if (url !== undefined && inUse() && rates.leave.allow(now)) setLeave(url);
        return;
      }
      case "everdesk:storage":
        return store(told);
      case "yaar:app-ready":
        flush();
        if (rates.ready.allow(now)) commands.send("APP_PROTOCOL_READY", { windowId: latest.current.windowId, monitorId: latest.current.monitorId });
        return;
      case "yaar:app-interaction":
        if (inUse() && rates.message.allow(now) && rates.turns.allow(now)) commands.sendToWindow(latest.current, interactionText(told.content));
    }
  };
  const onFlood = (): void => setState("flood");
  useHandshake(frame, token, {
    begin: () => ({ text: html, dark: document.documentElement.dataset.theme !== "light" }),
    onPort(port) {
      setGreeted(true);
      channel.current?.close();
      channel.current = new Channel(port, { now: () => Date.now(), onMessage: hear, onFlood });
    },
    onFlood,
  });
  useEffect(() => {
    if (state !== "loading") return;
    const timer = setTimeout(() => (onSilent === undefined || greeted ? setState("silent") : onSilent()), greeted ? showTimeout : timeout);
    return () => clearTimeout(timer);
  }, [state, greeted]);
  useEffect(() => () => channel.current?.close(), []);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // The reporter cannot see into the frame, so it requests the picture from the page.
    const hearCapture = (e: Event): void => capture(e as CustomEvent<CaptureRequest>, channel.current);
    const at = box.current!;
    at.addEventListener(captureEvent, hearCapture);
    return () => at.removeEventListener(captureEvent, hearCapture);
  }, []);
  useAppRequests(w, channel);

  const broken = state === "silent" || state === "flood";
  const why = state === "flood" ? "the page sent too many messages" : "the page did not answer";
  return (
    <div
      className="content-state"
      data-content-state={broken ? "failed" : state}
      data-content-error={broken ? why : undefined}
      ref={box}
    >
      {broken ? (
        <Card icon={Unplug} title={state === "flood" ? t.pageFlood : t.pageSilent}>
          <Button onClick={onAgain}>{t.tryAgain}</Button>
        </Card>
      ) : (
        <iframe
          ref={frame}
          className="content-frame"
          sandbox="allow-scripts"
          src={`${origin}/stage.html#${token}`}
          title={w.title}
          referrerPolicy="no-referrer"
        />
      )}
      {state === "loading" && <p className="content-loading">{t.pageLoading}</p>}
      {leave !== "" && <LeaveDialog address={leave} onClose={() => setLeave("")} />}
    </div>
  );
}

function capture(e: CustomEvent<CaptureRequest>, channel: Channel | undefined): void {
  const { requestId, answer } = e.detail;
  if (channel === undefined) return answer(Promise.reject(new Error("the page is not ready")));
  const asked = channel.sendRequest({ type: "yaar:capture-request", requestId }, 4000);
  answer(
    asked.then((a) => {
      if (a.imageData === undefined) throw new Error(a.error ?? "there is no picture");
      return a.imageData.replace(/^data:[^,]*,/, "");
    }),
  );
}

/** Forwards the hub's requests to the app of a window, and the app's responses to the hub. */
function useAppRequests(w: WindowState, channel: { current: Channel | undefined }): void {
  const commands = useCommands();
  const page = useContext(PageContext);
  const hub = useHubClock();
  useEvents((e, replayed) => {
    if (e.type !== "APP_PROTOCOL_REQUEST" || replayed) return;
    const { windowId, monitorId, requestId, request, deadline, to } = e.data;
    const mine = windowId === w.windowId && (monitorId === undefined || monitorId === w.monitorId);
    if (isExpired(deadline, hub.now()) || !mine || channel.current === undefined || page === undefined) return;
    if (!isForThisTab(to, page.client.state.desktop.presence, page.client.clientId)) return;
    void channel.current.sendRequest(appRequestOf(e.data)).then((a) => {
      commands.send("APP_PROTOCOL_RESPONSE", { requestId, windowId, monitorId: w.monitorId, response: responseOf(request.kind, a) });
    });
  });
}

/** Sends the commands of this page to the app of a window; the result says that the app is ready. */
function usePageCommands(app: string | undefined, w: WindowState, channel: { current: Channel | undefined }): () => void {
  const page = useContext(PageContext);
  const { monitorId } = w;
  const ready = useRef<Channel>(undefined);
  const flush = useCallback((): void => {
    const to = channel.current;
    if (app === undefined || page === undefined || to === undefined || ready.current !== to) return;
    for (const c of appCommandsOf(page).take(app, monitorId)) {
      const request = { type: "yaar:app-command-request", requestId: crypto.randomUUID(), command: c.command, params: c.params } as const;
      void to.sendRequest(request, commandTimeout).then((a) => a.error !== undefined && c.onFailed(a.error));
    }
  }, [app, page, monitorId, channel]);
  useEffect(() => (page === undefined ? undefined : appCommandsOf(page).watch(flush)), [page, flush]);
  return () => {
    ready.current = channel.current;
    flush();
  };
}
