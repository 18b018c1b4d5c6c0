// A small MCP server with a view, over standard input and output, for tests of windows with views. Its argument is a file
// to which the tool "note" appends lines.

import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

const file = process.argv[2];
const uri = "ui://test/board";
let count = 0;

const text = (t, more = {}) => ({ content: [{ type: "text", text: t }], ...more });

const tools = {
  show: {
    about: { title: "Board", description: "Show a board.", annotations: { readOnlyHint: true, openWorldHint: false }, _meta: { ui: { resourceUri: uri } } },
    run: (input) => text(`A board of ${input.place}.`, { structuredContent: { place: input.place, for: "views only" } }),
  },
  count: {
    about: { description: "Count.", _meta: { ui: { visibility: ["app"] } } },
    run: () => text(`count ${++count}`),
  },
  note: {
    about: { description: "Note a line.", annotations: { readOnlyHint: true, openWorldHint: false } },
    run: (input) => {
      appendFileSync(file, `${input.line}\n`);
      return text("noted");
    },
  },
  model: {
    about: { description: "For models.", _meta: { ui: { visibility: ["model"] } } },
    run: () => text("for models"),
  },
};

// The view speaks the protocol without a library.
const html = `<!doctype html><title>Board</title>
<style>body { margin: 0; background: var(--color-background-primary); color: var(--color-text-primary); font-family: var(--font-sans) } #tall { height: 20px }</style>
<h1 id="place">…</h1>
<p id="input"></p><p id="state">0</p><p id="answer"></p><p id="theme"></p><p id="mode"></p><p id="blocked"></p>
<button id="more">More</button><button id="count">Count</button><button id="model">Model</button><button id="say">Say</button>
<button id="context">Context</button><button id="full">Full</button><button id="read">Read</button><button id="link">Link</button><button id="fetch">Fetch</button>
<script>
  let next = 1;
  const waiting = new Map();
  const at = (id) => document.getElementById(id);
  const send = (m) => parent.postMessage({ jsonrpc: "2.0", ...m }, "*");
  const ask = (method, params) => new Promise((resolve) => { const id = next++; waiting.set(id, resolve); send({ id, method, params }); });
  const show = (r) => { at("answer").textContent = r.error ? "error: " + r.error.message : r.result.isError && r.result.content === undefined ? "refused" : r.result.content ? r.result.content[0].text : JSON.stringify(r.result); };
  const apply = (c) => {
    if (c.theme) at("theme").textContent = c.theme;
    if (c.displayMode) at("mode").textContent = c.displayMode;
    for (const [k, v] of Object.entries(c.styles?.variables ?? {})) document.documentElement.style.setProperty(k, v);
  };
  addEventListener("securitypolicyviolation", (e) => { at("blocked").textContent += e.blockedURI + " " + e.effectiveDirective + ";"; });
  addEventListener("message", (e) => {
    if (e.source !== parent) return;
    const m = e.data;
    if (m.id !== undefined && m.method === undefined) return waiting.get(m.id)?.(m);
    if (m.method === "ui/notifications/tool-input") at("input").textContent = JSON.stringify(m.params.arguments);
    if (m.method === "ui/notifications/tool-result") at("place").textContent = m.params.structuredContent.place;
    if (m.method === "ui/notifications/host-context-changed") apply(m.params);
    if (m.method === "ui/resource-teardown") { console.info("the board ends"); send({ id: m.id, result: {} }); }
  });
  at("more").onclick = () => { at("state").textContent = Number(at("state").textContent) + 1; };
  at("count").onclick = () => ask("tools/call", { name: "count", arguments: {} }).then(show);
  at("model").onclick = () => ask("tools/call", { name: "model", arguments: {} }).then(show);
  at("read").onclick = () => ask("resources/read", { uri: "test://text" }).then((r) => { at("answer").textContent = r.error ? r.error.message : r.result.contents[0].text; });
  at("say").onclick = () => ask("ui/message", { role: "user", content: [{ type: "text", text: "/say hello from the board" }] }).then(show);
  at("context").onclick = () => ask("ui/update-model-context", { content: [{ type: "text", text: "the person looks at row 7" }] }).then(show);
  at("full").onclick = () => ask("ui/request-display-mode", { mode: "fullscreen" }).then((r) => { at("answer").textContent = r.result.mode; });
  at("link").onclick = () => ask("ui/open-link", { url: "https://example.com/page" }).then(show);
  at("fetch").onclick = async () => {
    const reached = async (u) => { try { await fetch(u); return "reached"; } catch { return "failed"; } };
    await reached("https://undeclared.example.com/x");
    at("answer").textContent = "declared " + (await reached("https://declared.example.com/x"));
  };
  ask("ui/initialize", { protocolVersion: "2026-01-26", appInfo: { name: "Board", version: "1" }, appCapabilities: {} }).then((r) => {
    apply(r.result.hostContext);
    send({ method: "ui/notifications/initialized" });
    send({ method: "ui/notifications/size-changed", params: { width: 600, height: 560 } });
  });
</script>`;

const handlers = {
  initialize: (p) => ({ protocolVersion: p.protocolVersion, capabilities: { tools: {}, resources: {} }, serverInfo: { name: "board", version: "1" } }),
  ping: () => ({}),
  "tools/list": () => ({ tools: Object.entries(tools).map(([name, t]) => ({ name, inputSchema: { type: "object" }, ...t.about })) }),
  "tools/call": (p) => tools[p.name].run(p.arguments ?? {}),
  "resources/read": (p) =>
    p.uri === uri
      ? { contents: [{ uri, mimeType: "text/html;profile=mcp-app", text: html, _meta: { ui: { csp: { connectDomains: ["https://declared.example.com"] } } } }] }
      : { contents: [{ uri: p.uri, mimeType: "text/plain", text: "a text of the server" }] },
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const m = JSON.parse(line);
  if (m.id === undefined) return;
  const handler = handlers[m.method];
  const answer = handler === undefined ? { error: { code: -32601, message: `no method ${m.method}` } } : { result: handler(m.params ?? {}) };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id: m.id, ...answer })}\n`);
});
