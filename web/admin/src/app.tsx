import { type ReactNode, useEffect, useLayoutEffect } from "react";
import { applyInitialTheme } from "../../desktop/src/shell/theme.js";
import { useMedia } from "../../desktop/src/shell/viewport.js";
import icon from "../../desktop/src/styles/icon.svg";
import { Boundary } from "../../desktop/src/ui/boundary.js";
import { Button } from "../../desktop/src/ui/button.js";
import { ActionDialog } from "./actions/dialog.js";
import { AuditPage } from "./audit/index.js";
import { useTexts } from "./i18n/use.js";
import { SessionPage } from "./session/index.js";
import type { AccessProblem } from "./state/store.js";
import { usePage } from "./state/use.js";
import { SessionsPage } from "./table/index.js";
import { page as texts } from "./texts.js";
import { Top } from "./top.js";

export function App(): ReactNode {
  const t = useTexts(texts);
  const barrier = usePage((s) => s.accessProblem);
  const me = usePage((s) => s.me);
  const route = usePage((s) => s.route);
  useDisplayPrefs();
  useTitle();
  if (barrier !== undefined) return <NoAccess why={barrier} />;
  if (me === undefined) return <p className="app-wait">{t.opening}</p>;
  return (
    <div className="page">
      <a className="page-skip" href="#main">
        {t.skip}
      </a>
      <Top />
      <main id="main" className="page-main" tabIndex={-1}>
        <Boundary
          resetKey={route}
          fallback={(error, again) => (
            <div className="empty" role="alert">
              <p>{t.broken}</p>
              <small>{error.message}</small>
              <Button onClick={again}>{t.again}</Button>
            </div>
          )}
        >
          {route.page === "sessions" && <SessionsPage query={route.query} />}
          {route.page === "session" && <SessionPage key={route.session} session={route.session} />}
          {route.page === "audit" && <AuditPage query={route.query} />}
        </Boundary>
      </main>
      <ActionDialog />
    </div>
  );
}

/** The page without access, with the reason and what the user can do. */
function NoAccess({ why }: { why: AccessProblem }): ReactNode {
  const t = useTexts(texts);
  const [what, how] = { stranger: [t.stranger, t.strangerHow], forbidden: [t.forbidden, t.forbiddenHow], unreachable: [t.unreachable, t.unreachableHow] }[why] as [string, string];
  return (
    <main className="app-wait" data-barrier={why}>
      <img src={icon} alt="" width={40} height={40} />
      <h1>{what}</h1>
      <p>{how}</p>
      {why === "stranger" && <a href="/login">{t.signIn}</a>}
      {why !== "unreachable" && (
        <Button kind="primary" onClick={() => location.reload()}>
          {t.again}
        </Button>
      )}
    </main>
  );
}

/** Applies theme and language to the page. */
function useDisplayPrefs(): void {
  const prefs = usePage((s) => s.prefs);
  const language = usePage((s) => s.language);
  const light = useMedia("(prefers-color-scheme: light)");
  const contrast = useMedia("(prefers-contrast: more)");
  // applyInitialTheme reads the media queries itself; they are dependencies so that a change applies.
  useLayoutEffect(() => applyInitialTheme(prefs, language), [prefs, language, light, contrast]);
}

function useTitle(): void {
  const t = useTexts(texts);
  const route = usePage((s) => s.route);
  const what = route.page === "session" ? route.session : route.page === "audit" ? t.audit : t.sessions;
  useEffect(() => {
    document.title = `${what} · ${t.name}`;
  }, [what, t.name]);
}
