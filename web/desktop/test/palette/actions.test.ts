import { expect, test } from "vitest";
import { actions } from "../../src/palette/actions.js";
import { actionFor } from "../../src/palette/keys.js";
import { palette as texts } from "../../src/texts/palette.js";

const key = (key: string, held: Partial<KeyboardEvent> = {}, code = ""): KeyboardEvent =>
  ({ key, code, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...held }) as KeyboardEvent;

const free = { typing: false, inModal: false, onMac: false };

test("every action has its own id and shortcut, and a title in both languages", () => {
  const ids = actions.map((a) => a.id);
  const combos = actions.flatMap((a) => a.combo ?? []);
  expect(new Set(ids).size).toBe(ids.length);
  expect(new Set(combos).size).toBe(combos.length);
  for (const a of actions) for (const t of [texts.en, texts.ko]) expect(a.title(t)).not.toBe("");
});

test("keys find their action", () => {
  expect(actionFor(key("k", { ctrlKey: true }, "KeyK"), free)?.id).toBe("open.palette");
  expect(actionFor(key("2", { altKey: true }, "Digit2"), free)?.id).toBe("monitor.2");
  expect(actionFor(key("F6", { shiftKey: true }, "F6"), free)?.id).toBe("region.previous");
  expect(actionFor(key("?", { shiftKey: true }, "Slash"), free)?.id).toBe("open.help");
  expect(actionFor(key("k", {}, "KeyK"), free)).toBeUndefined();
});

test("typing text triggers no action", () => {
  expect(actionFor(key("?", { shiftKey: true }, "Slash"), { ...free, typing: true })).toBeUndefined();
  expect(actionFor(key("i", { altKey: true }, "KeyI"), { ...free, typing: true })?.id).toBe("open.inbox");
  expect(actionFor(key("ˆ", { altKey: true }, "KeyI"), { ...free, typing: true, onMac: true })).toBeUndefined();
});

test("a modal keeps its keys", () => {
  expect(actionFor(key("2", { altKey: true }, "Digit2"), { ...free, inModal: true })).toBeUndefined();
  expect(actionFor(key("k", { ctrlKey: true }, "KeyK"), { ...free, inModal: true })?.id).toBe("open.palette");
});
