import { expect, test } from "vitest";
import { viewOf } from "../src/replicas/index.js";
import { defaultView, isFiltered, readView, rowsOfView, sorts, type View, writeView } from "../src/table/filter.js";
import { row } from "./fixtures.js";

test.each<[string, Partial<View>]>([
  ["", {}],
  ["user=ann", { user: "ann" }],
  ["status=stalled&owner=hub-2", { status: "stalled", owner: "hub-2" }],
  ["text=%EB%B2%A0%EB%9E%80%EB%8B%A4+%26+more", { text: "베란다 & more" }],
  ["stuck=true&questions=true&errors=true&tabs=0", { stuck: true, questions: true, errors: true, untabbed: true }],
  ["sort=cost&desc=true", { sort: "cost", descending: true }],
  ["sort=updated", { descending: false }],
  ["sort=user", { sort: "user", descending: false }],
])("the address %s and its view convert into each other", (query, view) => {
  expect(readView(query)).toEqual({ ...defaultView, ...view });
  expect(writeView({ ...defaultView, ...view })).toBe(query);
});

test("every sort order survives the address", () => {
  for (const sort of sorts) for (const descending of [true, false]) expect(readView(writeView({ ...defaultView, sort, descending }))).toMatchObject({ sort, descending });
});

test("invalid values of an address are ignored", () => {
  expect(readView("status=weird&sort=evil&stuck=yes&tabs=7&x=y")).toEqual(defaultView);
});

test("which views are filtered", () => {
  expect(isFiltered(defaultView)).toBe(false);
  expect(isFiltered({ ...defaultView, sort: "user" })).toBe(false);
  expect(isFiltered({ ...defaultView, untabbed: true })).toBe(true);
});

const rows = [
  row("ses-1", { user: "ann", title: "Balcony", status: "stuck", owner: "hub-1", tabs: 1, updatedAt: 3, top: "1-900" }),
  row("ses-2", { user: "bob", status: "stalled", owner: "hub-2", questions: 1, updatedAt: 2, top: "2-5" }),
  row("ses-3", { user: "bob", status: "idle", errors: 2, tabs: 3, updatedAt: 1, cost: 0.2, tokens: 5 }),
  row("ses-4", { user: "cho", status: "dormant", updatedAt: 1, tokens: 900 }),
];
const ids = (v: Partial<View>): string[] => rowsOfView(rows, { ...defaultView, ...v }).map((r) => r.sessionId);

test("filters", () => {
  expect(ids({})).toEqual(["ses-1", "ses-2", "ses-3", "ses-4"]);
  expect(ids({ stuck: true })).toEqual(["ses-1", "ses-2"]);
  expect(ids({ status: "idle" })).toEqual(["ses-3"]);
  expect(ids({ user: "bob", untabbed: true })).toEqual(["ses-2"]);
  expect(ids({ questions: true })).toEqual(["ses-2"]);
  expect(ids({ errors: true })).toEqual(["ses-3"]);
  expect(ids({ owner: "hub-1" })).toEqual(["ses-1"]);
  expect(ids({ text: " BALC" })).toEqual(["ses-1"]);
  expect(ids({ text: "hub-2" })).toEqual(["ses-2"]);
  expect(ids({ text: "nobody" })).toEqual([]);
});

test("sort orders, equal rows by their id", () => {
  expect(ids({ sort: "updated", descending: false })).toEqual(["ses-3", "ses-4", "ses-2", "ses-1"]);
  expect(ids({ sort: "status", descending: false })).toEqual(["ses-1", "ses-2", "ses-3", "ses-4"]);
  expect(ids({ sort: "cost", descending: true })).toEqual(["ses-3", "ses-4", "ses-1", "ses-2"]);
  expect(ids({ sort: "position", descending: true }).slice(0, 2)).toEqual(["ses-2", "ses-1"]);
  expect(ids({ sort: "tabs", descending: true })).toEqual(["ses-3", "ses-1", "ses-2", "ses-4"]);
});

test("an alert leads to the sessions it is about", () => {
  expect(writeView(viewOf({ kind: "stalled", count: 2 })!)).toBe("status=stalled");
  expect(writeView(viewOf({ kind: "overdue", count: 1 })!)).toBe("questions=true");
  expect(writeView(viewOf({ kind: "takeovers", count: 1, where: "hub-2" })!)).toBe("owner=hub-2");
  expect(viewOf({ kind: "rateLimited", count: 1, where: "hub-2" })).toBeUndefined();
});
