// A page without a browser: its state, its commands, and its components as HTML.

import type { ReactNode } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect } from "vitest";
import { type AgentMode, Client, emptyDesktop, newView } from "../../../core/src/index.js";
import { entriesOf } from "../../src/palette/entries.js";
import { Api, type Me, type Mode } from "../../src/shell/api.js";
import { Commands } from "../../src/shell/commands.js";
import { ShellContext } from "../../src/shell/context.js";
import type { HubClock } from "../../src/shell/hub-clock.js";
import { readPrefs } from "../../src/shell/prefs.js";
import { createShell, type Shell } from "../../src/shell/shell.js";
import { palette } from "../../src/texts/palette.js";

export const code: Mode = { id: "code", name: "Code", instructions: "You write.", toolProfile: "all", model: "", shipped: true };
export const ask: Mode = { id: "ask", name: "Ask", instructions: "You answer.", toolProfile: "read", model: "", shipped: true };
export const own: Mode = { id: "review", name: "Review", instructions: "Look for faults. Then name them.", toolProfile: "show", model: "" };
export const all = [code, ask, own];

export interface PageState {
  me?: Partial<Me>;
  mode?: AgentMode;
  more?: Partial<Shell>;
}

/** The state of a page, its commands, and what these have sent. */
export function page({ me = {}, mode, more = {} }: PageState) {
  const client = new Client({ url: "http://hub", session: "ses-1", clientId: "tab-1", connect: () => expect.fail("nothing connects") });
  const begin = {
    session: "ses-1",
    me: { user: "ada", roles: ["user"], ...me },
    hub: { version: "test", appsOrigin: "", providers: ["demo"], provider: "demo" },
    view: newView(new URLSearchParams(), null),
    prefs: readPrefs(null),
    language: "en" as const,
    ...client.state,
    desktop: { ...emptyDesktop(), agentMode: mode },
    modes: { modes: all, version: 1 },
    ownSession: true,
    ...more,
  };
  const store = createShell(begin);
  const answers: Record<string, unknown> = { "/api/modes": { modes: all, version: 2 }, "/api/sessions/ses-1": { user: "ada" } };
  const api = new Api(async (path) => Response.json(answers[String(path)]));
  const commands = new Commands({ store, client, api, now: () => 0, go: () => undefined, keepPrefs: () => undefined, forget: () => undefined, languages: [] });
  const html = (what: ReactNode): string => renderToStaticMarkup(<ShellContext value={{ store, commands, hubClock: {} as HubClock }}>{what}</ShellContext>);
  const sent = (): unknown[] => [...client.state.outbox.items, ...client.state.outbox.notes].map((m) => [m.type, m.data]);
  const entries = (): ReturnType<typeof entriesOf> =>
    entriesOf({ shell: store.getState(), commands, t: palette[store.getState().language], en: palette.en, sessions: [], query: "" }).filter((e) => e.id.startsWith("mode."));
  return { store, commands, html, sent, entries };
}
