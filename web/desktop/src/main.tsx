import "./styles/fonts.css";
import "./styles/fonts-rest.css";
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
applyInitialTheme(prefs, language);

if (location.pathname === "/join") askToJoin();
else if (/^\/(link$|admin\/film\/)/.test(location.pathname)) void look();
else void start();

async function start(): Promise<void> {
  renderWaiting(t.connecting);
  try {
    renderPage(await boot());
    setTimeout(() => void prefetchParts(), 500);
  } catch (error) {
    // A user who is not signed in goes to /login.
    if (error instanceof ApiError && error.status === 401) return location.replace(`/login${location.search}`);
    renderError(
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

/**
 * Asks whether to join with the ticket in the fragment of the address. The ticket works once, so it is removed from the
 * browser history.
 */
function askToJoin(): void {
  const ticket = location.hash.slice(1);
  history.replaceState(null, "", "/join");
  // A new fragment does not load the page by itself.
  addEventListener("hashchange", () => location.reload(), { once: true });
  if (ticket === "") return renderError(t.joinFailed, t.joinEmpty, <a href="/">{t.others}</a>);
  root.render(
    <Suspense fallback={<p className="app-wait">{t.connecting}</p>}>
      <Invitation language={language} host={location.host} onJoin={() => void join(ticket)} />
    </Suspense>,
  );
}

/** Shows the session of a read-only link, or for an admin the film of a session. The address says which. */
async function look(): Promise<void> {
  renderWaiting(t.connecting);
  const { startGuest } = await import("./film/guest.js");
  await startGuest({ root, language, boot });
}

async function join(ticket: string): Promise<void> {
  renderWaiting(t.joining);
  try {
    const { session, monitor } = await new Api((input, init) => fetch(input, { credentials: "same-origin", ...init })).join(ticket);
    const only = monitor === undefined ? "" : `&monitor=${encodeURIComponent(monitor)}`;
    location.replace(`/?session=${encodeURIComponent(session)}${only}`);
  } catch (error) {
    const known = error instanceof ApiError ? { 401: t.joinUsed, 403: t.joinForbidden, 404: t.joinUsed, 429: t.joinBusy }[error.status] : t.joinOffline;
    renderError(t.joinFailed, known ?? reasonOf(error), <a href="/">{t.others}</a>);
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function renderWaiting(text: string): void {
  root.render(
    <div className="app-wait" role="status">
      <img src={icon} alt="" width={40} height={40} />
      <p>{text}</p>
    </div>,
  );
}

function renderError(what: string, why: string, actions: ReactNode): void {
  root.render(
    <div className="app-wait" role="alert">
      <img src={icon} alt="" width={40} height={40} />
      <h1>{what}</h1>
      <p>{why}</p>
      {actions}
    </div>,
  );
}

function renderPage(page: Page): void {
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
