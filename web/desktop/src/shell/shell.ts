// The state of the page: the mirror of the session, what this tab shows, and what the person chose. Components read it
// with `useShell` and change it through `Commands` only.

import { createStore, type StoreApi } from "zustand/vanilla";
import type {
  AgentID,
  ClientState,
  DesktopState,
  Link,
  Outbox,
  SessionID,
  View,
} from "../../../core/src/index.js";
import type { Language } from "../i18n/texts.js";
import type { HubInfo, Me } from "./api.js";
import type { Prefs } from "./prefs.js";

/** What is open over the desktop. There is one at a time. */
export type Panel = "" | "palette" | "help" | "inbox" | "notifications" | "sessions" | "settings" | "connect" | "join";

/** What the page itself has to say, in this tab only. */
export interface Notice {
  readonly id: number;
  readonly text: string;
  readonly tone: "info" | "success" | "warning" | "error";
  readonly until: number;
}

/** On a phone, what is in front. */
export type PhonePage = "chat" | "windows" | "inbox";

export interface Shell {
  readonly session: SessionID;
  readonly me: Me;
  readonly hub: HubInfo;

  readonly desktop: DesktopState;
  readonly link: Link;
  readonly outbox: Outbox;
  readonly ready: boolean;
  /** When each running agent was last heard of, by the clock of this browser. */
  readonly signs: ReadonlyMap<AgentID, number>;
  /** The browser says that there is a network. */
  readonly online: boolean;

  readonly view: View;
  readonly panel: Panel;
  readonly phonePage: PhonePage;
  readonly tour: boolean;
  /** The plan is looked at. */
  readonly planOpen: boolean;
  /** The next message is to be worked off as a plan. */
  readonly planFirst: boolean;
  /** The question that somebody wants to answer now, by its key. */
  readonly askWanted: string;
  readonly notices: readonly Notice[];

  readonly prefs: Prefs;
  readonly language: Language;
}

export type ShellStore = StoreApi<Shell>;

export function createShell(begin: Pick<Shell, "session" | "me" | "hub" | "view" | "prefs" | "language"> & ClientState): ShellStore {
  return createStore<Shell>(() => ({
    signs: new Map(),
    online: true,
    panel: "",
    phonePage: "chat",
    tour: false,
    planOpen: false,
    planFirst: false,
    askWanted: "",
    notices: [],
    ...begin,
  }));
}
