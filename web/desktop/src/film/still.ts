// A page without a connection: it draws a session with the components of the desktop, and its commands send nothing.

import { type Client, type DesktopState, emptyDesktop, newLink, newView, type SessionID } from "../../../core/src/index.js";
import type { Language } from "../i18n/texts.js";
import type { Api, HubInfo, Me } from "../shell/api.js";
import type { Page } from "../shell/boot.js";
import { Commands } from "../shell/commands.js";
import { browserHubClock } from "../shell/hub-clock.js";
import { prefsKey, readPrefs } from "../shell/prefs.js";
import { createShell } from "../shell/shell.js";
import { forBrowser } from "../shell/storage.js";

export interface StillOptions {
  session: SessionID;
  language: Language;
  api: Api;
  me: Me;
  hub: HubInfo;
  desktop?: DesktopState;
  listen?: Page["listen"];
}

const nothing = (): void => undefined;

export function stillPage({ session, language, api, me, hub, desktop = emptyDesktop(), listen = () => nothing }: StillOptions): Page {
  const view = newView(new URLSearchParams(location.search), null);
  const outbox = { items: [], notes: [], hold: 0, gap: 0, last: 0 };
  const state = { desktop, link: newLink(), outbox, ready: true };
  const store = createShell({ session, me, hub, prefs: readPrefs(forBrowser.getItem(prefsKey)), language, view, ...state });
  const client = { state, send: () => "film", retry: () => undefined } as unknown as Client;
  const commands = new Commands({ store, client, api, now: () => Date.now(), go: nothing, keepPrefs: nothing, forget: nothing, languages: navigator.languages });
  return { store, commands, hubClock: browserHubClock(), client, listen };
}
