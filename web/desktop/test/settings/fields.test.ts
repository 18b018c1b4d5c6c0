import { expect, it } from "vitest";
import { answered, type Entry, edited, type Field, fieldOf, lockOf, parsedText, textOf, withValues, wordsOf } from "../../src/settings/fields.js";
import type { SettingInfo, SettingState } from "../../src/shell/api.js";

function infoOf(name: string, more: Partial<SettingInfo> = {}): SettingInfo {
  return { name, doc: "", scope: "user", changedBy: "user", schema: { type: "string", maxLength: 35 }, ...more };
}

function stateOf(name: string, value: unknown, more: Partial<SettingState> = {}): SettingState {
  return { name, value, source: "default", ...more };
}

function entryOf(value: unknown, more: Partial<Entry> = {}): Entry {
  return { info: infoOf("language"), state: stateOf("language", value), draft: undefined, saving: false, problem: "", conflict: false, ...more };
}

it.each<[unknown, Field | undefined]>([
  [{ type: "boolean" }, { kind: "boolean" }],
  [{ type: "integer", minimum: 1, maximum: 5 }, { kind: "number", whole: true, min: 1, max: 5 }],
  [{ type: "number", minimum: 0, maximum: 0.5 }, { kind: "number", whole: false, min: 0, max: 0.5 }],
  [{ type: "string", enum: ["a", "b"] }, { kind: "choice", choices: ["a", "b"] }],
  [{ type: "string", minLength: 1, maxLength: 35 }, { kind: "text", min: 1, max: 35, long: false }],
  [{ type: "string", maxLength: 16384 }, { kind: "text", min: 0, max: 16384, long: true }],
  [{ type: "array", minItems: 0, maxItems: 3 }, { kind: "list", min: 0, max: 3 }],
  [{ type: "object" }, undefined],
  [null, undefined],
])("the field of %j", (schema, want) => {
  expect(fieldOf(schema)).toEqual(want);
});

const whole: Field = { kind: "number", whole: true, min: 1, max: 5 };
const text: Field = { kind: "text", min: 1, max: 3, long: false };
const list: Field = { kind: "list", min: 1, max: 2 };

it.each<[Field, string, unknown]>([
  [whole, " 3 ", { value: 3 }],
  [whole, "0", { mistake: "range" }],
  [whole, "6", { mistake: "range" }],
  [whole, "1.5", { mistake: "whole" }],
  [whole, "", { mistake: "number" }],
  [whole, "x", { mistake: "number" }],
  [{ kind: "number", whole: false, min: undefined, max: undefined }, "-1.5", { value: -1.5 }],
  [text, "", { mistake: "short" }],
  [text, "😀😀😀", { value: "😀😀😀" }],
  [text, "abcd", { mistake: "long" }],
  [list, " a \n\n b", { value: ["a", "b"] }],
  [list, "\n", { mistake: "short" }],
  [list, "a\nb\nc", { mistake: "long" }],
  [{ kind: "boolean" }, "true", { value: true }],
  [{ kind: "choice", choices: ["a"] }, "a", { value: "a" }],
])("%j reads %j", (field, typed, want) => {
  expect(parsedText(field, typed)).toEqual(want);
});

it.each<[unknown, string]>([
  ["ko", "ko"],
  [true, "true"],
  [1.5, "1.5"],
  [["a", "b"], "a\nb"],
])("%j is shown as %j", (value, want) => {
  expect(textOf(value)).toBe(want);
});

it("every setting of the catalogue that has a value is in the form, in its order", () => {
  const catalogue = [infoOf("b"), infoOf("key"), infoOf("a")];
  const entries = withValues(catalogue, [stateOf("a", 1), stateOf("b", 2)], []);
  expect(entries.map((e) => e.info.name)).toEqual(["b", "a"]);
});

it("a change from elsewhere is shown where nothing was typed", () => {
  const [entry] = withValues([infoOf("language")], [stateOf("language", "ko")], [entryOf("en", { problem: "old" })]);
  expect(entry).toMatchObject({ draft: undefined, conflict: false, problem: "", state: { value: "ko" } });
});

it("a change from elsewhere keeps what was typed and says so", () => {
  const typed = edited(entryOf("en"), "fr");
  const [entry] = withValues([infoOf("language")], [stateOf("language", "ko")], [typed]);
  expect(entry).toMatchObject({ draft: "fr", conflict: true, state: { value: "ko" } });
  const [again] = withValues([infoOf("language")], [stateOf("language", "ko")], [entry!]);
  expect(again).toMatchObject({ draft: "fr", conflict: true });
  expect(edited(again!, "ko")).toMatchObject({ draft: undefined, conflict: false });
});

it("the own change from elsewhere is no conflict", () => {
  const typed = edited(entryOf("en"), "ko");
  expect(withValues([infoOf("language")], [stateOf("language", "ko")], [typed])[0]).toMatchObject({ draft: undefined, conflict: false });
  const saving = { ...edited(entryOf(["x"]), "a\n"), saving: true };
  expect(withValues([infoOf("language")], [stateOf("language", ["a"])], [saving])[0]).toMatchObject({ draft: "a\n", conflict: false });
});

it("a saved value is no draft any more; what was typed meanwhile is", () => {
  const saving = { ...edited(entryOf("en"), "ko"), saving: true };
  expect(answered(saving, "ko", [stateOf("language", "ko")], undefined)).toMatchObject({ draft: undefined, saving: false, state: { value: "ko" } });
  expect(answered({ ...saving, draft: "kor" }, "ko", [stateOf("language", "ko")], [])).toMatchObject({ draft: "kor", saving: false });
});

it("a refused value stays, with the reason; a conflict has the new value", () => {
  const saving = { ...edited(entryOf("en"), "x"), saving: true };
  const values = [stateOf("language", "fr")];
  expect(answered(saving, "x", values, [{ name: "language", code: "range", detail: "too long" }])).toMatchObject({ draft: "x", problem: "too long", conflict: false });
  expect(answered(saving, "x", values, [{ name: "language", code: "conflict", detail: "" }])).toMatchObject({ draft: "x", problem: "", conflict: true, state: { value: "fr" } });
});

it("pinned values, those of admins and those of the hub are locked", () => {
  expect(lockOf(entryOf("en"), false)).toBe("");
  expect(lockOf(entryOf("en", { state: stateOf("language", "en", { pinned: "file pins.yaml" }) }), true)).toBe("pinned");
  expect(lockOf(entryOf("en", { info: infoOf("x", { changedBy: "admin" }) }), false)).toBe("admin");
  expect(lockOf(entryOf("en", { info: infoOf("x", { changedBy: "admin" }) }), true)).toBe("");
  expect(lockOf(entryOf("en", { info: infoOf("x", { scope: "hub" }) }), true)).toBe("hub");
});

it("names without a text are words", () => {
  expect([wordsOf("iconSize"), wordsOf("x"), wordsOf("maxTokens2Use")]).toEqual(["Icon size", "X", "Max tokens2 use"]);
});
