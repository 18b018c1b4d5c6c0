import { expect, test } from "vitest";
import { adminActions, isReady } from "../src/actions/action.js";
import { Api, actionRequests, liveAddress, ProblemError, tailAddress } from "../src/api/api.js";
import { type Branch, treeOf } from "../src/session/tree.js";
import { type Route, readRoute, writeRoute } from "../src/state/route.js";
import { readViews, saveViews, withView } from "../src/table/views.js";
import { session as sessionWords } from "../src/texts.js";

test.each<[string, Route]>([
  ["/admin", { page: "sessions", query: "" }],
  ["/admin?stuck=true", { page: "sessions", query: "stuck=true" }],
  ["/admin/sessions/ses-1", { page: "session", session: "ses-1" }],
  ["/admin/sessions/a%2Fb", { page: "session", session: "a/b" }],
  ["/admin/audit?who=ann", { page: "audit", query: "who=ann" }],
])("%s", (address, route) => {
  const url = new URL(address, "http://x");
  expect(readRoute(url.pathname, url.search)).toEqual(route);
  expect(writeRoute(route)).toBe(address);
});

test("unknown addresses show the table", () => {
  for (const path of ["/admin/", "/admin/sessions", "/admin/sessions/", "/admin/nonsense", "/admin/sessions/%E0%A4%A"]) expect(readRoute(path, "")).toEqual({ page: "sessions", query: "" });
});

test("the requests of the API", async () => {
  const asked: [string, RequestInit | undefined][] = [];
  const api = new Api(async (input, init) => {
    asked.push([String(input), init]);
    return new Response(JSON.stringify({ id: "rec-1" }));
  });
  expect(await api.runAction(actionRequests.interrupt("ses-1", { agentId: "main-1" }), "why", "key")).toEqual({ id: "rec-1" });
  await api.runAction(actionRequests.remove("ses/1"), "why", "key");
  await api.audit({ who: "ann", target: "" });
  expect(asked.map(([path, init]) => [init?.method, path, init?.body])).toEqual([
    ["POST", "/api/admin/sessions/ses-1/interrupt", '{"agentId":"main-1","reason":"why"}'],
    ["DELETE", "/api/admin/sessions/ses%2F1", '{"reason":"why"}'],
    ["GET", "/api/admin/audit?who=ann", undefined],
  ]);
  expect(asked[0]![1]?.headers).toMatchObject({ "Idempotency-Key": "key" });
  expect(liveAddress({ rows: true })).toBe("/api/admin/live?rows=true");
  expect(liveAddress({ rows: false, session: "ses-1" })).toBe("/api/admin/live?session=ses-1");
  expect(tailAddress("ses-1", { after: "1-2", type: "", agent: "a" })).toBe("/api/admin/sessions/ses-1/tail?after=1-2&agent=a");
});

test("an error has the text of the problem document, also when there is none", async () => {
  const answer = (status: number, body: string): Promise<unknown> => new Api(async () => new Response(body, { status })).me().catch((e: unknown) => e);
  expect(await answer(403, '{"code":4003,"detail":"no"}')).toEqual(new ProblemError(403, 4003, "no"));
  expect(await answer(502, "<html>")).toMatchObject({ status: 502, message: "HTTP 502" });
});

test("an action needs a reason, and the end of the id if it is irreversible", () => {
  const stop = adminActions.interruptAgent("ses-1", "main-1");
  expect(isReady(stop, { reason: "  ", typed: "" })).toBe(false);
  expect(isReady(stop, { reason: "stalled", typed: "" })).toBe(true);
  expect(isReady(stop, { reason: "x".repeat(501), typed: "" })).toBe(false);
  for (const action of [adminActions.reset("ses-abcdef123456"), adminActions.remove("ses-abcdef123456")]) {
    expect(isReady(action, { reason: "r", typed: "" })).toBe(false);
    expect(isReady(action, { reason: "r", typed: "abcdef" })).toBe(false);
    expect(isReady(action, { reason: "r", typed: "123456" })).toBe(true);
  }
  expect(adminActions.handOver("ses-1", ["b", "c"]).requestFor!("c").body).toEqual({ to: "c" });
});

test("agents are listed below their parents, each once", () => {
  const agent = (id: string, parent?: string) => ({ id, kind: "main", status: "idle", ...(parent === undefined ? {} : { parent }) });
  const shape = (b: readonly Branch[]): unknown => b.map((x) => [x.agent.id, shape(x.children)]);
  expect(shape(treeOf([agent("t2", "t1"), agent("main"), agent("t1", "main"), agent("lost", "gone"), agent("me", "me")]))).toEqual([
    ["main", [["t1", [["t2", []]]]]],
    ["lost", []],
    ["me", []],
  ]);
  expect(shape(treeOf([agent("x", "y"), agent("y", "x")]))).toEqual([["x", [["y", []]]]]);
});

test("views are saved by name", () => {
  const kept = new Map<string, string>();
  const storage = { getItem: (k: string) => kept.get(k) ?? null, setItem: (k: string, v: string) => void kept.set(k, v), removeItem: () => undefined };
  expect(readViews(storage)).toEqual([]);
  saveViews(storage, withView(withView([], "Night", "stuck=true"), "Mine", "user=ann"));
  saveViews(storage, withView(readViews(storage), " Night ", "errors=true"));
  expect(readViews(storage)).toEqual([
    { name: "Mine", query: "user=ann" },
    { name: "Night", query: "errors=true" },
  ]);
  expect(withView([], "  ", "x")).toEqual([]);
  kept.set("everdesk.admin-views", '[1,{"name":"x"},{"name":"y","query":"z"}]');
  expect(readViews(storage)).toEqual([{ name: "y", query: "z" }]);
  kept.set("everdesk.admin-views", "{");
  expect(readViews(storage)).toEqual([]);
});

test("questions of every kind have a text in both languages", () => {
  for (const kind of ["approval", "prompt", "plan"]) {
    expect(sessionWords.en).toHaveProperty(kind);
    expect(sessionWords.ko).toHaveProperty(kind);
  }
});
