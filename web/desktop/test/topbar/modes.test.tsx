import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { type AgentMode, Client, emptyDesktop, newView } from "../../../core/src/index.js";
import { entriesOf } from "../../src/palette/entries.js";
import { Api, type Me, type Mode } from "../../src/shell/api.js";
import { Commands } from "../../src/shell/commands.js";
import { ShellContext } from "../../src/shell/context.js";
import type { HubClock } from "../../src/shell/hub-clock.js";
import { readPrefs } from "../../src/shell/prefs.js";
import { createShell, type Shell } from "../../src/shell/shell.js";
import { topbar as texts } from "../../src/texts/entry.js";
import { palette } from "../../src/texts/parts.js";
import { ModeChip, ModeItems } from "../../src/topbar/mode.js";
import { modeChoices, modeName, modeNote, toolsNote } from "../../src/topbar/modes.js";

const code: Mode = { id: "code", name: "Code", instructions: "You write.", toolProfile: "all", model: "", shipped: true };
const ask: Mode = { id: "ask", name: "Ask", instructions: "You answer.", toolProfile: "read", model: "", shipped: true };
const own: Mode = { id: "review", name: "Review", instructions: "Look for faults. Then name them.", toolProfile: "show", model: "" };
const all = [code, ask, own];

interface Page {
  me?: Partial<Me>;
  mode?: AgentMode;
  more?: Partial<Shell>;
}

/** The state of a page, its commands, and what these have sent. */
function page({ me = {}, mode, more = {} }: Page) {
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
  const html = (what: "chip" | "items"): string =>
    renderToStaticMarkup(<ShellContext value={{ store, commands, hubClock: {} as HubClock }}>{what === "chip" ? <ModeChip /> : <ModeItems close={() => undefined} />}</ShellContext>);
  const sent = (): unknown[] => [...client.state.outbox.items, ...client.state.outbox.notes].map((m) => [m.type, m.data]);
  const entries = (): ReturnType<typeof entriesOf> =>
    entriesOf({ shell: store.getState(), commands, t: palette[store.getState().language], en: palette.en, sessions: [], query: "" }).filter((e) => e.id.startsWith("mode."));
  return { store, commands, html, sent, entries };
}

it("the modes of the hub have a description in the language of the page, others the beginning of their instructions", () => {
  expect(modeNote(ask, texts.ko)).toBe(texts.ko.modeAskNote);
  expect(modeNote({ ...ask, overridden: true }, texts.ko)).toBe("You answer.");
  expect(modeNote(own, texts.en)).toBe("Look for faults.");
  expect(modeNote({ ...own, instructions: "Version 1.2 is read\nsecond line" }, texts.en)).toBe("Version 1.2 is read");
  expect(modeNote({ ...own, instructions: "  " }, texts.en)).toBe(texts.en.modeToolsShow);
  const long = modeNote({ ...own, instructions: "😀".repeat(200) }, texts.en);
  expect([...long]).toHaveLength(80);
  expect(long.endsWith("😀…"), long).toBe(true);
  expect(toolsNote("later", texts.en), "a tool profile of a later hub").toBe("later");
});

it("a mode of the hub is named in the language of the page unless the user has renamed it", () => {
  expect(modeName(code, texts.ko)).toBe(texts.ko.modeCode);
  expect(modeName({ id: "code", name: "Mine" }, texts.ko)).toBe("Mine");
  expect(modeName({ id: "x" }, texts.ko)).toBe("x");
});

it("the choices are none, all modes, and the current one if it was deleted", () => {
  const checked = (current: AgentMode | undefined): string[] => modeChoices(all, current, texts.en).map((c) => `${c.id}${c.checked ? "*" : ""}${c.deleted ? " deleted" : ""}`);
  expect(checked(undefined)).toEqual(["*", "code", "ask", "review"]);
  expect(checked({ id: "ask", name: "Ask" })).toEqual(["", "code", "ask*", "review"]);
  expect(checked({ id: "old", name: "Old", toolProfile: "read" })).toEqual(["", "code", "ask", "review", "old* deleted"]);
});

it("the owner of the session has a menu, also while it is not known whose session it is", () => {
  expect(page({}).html("chip")).toMatch(/<button[^>]*aria-label="Mode: No mode"[^>]*aria-haspopup="menu"/);
  expect(page({ mode: { id: "review", name: "Review" }, more: { ownSession: undefined } }).html("chip")).toMatch(/<button[^>]*aria-label="Mode: Review"/);
  expect(page({ mode: { id: "ask", name: "Ask" }, more: { language: "ko" } }).html("chip")).toContain(`aria-label="모드: ${texts.ko.modeAsk}"`);
});

it.each<[string, Page]>([
  ["a guest", { me: { session: "ses-1" } }],
  ["a viewer", { me: { roles: ["viewer"] } }],
  ["another user", { more: { ownSession: false } }],
])("%s sees the mode and cannot change it", (_, who) => {
  const mode = { id: "review", name: "Review" };
  const html = page({ ...who, mode }).html("chip");
  expect(html).toContain("Mode: Review");
  expect(html).not.toContain("<button");
  expect(page({ ...who, mode }).entries()).toEqual([]);
  expect(page(who).html("chip"), "without a mode").toBe("");
});

it("the menu has one checked mode, descriptions, and says what is wrong with the current one", () => {
  const html = page({ mode: { id: "old", name: "Old", model: "gone", modelMissing: true } }).html("items");
  expect(html.match(/role="menuitemradio"/g)).toHaveLength(5);
  expect(html.match(/aria-checked="true"/g)).toHaveLength(1);
  for (const part of ["Look for faults.", texts.en.modeCodeNote, texts.en.modeDeleted, texts.en.modeModelMissing("gone")]) expect(html).toContain(part);
  const unread = page({ mode: { id: "old", name: "Old" }, more: { modes: undefined } }).html("items");
  expect(unread).toContain(texts.en.modesReading);
  expect(unread, "whether it was deleted is not known").not.toContain(`>${texts.en.modeDeleted}<`);
});

it("the palette has the modes that the session does not have, and sends the choice", () => {
  const { entries, sent } = page({ mode: { id: "code", name: "Code" }, more: { language: "ko" } });
  expect(entries().map((e) => [e.id, e.title, e.words])).toEqual([
    ["mode.", `모드: ${texts.ko.modeNone}`, "Mode: No mode"],
    ["mode.ask", `모드: ${texts.ko.modeAsk}`, "Mode: Ask"],
    ["mode.review", "모드: Review", "Mode: Review"],
  ]);
  for (const e of entries()) e.run();
  expect(sent()).toEqual(["", "ask", "review"].map((mode) => ["SET_MODE", { mode }]));
});

it("reading the modes also tells whose session it is", async () => {
  const mine = page({ more: { modes: undefined, ownSession: undefined } });
  await mine.commands.loadModes();
  expect([mine.store.getState().modes?.version, mine.store.getState().ownSession]).toEqual([2, true]);
  const other = page({ me: { user: "bob" }, more: { ownSession: undefined } });
  await other.commands.loadModes();
  expect(other.store.getState().ownSession).toBe(false);
});
