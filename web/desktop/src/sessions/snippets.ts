// The configurations that MCP clients take to use the tools of a session.

import type { SessionID } from "../../../core/src/index.js";

/** The configuration of a client that connects to a URL. */
export function urlSnippet(origin: string, token: string): string {
  return json({ mcpServers: { everdesk: { type: "http", url: `${origin}/mcp`, headers: { Authorization: `Bearer ${token}` } } } });
}

/** The configuration of a client that starts a program, such as Claude Desktop. */
export function stdioSnippet(origin: string, session: SessionID, token: string): string {
  const everdesk = { command: "hub", args: ["mcp", "--server", origin, session], env: { HUB_MCP_TOKEN: token } };
  return json({ mcpServers: { everdesk } });
}

/** The same for Codex, in the TOML of its configuration. */
export function codexSnippet(origin: string, session: SessionID, token: string): string {
  return [
    "[mcp_servers.everdesk]",
    'command = "hub"',
    `args = ${JSON.stringify(["mcp", "--server", origin, session])}`,
    `env = { HUB_MCP_TOKEN = ${JSON.stringify(token)} }`,
  ].join("\n");
}

function json(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
