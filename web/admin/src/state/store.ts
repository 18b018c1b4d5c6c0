// What the page knows, and what can be done with it.

import { createStore, type StoreApi } from "zustand/vanilla";
import { type Language, languageOf } from "../../../desktop/src/i18n/texts.js";
import { keepPrefs, type Prefs, prefsKey, readPrefs } from "../../../desktop/src/shell/prefs.js";
import { forBrowser } from "../../../desktop/src/shell/storage.js";
import type { AdminAction } from "../actions/action.js";
import { type Api, liveAddress, Refusal } from "../api/api.js";
import type { Detail, Me, Overview, Past, Rows } from "../api/types.js";
import { grown, type History, noHistory, recalled } from "./history.js";
import { type Link, listen } from "./live.js";
import { type Route, readRoute, writeRoute } from "./route.js";
import { emptyTable, merged, type Table, torn } from "./rows.js";

/** Why the page cannot show anything: nobody is signed in, or they are no admin. */
export type Barrier = "stranger" | "forbidden" | "unreachable";

export interface State {
  readonly me: Me | undefined;
  readonly barrier: Barrier | undefined;
  readonly prefs: Prefs;
  readonly language: Language;
  readonly route: Route;
  readonly link: Link;
  readonly overview: Overview | undefined;
  /** When the overview came, by the clock of this browser. */
  readonly heardAt: number;
  /** How far the hub's clock is ahead of ours. */
  readonly ahead: number;
  readonly history: History;
  readonly table: Table;
  /** The table as it was when updates were paused. */
  readonly paused: Table | undefined;
  /** Of the session that is looked at. */
  readonly detail: Detail | undefined;
  /** The session that was looked at last and is there no more. */
  readonly gone: string | undefined;
  /** What is about to be done. */
  readonly action: AdminAction | undefined;
}

export type Store = StoreApi<State>;

export interface Page {
  readonly store: Store;
  readonly api: Api;
  readonly go: (route: Route, replace?: boolean) => void;
  readonly choose: (change: Partial<Prefs>) => void;
  readonly pause: (paused: boolean) => void;
  readonly lose: (session: string) => void;
  readonly begin: (action: AdminAction | undefined) => void;
}

const languageNow = (prefs: Prefs): Language => languageOf(prefs.language, navigator.languages);

/** Makes the page and keeps it up to date. */
export function openPage(api: Api): Page {
  const prefs = readPrefs(forBrowser.getItem(prefsKey));
  const store = createStore<State>(() => ({
    me: undefined,
    barrier: undefined,
    prefs,
    language: languageNow(prefs),
    route: readRoute(location.pathname, location.search),
    link: "connecting",
    overview: undefined,
    heardAt: 0,
    ahead: 0,
    history: noHistory,
    table: emptyTable,
    paused: undefined,
    detail: undefined,
    gone: undefined,
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
  follow(store, api);
  return {
    store,
    api,
    go: (route, replace = false) => {
      history[replace ? "replaceState" : "pushState"](null, "", writeRoute(route));
      show(route);
    },
    choose: (change) => {
      const changed = { ...store.getState().prefs, ...change };
      keepPrefs(changed, forBrowser);
      store.setState({ prefs: changed, language: languageNow(changed) });
    },
    pause: (paused) => store.setState((s) => ({ paused: paused ? s.table : undefined })),
    lose: (session) => store.setState({ gone: session }),
    begin: (action) => store.setState({ action }),
  };
}

/** What is listened to for a route. */
function interestOf(route: Route): { rows: boolean; session?: string } {
  return route.page === "session" ? { rows: false, session: route.session } : { rows: route.page === "sessions" };
}

/** Asks who looks; the answer is whether they may. */
async function identify(store: Store, api: Api): Promise<boolean> {
  try {
    store.setState({ me: await api.me(), barrier: undefined });
    return true;
  } catch (error) {
    if (error instanceof Refusal && error.status === 401) store.setState({ barrier: "stranger" });
    else if (error instanceof Refusal && (error.status === 404 || error.status === 403)) store.setState({ barrier: "forbidden" });
    else if (store.getState().me === undefined) store.setState({ barrier: "unreachable" });
    return false;
  }
}

/** Hears what the hub pushes about what is looked at, for as long as the page is there. */
function follow(store: Store, api: Api): void {
  let stop: (() => void) | undefined;
  let heard = "";
  const frame = framed((change: (s: State) => Partial<State>) => store.setState(change));
  const connect = (): void => {
    const address = liveAddress(interestOf(store.getState().route));
    if (address === heard) return;
    stop?.();
    heard = address;
    stop = listen({
      address,
      kinds: ["history", "overview", "rows", "detail"],
      link: (link) => store.setState((s) => ({ link, ...(link === "live" ? {} : { table: torn(s.table) }) })),
      // Who was signed out, or is no admin any more, is told; a hub that is away is asked again.
      lost: async () => (await identify(store, api)) || !["stranger", "forbidden"].includes(store.getState().barrier ?? ""),
      hear: (kind, data) => frame((s) => heardChange(s, kind, data)),
    });
  };
  const begin = async (): Promise<void> => {
    if (await identify(store, api)) {
      connect();
      store.subscribe((s, before) => {
        if (s.route !== before.route) connect();
      });
    } else if (store.getState().barrier === "unreachable") setTimeout(() => void begin(), 2000);
  };
  void begin();
}

function heardChange(s: State, kind: string, data: unknown): Partial<State> {
  switch (kind) {
    case "history":
      return { history: recalled(s.history, data as Past) };
    case "overview": {
      const overview = data as Overview;
      const now = Date.now();
      return { overview, heardAt: now, ahead: overview.time - now, history: grown(s.history, overview) };
    }
    case "rows":
      return { table: merged(s.table, data as Rows) };
    default: {
      const detail = data as Detail;
      // What was asked for before is not what is looked at now.
      return s.route.page === "session" && detail.row.sessionId === s.route.session ? { detail } : {};
    }
  }
}

/** Collects changes and makes them once per frame; in a tab that nobody sees there are no frames, so a timer helps out. */
function framed(set: (change: (s: State) => Partial<State>) => void): (change: (s: State) => Partial<State>) => void {
  let waiting: ((s: State) => Partial<State>)[] = [];
  let frame = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = (): void => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
    timer = undefined;
    const all = waiting;
    waiting = [];
    set((s) => all.reduce((state, change) => ({ ...state, ...change(state) }), s));
  };
  return (change) => {
    waiting.push(change);
    if (timer !== undefined) return;
    frame = requestAnimationFrame(flush);
    timer = setTimeout(flush, 1000);
  };
}
