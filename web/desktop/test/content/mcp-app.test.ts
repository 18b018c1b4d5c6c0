import { expect, it, vi } from "vitest";
import type { MonitorID, SessionID, WindowID } from "../../../core/src/index.js";
import { modelContext, textOf } from "../../src/content/mcp-app/bridge.js";
import { maxViewMessage, PortTransport, parseViewMessage } from "../../src/content/mcp-app/transport.js";
import { stageAddress, viewApi } from "../../src/content/mcp-app/view-api.js";

it("messages of a view are objects of a limited length", () => {
  expect(parseViewMessage('{"jsonrpc":"2.0","method":"ping"}')).toEqual({ jsonrpc: "2.0", method: "ping" });
  for (const bad of ["", "[]", "7", "null", "{", 7, undefined, `{"a":"${"x".repeat(maxViewMessage)}"}`]) expect(parseViewMessage(bad)).toBeUndefined();
});

it("the stage of a view names its origins", () => {
  expect(stageAddress("http://apps", { html: "" }, "t")).toBe("http://apps/stage.html?view=1#t");
  expect(stageAddress("http://apps", { html: "", connect: ["https://a.example.com"], resources: ["https://*.b.example.com"] }, "t")).toBe(
    "http://apps/stage.html?view=1&connect=https%3A%2F%2Fa.example.com&resource=https%3A%2F%2F*.b.example.com#t",
  );
});

it("requests about a view name its window, whatever its id is", async () => {
  const ask = vi.fn(async () => ({}));
  const api = viewApi({ ask } as never, "ses-1" as SessionID, { monitorId: "monitor-0" as MonitorID, windowId: "a/../b" as WindowID });
  await api.callTool("t", { x: 1 }, true);
  expect(ask).toHaveBeenCalledWith("POST", "/api/sessions/ses-1/views/monitor-0/a%2F..%2Fb/call", { tool: "t", input: { x: 1 }, pressed: true });
});

it("the model gets the texts of a view and its data", () => {
  expect(textOf([{ type: "text", text: "a" }, { type: "image" }, { type: "text", text: "b" }])).toBe("a\nb");
  expect(modelContext({ content: [{ type: "text", text: "a" }], structuredContent: { n: 1 } })).toBe('a\n{"n":1}');
  expect(modelContext({})).toBe("");
});

it("a view that floods the desktop is cut off", async () => {
  const port = { postMessage: vi.fn(), close: vi.fn(), onmessage: null as ((e: MessageEvent) => void) | null };
  const onFlood = vi.fn();
  const got: unknown[] = [];
  const transport = new PortTransport(port, { now: () => 0, onShown: () => got.push("shown"), onLeave: (url) => got.push(url), onFlood });
  transport.onmessage = (m) => got.push(m);
  await transport.start();
  const send = (data: unknown): void => port.onmessage?.({ data } as MessageEvent);
  send('{"type":"everdesk:shown"}');
  send('{"type":"everdesk:leave","url":"https://a.example.com"}');
  send('{"type":"other"}');
  send('{"jsonrpc":"2.0","method":"ping"}');
  expect(got).toEqual(["shown", "https://a.example.com", { jsonrpc: "2.0", method: "ping" }]);
  for (let i = 0; i < 1000; i++) send("{}");
  expect(onFlood).toHaveBeenCalledTimes(1);
  expect(port.close).toHaveBeenCalledTimes(1);
});
