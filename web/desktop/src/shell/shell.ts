// The state of the page: the client state of the session, the view of this tab, and the preferences. Components read it
// with `useShell` and change it only through `Commands`.

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
import type { Account } from "./account.js";
import type { HubInfo, Me, ModelProfiles, Modes } from "./api.js";
import type { Prefs } from "./prefs.js";

/** The panel over the desktop; at most one is open. */
export type Panel = "" | "palette" | "help" | "inbox" | "notifications" | "sessions" | "settings" | "alone" | "connect" | "modes" | "servers" | "domains" | "join" | "programs" | "film" | "compare" | "launcher" | "share";

/** A notice of the page itself, shown in this tab only. */
export interface Notice {
  readonly id: number;
  readonly text: string;
  readonly tone: "info" | "success" | "warning" | "error";
  readonly until: number;
  /** A button of the notice. */
  readonly action?: { readonly label: string; readonly press: () => void };
}

/** The visible page of the phone layout. */
export type PhonePage = "chat" | "windows" | "inbox";

export interface Shell {
  readonly session: SessionID;
  readonly me: Me;
  readonly hub: HubInfo;
  /** The model profiles of the user; undefined until they are read, and for guests. */
  readonly models: ModelProfiles | undefined;
  /** The modes of the user; undefined until they are read, and for guests. */
  readonly modes: Modes | undefined;
  /** The settings that the page uses; undefined until they are read, and for guests. */
  readonly account: Account | undefined;
  /** Whether the session is the user's own; undefined until that is known, and for guests. */
  readonly ownSession: boolean | undefined;

  readonly desktop: DesktopState;
  readonly link: Link;
  readonly outbox: Outbox;
  readonly ready: boolean;
  /** The time of the last event of each running agent, by the browser's clock. */
  readonly signs: ReadonlyMap<AgentID, number>;
  /** Whether the browser reports a network. */
  readonly online: boolean;

  readonly view: View;
  readonly panel: Panel;
  readonly phonePage: PhonePage;
  readonly tour: boolean;
  /** Whether the plan panel is open. */
  readonly planOpen: boolean;
  /** Whether the next message is planned first. */
  readonly planFirst: boolean;
  /** The key of the question to show. */
  readonly askWanted: string;
  readonly notices: readonly Notice[];

  readonly prefs: Prefs;
  readonly language: Language;
}

export type ShellStore = StoreApi<Shell>;

export function createShell(begin: Pick<Shell, "session" | "me" | "hub" | "view" | "prefs" | "language"> & ClientState): ShellStore {
  return createStore<Shell>(() => ({
    models: undefined,
    modes: undefined,
    account: undefined,
    ownSession: undefined,
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
