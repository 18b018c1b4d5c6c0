import { Unplug } from "lucide-react";
import { type ReactNode, useContext, useEffect, useRef, useState } from "react";
import type { Told } from "../../../../apps/protocol.js";
import type { WindowState } from "../../../../core/src/index.js";
import { useTexts } from "../../i18n/use.js";
import { PageContext, useCommands, useEvents, useHubClock, useShell } from "../../shell/context.js";
import { content as texts } from "../../texts/entry.js";
import { Button } from "../../ui/button.js";
import { outside } from "../addresses.js";
import { Card } from "../card.js";
import { Leave } from "../leave.js";
import { type CaptureAsk, captureEvent } from "./capture.js";
import { Channel } from "./channel.js";
import { newToken, useHandshake } from "./handshake.js";
import { interactionText, isForUs, isLate, questionOf, Rate, responseOf } from "./rules.js";

/** How long a page may take to say hello. */
const helloTime = 10_000;

/** A document of an agent, in a frame of another origin that can reach nothing. The same document is not loaded again. */
export function AppFrame({ window: w, html }: { window: WindowState; html: string }): ReactNode {
  const t = useTexts(texts);
  const origin = useShell((s) => s.hub.appsOrigin);
  const [tries, setTries] = useState(0);
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
  return <AppFrameContent key={`${tries} ${html}`} window={w} origin={origin} html={html} onAgain={() => setTries(tries + 1)} />;
}

interface AppFrameContentProps {
  window: WindowState;
  origin: string;
  html: string;
  onAgain: () => void;
}

type State = "loading" | "ready" | "silent" | "flood";

function AppFrameContent({ window: w, origin, html, onAgain }: AppFrameContentProps): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const [token] = useState(newToken);
  const [state, setState] = useState<State>("loading");
  const [leave, setLeave] = useState("");
  const frame = useRef<HTMLIFrameElement>(null);
  const channel = useRef<Channel>(undefined);
  const latest = useRef(w);
  latest.current = w;
  const [rates] = useState(() => ({ ready: new Rate(1), talk: new Rate(1), turns: new Rate(12, 60_000), leave: new Rate(1) }));
  // A page speaks for the person only while they use it: their last press was a moment ago, and in this frame.
  const inUse = (): boolean => navigator.userActivation.isActive && document.activeElement === frame.current;

  const hear = (told: Told): void => {
    const now = Date.now();
    switch (told.type) {
      case "everdesk:shown":
        return setState("ready");
      case "everdesk:leave": {
        const url = outside(told.url);
        if (url !== undefined && inUse() && rates.leave.take(now)) setLeave(url);
        return;
      }
      case "yaar:app-ready":
        if (rates.ready.take(now)) commands.send("APP_PROTOCOL_READY", { windowId: latest.current.windowId, monitorId: latest.current.monitorId });
        return;
      case "yaar:app-interaction":
        if (inUse() && rates.talk.take(now) && rates.turns.take(now)) commands.sendToWindow(latest.current, interactionText(told.content));
    }
  };
  const onFlood = (): void => setState("flood");
  useHandshake(frame, token, {
    begin: () => ({ text: html, dark: false }),
    onPort(port) {
      channel.current?.close();
      channel.current = new Channel(port, { now: () => Date.now(), hear, onFlood });
    },
    onFlood,
  });
  useEffect(() => {
    const timer = setTimeout(() => setState((s) => (s === "loading" ? "silent" : s)), helloTime);
    return () => clearTimeout(timer);
  }, []);
  useEffect(() => () => channel.current?.close(), []);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // Who makes pictures of windows has the page make its own.
    const hearCapture = (e: Event): void => capture(e as CustomEvent<CaptureAsk>, channel.current);
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
      {leave !== "" && <Leave address={leave} onClose={() => setLeave("")} />}
    </div>
  );
}

function capture(e: CustomEvent<CaptureAsk>, channel: Channel | undefined): void {
  const { requestId, answer } = e.detail;
  if (channel === undefined) return answer(Promise.reject(new Error("the page is not ready")));
  const asked = channel.ask({ type: "yaar:capture-request", requestId }, 4000);
  answer(
    asked.then((a) => {
      if (a.imageData === undefined) throw new Error(a.error ?? "there is no picture");
      return a.imageData.replace(/^data:[^,]*,/, "");
    }),
  );
}

/** Carries the questions of the hub to the app of a window, and its answers back. */
function useAppRequests(w: WindowState, channel: { current: Channel | undefined }): void {
  const commands = useCommands();
  const page = useContext(PageContext);
  const hub = useHubClock();
  useEvents((e, replayed) => {
    if (e.type !== "APP_PROTOCOL_REQUEST" || replayed) return;
    const { windowId, monitorId, requestId, request, deadline, to } = e.data;
    const mine = windowId === w.windowId && (monitorId === undefined || monitorId === w.monitorId);
    if (isLate(deadline, hub.now()) || !mine || channel.current === undefined || page === undefined) return;
    if (!isForUs(to, page.client.state.desktop.presence, page.client.clientId)) return;
    void channel.current.ask(questionOf(e.data)).then((a) => {
      commands.send("APP_PROTOCOL_RESPONSE", { requestId, windowId, monitorId: w.monitorId, response: responseOf(request.kind, a) });
    });
  });
}
