import { expect, it } from "vitest";
import type { AgentMode } from "../../../core/src/index.js";
import { topbar as texts } from "../../src/texts/entry.js";
import { ModeChip, ModeItems, PhoneMode } from "../../src/topbar/mode.js";
import { modeChoices, modeName, modeNote, toolsNote } from "../../src/topbar/modes.js";
import { all, ask, code, own, type PageState, page } from "../modes/page.js";

const items = <ModeItems close={() => undefined} />;

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
  expect(page({}).html(<ModeChip />)).toMatch(/<button[^>]*aria-label="Mode: No mode"[^>]*aria-haspopup="menu"/);
  expect(page({ mode: { id: "review", name: "Review" }, more: { ownSession: undefined } }).html(<ModeChip />)).toMatch(/<button[^>]*aria-label="Mode: Review"/);
  expect(page({ mode: { id: "ask", name: "Ask" }, more: { language: "ko" } }).html(<ModeChip />)).toContain(`aria-label="모드: ${texts.ko.modeAsk}"`);
});

it.each<[string, PageState]>([
  ["a guest", { me: { session: "ses-1" } }],
  ["a viewer", { me: { roles: ["viewer"] } }],
  ["another user", { more: { ownSession: false } }],
])("%s sees the mode and cannot change it", (_, who) => {
  const mode = { id: "review", name: "Review" };
  const html = page({ ...who, mode }).html(<ModeChip />);
  expect(html).toContain("Mode: Review");
  expect(html).not.toContain("<button");
  expect(page({ ...who, mode }).entries()).toEqual([]);
  const phone = page({ ...who, mode }).html(<PhoneMode close={() => undefined} />);
  expect(phone).toContain("Mode: Review");
  expect(phone).not.toContain("<button");
  expect(page(who).html(<ModeChip />), "without a mode").toBe("");
});

it("the menu has one checked mode, descriptions, and says what is wrong with the current one", () => {
  const html = page({ mode: { id: "old", name: "Old", model: "gone", modelMissing: true } }).html(items);
  expect(html.match(/role="menuitemradio"/g)).toHaveLength(5);
  expect(html.match(/aria-checked="true"/g)).toHaveLength(1);
  for (const part of ["Look for faults.", texts.en.modeCodeNote, texts.en.modeDeleted, texts.en.modeModelMissing("gone")]) expect(html).toContain(part);
  const unread = page({ mode: { id: "old", name: "Old" }, more: { modes: undefined } }).html(items);
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
