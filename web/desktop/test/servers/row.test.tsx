import { expect, it } from "vitest";
import { ServerRow } from "../../src/servers/row.js";
import { Api, type MCPServer } from "../../src/shell/api.js";
import { servers as texts } from "../../src/texts/servers.js";
import { page } from "../modes/page.js";

const t = texts.en;
const docs: MCPServer = { name: "docs", own: true, type: "http", url: "https://example.org/mcp", state: "stopped" };

it.each<[string, MCPServer, string[], string[]]>([
  ["of the user can be tried and deleted", docs, ["docs", docs.url ?? "", t.stopped, t.tryOf("docs"), t.removeOf("docs")], [t.ofOperator, "details"]],
  ["of the operator cannot be deleted", { ...docs, own: false }, [t.ofOperator, t.tryOf("docs")], [t.removeOf("docs")]],
  ["that failed shows its error", { ...docs, state: "failed", error: "no such file" }, [t.broken, "no such file"], [t.stopped]],
  ["that works again hides its last error", { ...docs, state: "ready", error: "no such file" }, [t.ready], ["no such file"]],
  ["shows its tools and secrets", { ...docs, state: "ready", secrets: ["key"], tools: [{ name: "find", modelName: "mcp__docs__find" }] }, [t.tools(1), "mcp__docs__find", t.secrets("key")], ["type=\"password\""]],
  ["asks for a secret that is not set", { ...docs, secrets: ["key", "token"] }, [t.secret("token"), "type=\"password\""], [t.secret("key")]],
  ["that the hub shares uses secrets of the hub", { ...docs, own: false, scope: "hub", secrets: ["token"] }, [t.secrets("token")], ["type=\"password\""]],
  ["that is switched off can be switched on", { ...docs, disabled: true }, [t.disabled, t.switchOnOf("docs")], [t.switchOffOf("docs")]],
])("a server %s", (_, server, has, hasNot) => {
  const html = page({}).html(
    <ul>
      <ServerRow server={server} version={1} known={["key"]} onChanged={() => undefined} onSecret={() => undefined} />
    </ul>,
  );
  for (const text of has) expect(html).toContain(text);
  for (const text of hasNot) expect(html).not.toContain(text);
});

it("a pasted configuration is sent as it is, with the version that the page shows", async () => {
  const requests: unknown[] = [];
  const api = new Api(async (path, init) => {
    requests.push([init?.method, path, init?.body === undefined ? undefined : JSON.parse(String(init.body))]);
    return Response.json({ servers: [], version: 8 });
  });
  await api.addMCPServers("{ // mine", 7);
  await api.tryMCPServer("a b");
  await api.deleteMCPServer("a b", 8);
  await api.switchMCPServer({ ...docs, state: "ready", tools: [], secrets: ["x"], headers: { A: "b" }, scope: "session" }, true, 9);
  expect(requests).toEqual([
    ["POST", "/api/mcp-servers", { config: "{ // mine", version: 7 }],
    ["POST", "/api/mcp-servers/a%20b/try", undefined],
    ["DELETE", "/api/mcp-servers/a%20b?version=8", undefined],
    ["PUT", "/api/mcp-servers/docs", { type: "http", url: docs.url, headers: { A: "b" }, scope: "session", disabled: true, version: 9 }],
  ]);
});
