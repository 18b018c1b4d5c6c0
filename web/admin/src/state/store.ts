// The state of the page and its actions.

import { createStore, type StoreApi } from "zustand/vanilla";
import { type Language, languageOf } from "../../../desktop/src/i18n/texts.js";
import { keepPrefs, type Prefs, prefsKey, readPrefs } from "../../../desktop/src/shell/prefs.js";
import { forBrowser } from "../../../desktop/src/shell/storage.js";
import type { AdminAction } from "../actions/action.js";
import { type Api, liveAddress, ProblemError } from "../api/api.js";
import type { Detail, Me, Overview, Past, Rows } from "../api/types.js";
import { type History, noHistory, withOverview, withPast } from "./history.js";
import { type Link, subscribe } from "./live.js";
import { type Route, readRoute, writeRoute } from "./route.js";
import { applyRows, emptyTable, type Table, withoutIncoming } from "./rows.js";

/** Why the page shows nothing: the user is not signed in, is no admin, or the hub is unreachable. */
export type AccessProblem = "stranger" | "forbidden" | "unreachable";

export interface State {
  readonly me: Me | undefined;
  readonly accessProblem: AccessProblem | undefined;
  readonly prefs: Prefs;
  readonly language: Language;
  readonly route: Route;
  readonly link: Link;
  readonly overview: Overview | undefined;
  /** When the overview was received, by the browser's clock. */
  readonly overviewAt: number;
  /** The hub's clock minus the browser's, in ms. */
  readonly clockOffset: number;
  readonly history: History;
  readonly table: Table;
  /** The table at the time updates were paused. */
  readonly paused: Table | undefined;
  /** The details of the shown session. */
  readonly detail: Detail | undefined;
  /** The shown session, if it was deleted. */
  readonly deletedSession: string | undefined;
  /** The admin action whose dialog is open. */
  readonly action: AdminAction | undefined;
}

export type Store = StoreApi<State>;

export interface Page {
  readonly store: Store;
  readonly api: Api;
  readonly go: (route: Route, replace?: boolean) => void;
  readonly setPrefs: (change: Partial<Prefs>) => void;
  readonly pause: (paused: boolean) => void;
  readonly markDeleted: (session: string) => void;
  readonly openAction: (action: AdminAction | undefined) => void;
}

const languageNow = (prefs: Prefs): Language => languageOf(prefs.language, navigator.languages);

/** Creates the page and starts to follow the hub. */
export function openPage(api: Api): Page {
  const prefs = readPrefs(forBrowser.getItem(prefsKey));
  const store = createStore<State>(() => ({
    me: undefined,
    accessProblem: undefined,
    prefs,
    language: languageNow(prefs),
    route: readRoute(location.pathname, location.search),
    link: "connecting",
    overview: undefined,
    overviewAt: 0,
    clockOffset: 0,
    history: noHistory,
    table: emptyTable,
    paused: undefined,
    detail: undefined,
    deletedSession: undefined,
    action: undefined,
  }));
  const show = (route: Route): void => {
    const before = store.getState().route;
    const other = route.page !== "session" || before.page !== "session" || before.session !== route.session;
    store.setState({ route, action: undefined, ...(other ? { detail: undefined } : {}) });
  };
  addEventListener("popstate", () => show(readRoute(location.pathname, location.search)));
  addEventListener("storage", (e) => {
    if (e.key !== prefsKey) return;
    const changed = readPrefs(e.newValue);
    store.setState({ prefs: changed, language: languageNow(changed) });
  });
  followHub(store, api);
  return {
    store,
    api,
    go: (route, replace = false) => {
      history[replace ? "replaceState" : "pushState"](null, "", writeRoute(route));
      show(route);
    },
    setPrefs: (change) => {
      const changed = { ...store.getState().prefs, ...change };
      keepPrefs(changed, forBrowser);
      store.setState({ prefs: changed, language: languageNow(changed) });
    },
    pause: (paused) => store.setState((s) => ({ paused: paused ? s.table : undefined })),
    markDeleted: (session) => store.setState({ deletedSession: session }),
    openAction: (action) => store.setState({ action }),
  };
}

/** The data that a route needs. */
function interestOf(route: Route): { rows: boolean; session?: string } {
  return route.page === "session" ? { rows: false, session: route.session } : { rows: route.page === "sessions" };
}

/** Loads the user; false if they have no access or the hub is unreachable. */
async function loadUser(store: Store, api: Api): Promise<boolean> {
  try {
    store.setState({ me: await api.me(), accessProblem: undefined });
    return true;
  } catch (error) {
    if (error instanceof ProblemError && error.status === 401) store.setState({ accessProblem: "stranger" });
    else if (error instanceof ProblemError && (error.status === 404 || error.status === 403)) store.setState({ accessProblem: "forbidden" });
    else if (store.getState().me === undefined) store.setState({ accessProblem: "unreachable" });
    return false;
  }
}

/** Follows the hub's event stream for the current route, as long as the page lives. */
function followHub(store: Store, api: Api): void {
  let stop: (() => void) | undefined;
  let current = "";
  const batch = batchPerFrame((change: (s: State) => Partial<State>) => store.setState(change));
  const connect = (): void => {
    const address = liveAddress(interestOf(store.getState().route));
    if (address === current) return;
    stop?.();
    current = address;
    stop = subscribe({
      address,
      kinds: ["history", "overview", "rows", "detail"],
      onLink: (link) => store.setState((s) => ({ link, ...(link === "live" ? {} : { table: withoutIncoming(s.table) }) })),
      // It does not reconnect after a sign-out or a lost permission, but does if the hub is unreachable.
      shouldReconnect: async () => (await loadUser(store, api)) || !["stranger", "forbidden"].includes(store.getState().accessProblem ?? ""),
      onEvent: (kind, data) => batch((s) => applyStreamEvent(s, kind, data)),
    });
  };
  const start = async (): Promise<void> => {
    if (await loadUser(store, api)) {
      connect();
      store.subscribe((s, before) => {
        if (s.route !== before.route) connect();
      });
    } else if (store.getState().accessProblem === "unreachable") setTimeout(() => void start(), 2000);
  };
  void start();
}

function applyStreamEvent(s: State, kind: string, data: unknown): Partial<State> {
  switch (kind) {
    case "history":
      return { history: withPast(s.history, data as Past) };
    case "overview": {
      const overview = data as Overview;
      const now = Date.now();
      return { overview, overviewAt: now, clockOffset: overview.time - now, history: withOverview(s.history, overview) };
    }
    case "rows":
      return { table: applyRows(s.table, data as Rows) };
    default: {
      const detail = data as Detail;
      // The details of a previous route are dropped.
      return s.route.page === "session" && detail.row.sessionId === s.route.session ? { detail } : {};
    }
  }
}

/**
 * Batches changes and applies them once per animation frame; a hidden tab gets no frames, so a timer runs in any case.
 */
function batchPerFrame(set: (change: (s: State) => Partial<State>) => void): (change: (s: State) => Partial<State>) => void {
  let pending: ((s: State) => Partial<State>)[] = [];
  let frame = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = (): void => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
    timer = undefined;
    const all = pending;
    pending = [];
    set((s) => all.reduce((state, change) => ({ ...state, ...change(state) }), s));
  };
  return (change) => {
    pending.push(change);
    if (timer !== undefined) return;
    frame = requestAnimationFrame(flush);
    timer = setTimeout(flush, 1000);
  };
}
