import { Settings2 } from "lucide-react";
import type { MouseEvent, ReactNode } from "react";
import type { Theme } from "../../desktop/src/shell/prefs.js";
import icon from "../../desktop/src/styles/icon.svg";
import { IconButton } from "../../desktop/src/ui/button.js";
import { Menu, MenuItem } from "../../desktop/src/ui/menu.js";
import { useFormat, useTexts } from "./i18n/use.js";
import type { Route } from "./state/route.js";
import { writeRoute } from "./state/route.js";
import { useActions, useHubTime, usePage } from "./state/use.js";
import { page as texts } from "./texts.js";

/** The bar at the top: navigation, connection, user. */
export function Top(): ReactNode {
  const t = useTexts(texts);
  const me = usePage((s) => s.me)!;
  const page = usePage((s) => s.route.page);
  return (
    <header className="top">
      <span className="top-name">
        <img src={icon} alt="" width={20} height={20} />
        {t.name}
      </span>
      <nav className="top-nav" aria-label={t.navigation}>
        <PageLink to={{ page: "sessions", query: "" }} current={page === "sessions"}>
          {t.sessions}
        </PageLink>
        <PageLink to={{ page: "audit", query: "" }} current={page === "audit"}>
          {t.audit}
        </PageLink>
      </nav>
      <LinkState />
      <span className="top-rest">
        {!me.act && <Note text={t.reader} why={t.readerWhy} />}
        {!me.content && <Note text={t.hidden} why={t.hiddenWhy} />}
        <span className="top-user">{me.user}</span>
        <DisplayMenu />
      </span>
    </header>
  );
}

function Note({ text, why }: { text: string; why: string }): ReactNode {
  return (
    <span className="chip" title={why}>
      {text}
      <span className="hidden-text">{why}</span>
    </span>
  );
}

/** A link within the page. With a modifier key the browser opens it as usual. */
export function PageLink({ to, current = false, className, tabIndex, children }: { to: Route; current?: boolean; className?: string; tabIndex?: number; children: ReactNode }): ReactNode {
  const { go } = useActions();
  const follow = (e: MouseEvent): void => {
    if (e.ctrlKey || e.metaKey || e.shiftKey || e.altKey || e.button !== 0) return;
    e.preventDefault();
    go(to);
  };
  return (
    <a href={writeRoute(to)} className={className} tabIndex={tabIndex} aria-current={current ? "page" : undefined} onClick={follow}>
      {children}
    </a>
  );
}

/** The age of the overview from which the data counts as stale, in ms. */
const staleAfter = 3000;

function LinkState(): ReactNode {
  const t = useTexts(texts);
  const f = useFormat();
  const link = usePage((s) => s.link);
  const heardAt = usePage((s) => s.overviewAt);
  const ahead = usePage((s) => s.clockOffset);
  const quiet = useHubTime() - ahead - heardAt;
  const old = heardAt > 0 && quiet > staleAfter;
  const state = link === "live" && old ? "stale" : link;
  const text = { live: t.live, connecting: t.connecting, reconnecting: t.reconnecting, stale: t.live }[state];
  return (
    <span className="top-link" role="status" data-link={state}>
      <i className={`dot dot-${state === "live" ? "success" : "warning"}`} aria-hidden />
      {state === "stale" ? "" : text} {old && t.stale(f.age(quiet))}
    </span>
  );
}

function DisplayMenu(): ReactNode {
  const t = useTexts(texts);
  const { setPrefs } = useActions();
  const prefs = usePage((s) => s.prefs);
  const themes: [Theme, string][] = [
    ["system", t.themeSystem],
    ["dark", t.themeDark],
    ["light", t.themeLight],
    ["contrast", t.themeContrast],
  ];
  const languages: ["system" | "en" | "ko", string][] = [
    ["system", t.languageSystem],
    ["en", "English"],
    ["ko", "한국어"],
  ];
  return (
    <Menu label={t.menu} align="end" trigger={(menu) => <IconButton icon={Settings2} label={t.menu} {...menu} />}>
      {() => (
        <>
          <div role="group" aria-label={t.theme}>
            <div className="menu-title">{t.theme}</div>
            {themes.map(([id, name]) => (
              <MenuItem key={id} checked={prefs.theme === id} onSelect={() => setPrefs({ theme: id })}>
                {name}
              </MenuItem>
            ))}
          </div>
          <hr />
          <div role="group" aria-label={t.language}>
            <div className="menu-title">{t.language}</div>
            {languages.map(([id, name]) => (
              <MenuItem key={id} checked={prefs.language === id} onSelect={() => setPrefs({ language: id })}>
                {name}
              </MenuItem>
            ))}
          </div>
        </>
      )}
    </Menu>
  );
}
