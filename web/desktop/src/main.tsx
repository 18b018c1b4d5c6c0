import "./styles/tokens.css";
import "./styles/base.css";
import { type ReactNode, StrictMode, Suspense } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.js";
import { languageOf } from "./i18n/texts.js";
import { Invitation, prefetchParts } from "./lazy-parts.js";
import { Api, ApiError } from "./shell/api.js";
import { boot, type Page } from "./shell/boot.js";
import { PageContext, ShellContext } from "./shell/context.js";
import { prefsKey, readPrefs } from "./shell/prefs.js";
import { forBrowser } from "./shell/storage.js";
import { applyInitialTheme } from "./shell/theme.js";
import icon from "./styles/icon.svg";
import { app as texts } from "./texts/entry.js";
import { Button } from "./ui/button.js";

const root = createRoot(document.getElementById("root")!);
const prefs = readPrefs(forBrowser.getItem(prefsKey));
const language = languageOf(prefs.language, navigator.languages);
const t = texts[language];
applyInitialTheme(prefs.theme, language);

if (location.pathname === "/join") askToJoin();
else void begin();

async function begin(): Promise<void> {
  wait(t.connecting);
  try {
    show(await boot());
    setTimeout(() => void prefetchParts(), 500);
  } catch (error) {
    // Who is not signed in finds the way in at /login.
    if (error instanceof ApiError && error.status === 401) return location.replace(`/login${location.search}`);
    fail(
      t.failed,
      reasonOf(error),
      <>
        <Button kind="primary" onClick={() => location.reload()}>
          {t.retry}
        </Button>
        <a href="/">{t.others}</a>
      </>,
    );
  }
}

/** Asks whether to come in by the ticket behind the # of the address. It is good once, so it is not left in the history. */
function askToJoin(): void {
  const ticket = location.hash.slice(1);
  history.replaceState(null, "", "/join");
  // Another link in the same tab loads no page by itself.
  addEventListener("hashchange", () => location.reload(), { once: true });
  if (ticket === "") return fail(t.joinFailed, t.joinEmpty, <a href="/">{t.others}</a>);
  root.render(
    <Suspense fallback={<p className="app-wait">{t.connecting}</p>}>
      <Invitation language={language} host={location.host} onJoin={() => void join(ticket)} />
    </Suspense>,
  );
}

async function join(ticket: string): Promise<void> {
  wait(t.joining);
  try {
    const { session, monitor } = await new Api((input, init) => fetch(input, { credentials: "same-origin", ...init })).join(ticket);
    const only = monitor === undefined ? "" : `&monitor=${encodeURIComponent(monitor)}`;
    location.replace(`/?session=${encodeURIComponent(session)}${only}`);
  } catch (error) {
    const known = error instanceof ApiError ? { 401: t.joinUsed, 403: t.joinForbidden, 404: t.joinUsed, 429: t.joinBusy }[error.status] : t.joinOffline;
    fail(t.joinFailed, known ?? reasonOf(error), <a href="/">{t.others}</a>);
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function wait(text: string): void {
  root.render(
    <div className="app-wait" role="status">
      <img src={icon} alt="" width={40} height={40} />
      <p>{text}</p>
    </div>,
  );
}

function fail(what: string, why: string, wayOut: ReactNode): void {
  root.render(
    <div className="app-wait" role="alert">
      <img src={icon} alt="" width={40} height={40} />
      <h1>{what}</h1>
      <p>{why}</p>
      {wayOut}
    </div>,
  );
}

function show(page: Page): void {
  root.render(
    <StrictMode>
      <PageContext value={page}>
        <ShellContext value={page}>
          <App />
        </ShellContext>
      </PageContext>
    </StrictMode>,
  );
}
