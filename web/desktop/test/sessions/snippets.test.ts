import { expect, test } from "vitest";
import { codexSnippet, stdioSnippet, urlSnippet } from "../../src/sessions/snippets.js";

test("the configurations are what clients read", () => {
  expect(JSON.parse(urlSnippet("https://desk.example", "edm_x"))).toEqual({
    mcpServers: { everdesk: { type: "http", url: "https://desk.example/mcp", headers: { Authorization: "Bearer edm_x" } } },
  });
  expect(JSON.parse(stdioSnippet("https://desk.example", "ses-1", "edm_x"))).toEqual({
    mcpServers: { everdesk: { command: "hub", args: ["mcp", "--server", "https://desk.example", "ses-1"], env: { HUB_MCP_TOKEN: "edm_x" } } },
  });
  expect(codexSnippet("https://desk.example", "ses-1", 'a"b')).toBe(
    '[mcp_servers.everdesk]\ncommand = "hub"\nargs = ["mcp","--server","https://desk.example","ses-1"]\nenv = { HUB_MCP_TOKEN = "a\\"b" }',
  );
});
