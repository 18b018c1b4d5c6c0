// Package mcpserver is an MCP endpoint: external programs call tools through it on behalf of an
// agent.
//
// [Server] implements MCP over streamable HTTP, stateless, with JSON responses. A request
// carries an MCP token, a bearer token that [Server.Issue] made for one agent; it determines
// the agent's session, monitor, turn and profile. A program sees exactly the tools of that
// profile, and each call is executed like one of an agent inside the hub, by the same
// [ToolExecutor].
//
// Server is safe for concurrent use. Tokens are in memory only, as hashes: after a restart of
// the hub all tokens are invalid, and agents get new ones with their next turn.
//
// A slow tool delays only the response to its request. A client has [Config.WriteWithin] to read
// a response. When an MCP token is revoked, its calls are canceled, responses in progress are cut
// off after a second and further requests are refused. If a program closes the connection, its
// calls are canceled, too; the session still records their results.
//
// It refuses requests without a valid MCP token (401, always the same response), bodies over
// [Config.MaxBody], and more than [Config.MaxCalls] concurrent calls or four times as many
// concurrent requests with one MCP token.
package mcpserver
