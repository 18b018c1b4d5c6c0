// Package mcpserver is an MCP endpoint: external programs call tools through it, on behalf of an
// agent or of a user.
//
// [Server] implements MCP over streamable HTTP, stateless, with JSON responses. A request
// carries an MCP token, a bearer token that [Server.Issue] made for the conversation of one agent, or
// one that [Clients] admits; it determines the tools that a program sees and the [Execute] that
// executes its calls, like those of an agent inside the hub.
//
// Server is safe for concurrent use. The tokens of Issue are in memory only, as hashes: after a
// restart of the hub they are invalid, and agents get new ones with their next conversation. Those of
// Clients are checked with every request.
//
// A slow tool delays only the response to its request. A client has [Config.WriteWithin] to read
// a response. When an MCP token is revoked, its calls are canceled, responses in progress are cut
// off after a second and further requests are refused. If a program closes the connection, its
// calls are canceled, too; the session still records their results.
//
// It refuses requests without a valid MCP token (401, always the same response), requests whose token
// cannot be checked because the store is unavailable (503), bodies over
// [Config.MaxBody], and more than [Config.MaxCalls] concurrent calls or four times as many
// concurrent requests with one MCP token.
package mcpserver
