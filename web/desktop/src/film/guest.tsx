// The page of a read-only link. It shows the session of the link, or its one moment, as the film shows a moment: with components whose
// commands send nothing. The secret of the link stays in the fragment of the address, so that the page can be loaded again.

import "./film.css";
import "./guest.css";
import { Eye } from "lucide-react";
import { type ReactNode, useContext, useEffect, useMemo, useState } from "react";
import type { Root } from "react-dom/client";
import { compareMonitors, firstMonitor, type Position, type SessionID, type SessionState } from "../../../core/src/index.js";
import { load } from "../../../core/src/snapshot.js";
import type { Language } from "../i18n/texts.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { Api, ApiError } from "../shell/api.js";
import type { Guest, Page } from "../shell/boot.js";
import { PageContext, ShellContext, useShell } from "../shell/context.js";
import { monitorNumber } from "../shell/select.js";
import { usePageTheme } from "../shell/theme.js";
import { guest as texts } from "../texts/guest.js";
import { Button } from "../ui/button.js";
import { startAdminFilm, watchedSession } from "./admin.js";
import { Conversation, Scene, Stage } from "./scene.js";
import { stillPage } from "./still.js";

/** The answer of the hub to the exchange of a link. */
interface OpenedLink {
  session: SessionID;
  /** Whether the user is signed in and needs no link. */
  own?: boolean;
  user?: string;
  expiresAt: string;
  /** Seconds after which to exchange the link again. */
  renewIn?: number;
  appsOrigin?: string;
  /** The position and the time of the moment of a link that shows nothing else. */
  at?: Position;
  momentAt?: string;
}

export interface GuestOptions {
  root: Root;
  language: Language;
  boot: (guest: Guest) => Promise<Page>;
}

/** Why the page shows no desktop. */
type Ending = "expired" | "revoked" | "ended" | "gone" | "busy" | "failed";

/** Opens the link in the fragment of the address and draws its session; at the address of a film for admins, draws that film. */
export async function startGuest({ root, language, boot }: GuestOptions): Promise<void> {
  const watched = watchedSession(location.pathname);
  if (watched !== undefined) return startAdminFilm(root, language, watched);
  const secret = location.hash.slice(1);
  // A new fragment does not load the page by itself.
  addEventListener("hashchange", () => location.reload(), { once: true });
  const api = new Api((input, init) => fetch(input, { credentials: "same-origin", ...init }));
  const open = (): Promise<OpenedLink> => api.ask("POST", "/api/links/open", { link: secret });
  try {
    if (secret === "") throw new ApiError(401, 0, "");
    const opened = await open();
    if (opened.own === true) return location.replace(`/?${new URLSearchParams({ session: opened.session, ...(opened.at === undefined ? {} : { film: opened.at }) })}`);
    const { session } = opened;
    const guest = {
      me: { user: opened.user ?? "", roles: ["viewer"], session },
      hub: { version: "", appsOrigin: opened.appsOrigin ?? "", providers: [], provider: "" },
      session,
    };
    const until = Date.parse(opened.expiresAt);
    const render = (page: Page, content: ReactNode): void =>
      root.render(
        <PageContext value={page}>
          <ShellContext value={page}>{content}</ShellContext>
        </PageContext>,
      );
    if (opened.at !== undefined) {
      const state = await api.ask<SessionState>("GET", `/api/sessions/${encodeURIComponent(session)}/moment`);
      render(stillPage({ ...guest, language, api, desktop: load(state, opened.at) }), <MomentPage time={Date.parse(opened.momentAt ?? "")} until={until} />);
      return;
    }
    render(await boot(guest), <GuestPage until={until} renewIn={opened.renewIn ?? 0} renew={open} />);
  } catch (error) {
    root.render(<Ended texts={texts[language]} ending={endingOf(error)} />);
  }
}

function endingOf(error: unknown): Ending {
  if (!(error instanceof ApiError)) return "failed";
  return ({ 401: "ended", 429: "busy" } as const)[error.status] ?? "failed";
}

function Ended({ texts: t, ending }: { texts: (typeof texts)["en"]; ending: Ending }): ReactNode {
  const over = ending === "ended" || ending === "expired" || ending === "revoked";
  return (
    <main className="app-wait" data-guest-ended={ending} role="alert">
      <h1>{t[ending]}</h1>
      {ending === "ended" && <p>{t.endedWhy}</p>}
      {over && <p>{t.askAgain}</p>}
      {(ending === "failed" || ending === "busy") && <Button onClick={() => location.reload()}>{t.retry}</Button>}
    </main>
  );
}

/** How long the page waits before it exchanges the link again when the hub could not be reached, in ms. */
const pause = 5_000;

function GuestPage({ until, renewIn, renew }: { until: number; renewIn: number; renew: () => Promise<OpenedLink> }): ReactNode {
  usePageTheme();
  const t = useTexts(texts);
  const ending = useEnding(until, renewIn, renew);
  return ending === undefined ? <GuestDesktop until={until} /> : <Ended texts={t} ending={ending} />;
}

/** Renews the cookie of the link; returns why the link has ended, once it has. */
function useEnding(until: number, renewIn: number, renew: () => Promise<OpenedLink>): Ending | undefined {
  const page = useContext(PageContext);
  const stopped = useShell((s) => (s.link.phase === "stopped" ? s.link.code : 0));
  const [ending, setEnding] = useState<Ending>();
  const [tries, setTries] = useState(0);
  useEffect(() => {
    if (renewIn <= 0) return;
    const timer = setInterval(() => void renew().catch(() => undefined), renewIn * 1000);
    return () => clearInterval(timer);
  }, [renewIn, renew]);
  // The hub closed the connection: the link has ended, or only its cookie has.
  useEffect(() => {
    if (stopped === 0) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let left = false;
    renew().then(
      () => !left && page?.client.retry(),
      (error: unknown) => {
        if (left) return;
        if (error instanceof ApiError && error.status === 401) setEnding(stopped === 4404 || stopped === 4410 ? "gone" : Date.now() >= until ? "expired" : "revoked");
        else timer = setTimeout(() => setTries((n) => n + 1), pause);
      },
    );
    return () => {
      left = true;
      clearTimeout(timer);
    };
  }, [stopped, tries, until, renew, page]);
  return ending;
}

function GuestDesktop({ until }: { until: number }): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  const live = useShell((s) => s.link.phase === "live");
  return (
    <Shown title={t.readOnly} means={t.means(format.moment(until))} state={live ? "live" : "waiting"}>
      {!live && <span role="status">{t.waiting}</span>}
    </Shown>
  );
}

function MomentPage({ time, until }: { time: number; until: number }): ReactNode {
  usePageTheme();
  const t = useTexts(texts);
  const format = useFormat();
  const [over, setOver] = useState(false);
  // The page has no connection that the hub could close.
  useEffect(() => {
    const check = setInterval(() => setOver(Date.now() >= until), 1_000);
    return () => clearInterval(check);
  }, [until]);
  if (over) return <Ended texts={t} ending="expired" />;
  return <Shown title={Number.isNaN(time) ? t.desktop : t.moment(format.moment(time))} means={t.momentMeans(format.moment(until))} state="moment" />;
}

/** The desktop of the page and its conversation, under a bar. */
function Shown({ title, means, state, children }: { title: string; means: string; state: string; children?: ReactNode }): ReactNode {
  const t = useTexts(texts);
  const desktop = useShell((s) => s.desktop);
  const monitors = useMemo(() => [...desktop.monitors.keys()].sort(compareMonitors), [desktop.monitors]);
  const [wanted, setWanted] = useState(firstMonitor);
  const monitor = desktop.monitors.has(wanted) ? wanted : (monitors[0] ?? firstMonitor);
  return (
    <div className="guest">
      <header className="guest-bar">
        <h1>
          <Eye size={16} aria-hidden />
          {title}
        </h1>
        <p>{means}</p>
        {children}
        {monitors.length > 1 && (
          <label className="film-choice">
            {t.monitor}
            <select value={monitor} onChange={(e) => setWanted(e.target.value)}>
              {monitors.map((m) => (
                <option key={m} value={m}>
                  {monitorNumber(m)}
                </option>
              ))}
            </select>
          </label>
        )}
      </header>
      <main className="film-scene" aria-label={t.desktop} data-guest={state}>
        <Scene desktop={desktop} monitor={monitor}>
          <Stage />
          <Conversation />
        </Scene>
      </main>
    </div>
  );
}
