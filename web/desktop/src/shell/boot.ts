// Starts a page: identifies the user, chooses the session and connects a client. Code that touches the browser
// is here and in main.tsx; everything else works on the shell.

import { Client, type HubEvent, newView, type SessionID, saveView } from "../../../core/src/index.js";
import { languageOf } from "../i18n/texts.js";
import { accountNames } from "./account.js";
import { Api, type HubInfo, type Me } from "./api.js";
import { Commands } from "./commands.js";
import type { ShellServices } from "./context.js";
import { StateFollower } from "./follower.js";
import { browserHubClock } from "./hub-clock.js";
import { keepPrefs, prefsKey, readPrefs } from "./prefs.js";
import { hasAccount } from "./select.js";
import { createShell, type ShellStore } from "./shell.js";
import { clearUserData, forBrowser, forTab, recordVisit } from "./storage.js";
import { nameTab } from "./tab.js";
import { hasRoomForDrawer } from "./viewport.js";

/** A started page with its event listeners. */
export interface Page extends ShellServices {
  readonly client: Client;
  /** Subscribes to all events of the session; returns the unsubscribe function. */
  listen(hear: Listener): () => void;
}

export type Listener = (event: HubEvent, replayed: boolean) => void;

/** A user who reads one session with a link, without signing in. */
export interface Guest {
  readonly me: Me;
  readonly hub: HubInfo;
  readonly session: SessionID;
}

/** Identifies the user, unless there is a guest, chooses the session and connects to it. */
export async function boot(guest?: Guest): Promise<Page> {
  const api = new Api((input, init) => fetch(input, { credentials: "same-origin", ...init }));
  const query = new URLSearchParams(location.search);
  const random = (): string => crypto.getRandomValues(new Uint32Array(2)).join("-");
  const [me, hub, tab] = await Promise.all([guest?.me ?? api.me(), guest?.hub ?? api.hub(), nameTab({ storage: forTab, locks: navigator.locks, random })]);
  const session = guest?.session ?? query.get("session") ?? (await chooseSession(api));
  if (guest === undefined && query.get("session") === null) {
    query.set("session", session);
    history.replaceState(null, "", `/?${query}`);
  }

  const prefs = readPrefs(forBrowser.getItem(prefsKey));
  const listeners = new Set<Listener>();
  const hubClock = browserHubClock();
  let follower: StateFollower | undefined;
  const client = new Client({
    url: location.origin,
    session,
    clientId: tab,
    user: me.user,
    connect: (url, protocols) => new WebSocket(url, protocols),
    probe: () => api.probe(session),
    storage: forTab,
    memory: forBrowser,
    onChange: (state) => follower?.update(state),
    onEvent: (event, replayed) => {
      hubClock.recordTime(event, replayed);
      follower?.recordSign(event);
      for (const hear of listeners) hear(event, replayed);
    },
  });
  for (const storage of [forBrowser, forTab]) recordVisit(storage, session);
  const viewKey = `everdesk.view.${session}`;
  const language = languageOf(prefs.language, navigator.languages);
  const view = newView(query, forTab.getItem(viewKey), hasRoomForDrawer());
  const store = createShell({ session, me, hub, prefs, language, view, ...client.state });
  if (query.has("film")) store.setState({ panel: "film" }); // a link to a moment
  follower = new StateFollower(store, Date.now);
  const commands = new Commands({
    store,
    client,
    api,
    now: () => Date.now(),
    go: (url) => location.assign(url),
    keepPrefs: (p) => keepPrefs(p, forBrowser),
    forget: () => clearUserData([forBrowser, forTab]),
    languages: navigator.languages,
    viewer: () => ({
      language: store.getState().language,
      timeZone: new Intl.DateTimeFormat().resolvedOptions().timeZone,
      ...desktopSize(),
    }),
  });
  store.subscribe((now, before) => {
    if (now.view !== before.view) saveView(now.view, forTab, viewKey);
  });
  watchBrowser(store, client);
  if (hasAccount(me)) {
    const loadModels = (): void => void commands.loadModels().catch(() => undefined);
    const loadModes = (): void => void commands.loadModes().catch(() => undefined);
    const loadAccount = (): void => void commands.loadAccount().catch(() => undefined);
    listeners.add((event) => {
      if (event.type !== "SETTINGS_CHANGED") return;
      if (event.data.names?.includes("modelProfiles")) loadModels();
      if (event.data.names?.includes("modes")) loadModes();
      if (event.data.names?.some((n) => accountNames.includes(n))) loadAccount();
    });
    loadModels();
    loadModes();
    loadAccount();
  }
  client.start();
  return {
    store,
    commands,
    hubClock,
    client,
    listen(hear) {
      listeners.add(hear);
      return () => listeners.delete(hear);
    },
  };
}

/** The session that was used last, or a new one. */
async function chooseSession(api: Api): Promise<SessionID> {
  const usable = (await api.sessions()).find((s) => s.setAside !== true);
  return usable?.sessionId ?? (await api.createSession("")).sessionId;
}

/** Forwards visibility, network and storage events of the browser to the shell and the client. */
function watchBrowser(store: ShellStore, client: Client): void {
  const awake = (): void => {
    if (document.visibilityState === "visible") client.wake();
  };
  document.addEventListener("visibilitychange", awake);
  document.addEventListener("resume", awake);
  addEventListener("pageshow", awake);
  addEventListener("focus", awake);
  const network = (): void => {
    store.setState({ online: navigator.onLine });
    if (navigator.onLine) client.wake();
  };
  addEventListener("online", network);
  addEventListener("offline", network);
  network();
  addEventListener("storage", (e) => {
    if (e.key !== prefsKey) return;
    const prefs = readPrefs(e.newValue);
    store.setState({ prefs, language: languageOf(prefs.language, navigator.languages) });
  });
}

/** The size of the area for windows; in the phone layout, of the page. */
function desktopSize(): { width: number; height: number } {
  const canvas = document.querySelector("[data-region=canvas]");
  return { width: Math.round(canvas?.clientWidth ?? innerWidth), height: Math.round(canvas?.clientHeight ?? innerHeight) };
}
