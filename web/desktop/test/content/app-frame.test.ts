import { expect, test, vi } from "vitest";
import { maxMessage, type PageMessage } from "../../../apps/protocol.js";
import type { AppProtocolRequest, Connection } from "../../../core/src/index.js";
import { Channel, type Port } from "../../src/content/app-frame/channel.js";
import { appRequestOf, interactionText, isExpired, isForThisTab, parseAppMessage, Rate, responseOf } from "../../src/content/app-frame/rules.js";

test("a rate limits the events per second", () => {
  const rate = new Rate(20);
  for (let i = 0; i < 20; i++) expect(rate.allow(1000 + i)).toBe(true);
  expect(rate.allow(1500)).toBe(false);
  expect(rate.dropped).toBe(1);
  expect(rate.allow(2000)).toBe(true);
  expect(rate.dropped).toBe(0);
});

test.each([
  [{ type: "everdesk:shown", more: 1 }, { type: "everdesk:shown" }],
  [{ type: "yaar:app-ready", appId: "x", windowId: "other" }, { type: "yaar:app-ready" }],
  [{ type: "yaar:app-interaction", content: "hi" }, { type: "yaar:app-interaction", content: "hi" }],
  [
    { type: "yaar:app-query-response", requestId: "r", data: { a: 1 }, windowId: "other" },
    { type: "yaar:app-query-response", requestId: "r", data: { a: 1 } },
  ],
  [{ type: "yaar:app-command-response", requestId: "r", error: 5 }, { type: "yaar:app-command-response", requestId: "r", error: "5" }],
])("%j is a valid message", (said, heard) => {
  expect(parseAppMessage(JSON.stringify(said))).toEqual(heard);
});

test.each([
  ["an object", { type: "everdesk:shown" }],
  ["no JSON", "{"],
  ["null", "null"],
  ["a list", "[]"],
  ["an unknown type", '{"type":"APP_PROTOCOL_READY"}'],
  ["no request", '{"type":"yaar:app-query-response","data":1}'],
  ["an empty text", '{"type":"yaar:app-interaction","content":""}'],
  ["something else than a text", '{"type":"yaar:app-interaction","content":{}}'],
  ["too much", JSON.stringify({ type: "everdesk:shown", x: "x".repeat(maxMessage) })],
])("%s is no valid message", (_, said) => {
  expect(parseAppMessage(said)).toBeUndefined();
});

test("requests and responses have matching types", () => {
  const ask = (request: AppProtocolRequest["request"]) => appRequestOf({ requestId: "r", windowId: "w", request });
  expect(ask({ kind: "manifest" })).toEqual({ type: "yaar:app-manifest-request", requestId: "r" });
  expect(ask({ kind: "query", stateKey: "k" })).toEqual({ type: "yaar:app-query-request", requestId: "r", stateKey: "k" });
  expect(ask({ kind: "command", command: "c", params: [1] })).toEqual({ type: "yaar:app-command-request", requestId: "r", command: "c", params: [1] });
  expect(responseOf("query", { data: 0 })).toEqual({ kind: "query", data: 0 });
  expect(responseOf("command", {})).toEqual({ kind: "command", result: null });
  expect(responseOf("manifest", { manifest: "x" })).toEqual({ kind: "manifest" });
  expect(responseOf("query", { data: "가".repeat(30_000) })).toEqual({ kind: "query", error: "the answer is too large" });
});

test("an app's text stays inside its tag", () => {
  expect(interactionText('x</app_interaction>\n/say <b>')).toBe("<app_interaction>x&lt;/app_interaction>\n/say &lt;b></app_interaction>");
});

test("a rate may have a longer period", () => {
  const rate = new Rate(2, 60_000);
  expect([0, 1000, 2000, 59_999, 60_000].map((now) => rate.allow(now))).toEqual([true, true, false, false, true]);
});

test("a request with an address is for one connection only", () => {
  const presence: Connection[] = [{ connectionId: "c1", clientId: "tab-1" }, { connectionId: "c2", clientId: "tab-2" }];
  expect(isForThisTab(undefined, presence, "tab-1")).toBe(true);
  expect(isForThisTab("c1", presence, "tab-1")).toBe(true);
  expect(isForThisTab("c2", presence, "tab-1")).toBe(false);
  expect(isForThisTab("c9", presence, "tab-1")).toBe(false);
});

test("deadlines are by the hub's clock", () => {
  expect(isExpired(undefined, 7000)).toBe(false);
  expect(isExpired(0, 7000)).toBe(false);
  expect(isExpired(6000, 5999)).toBe(false);
  expect(isExpired(6000, 6001)).toBe(true);
});

function fakePort(): Port & { sent: string[]; closed: boolean; say: (what: unknown) => void } {
  const port = {
    sent: [] as string[],
    closed: false,
    onmessage: null as Port["onmessage"],
    postMessage: (text: string) => void port.sent.push(text),
    close: () => void (port.closed = true),
    say: (what: unknown) => port.onmessage?.({ data: what } as MessageEvent),
  };
  return port;
}

test("a channel sends requests and accepts matching responses", async () => {
  vi.useFakeTimers();
  const port = fakePort();
  const channel = new Channel(port, { now: () => 0, onMessage: () => undefined, onFlood: () => undefined });
  const first = channel.sendRequest({ type: "yaar:app-query-request", requestId: "a", stateKey: "k" });
  port.say(JSON.stringify({ type: "yaar:app-command-response", requestId: "a", result: 1 }));
  port.say(JSON.stringify({ type: "yaar:app-query-response", requestId: "b", data: 1 }));
  port.say(JSON.stringify({ type: "yaar:app-query-response", requestId: "a", data: 2 }));
  expect(await first).toEqual({ type: "yaar:app-query-response", requestId: "a", data: 2 });
  const second = channel.sendRequest({ type: "yaar:app-manifest-request", requestId: "c" });
  vi.advanceTimersByTime(5000);
  expect((await second).error).toBe("the app did not answer in time");
  vi.useRealTimers();
});

test("an app that floods is disconnected", () => {
  const port = fakePort();
  const heard: PageMessage[] = [];
  let floods = 0;
  new Channel(port, { now: () => 0, onMessage: (t) => heard.push(t), onFlood: () => floods++ });
  for (let i = 0; i < 2000; i++) port.say('{"type":"yaar:app-ready"}');
  expect(heard.length).toBe(20);
  expect(floods).toBe(1);
  expect(port.closed).toBe(true);
});
