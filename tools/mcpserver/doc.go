// Package mcpserver is an MCP endpoint: programs outside of the hub act through it as an agent.
//
// [Server] is an MCP endpoint (streamable HTTP, stateless, JSON answers). Who comes
// in shows a MCP token, a bearer token that [Door.Issue] made for one agent; with it
// come that agent's session, monitor, turn and profile. A program sees exactly the
// tools of that profile, and each call goes the same way as one of an agent inside
// the hub, through the same [ToolExecutor].
//
// Who may call: everybody, from any goroutine. Badges are in memory alone, and
// only their hashes: a hub that starts again has issued none, and its agents get
// new ones with their next turn.
//
// When a tool is slow, so is the answer to its request. Who reads an answer slowly
// has [Config.WriteWithin] for it. When a MCP token is revoked, its calls end, answers
// that are being read are cut off and its next request is refused. A program that breaks off has
// its result recorded in the session all the same.
//
// It refuses requests without a MCP token that is good now (401, the same answer
// whatever is wrong), bodies over [Config.MaxBody] and more than
// [Config.MaxCalls] calls at once with one MCP token.
package mcpserver
