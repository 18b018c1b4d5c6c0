// Package mcpclient makes the tools of MCP servers available to agents: programs on this machine (stdio)
// and remote servers (streamable HTTP).
//
// [Parse] reads the configuration that people already have for other programs, with the key mcpServers or
// servers. The operator has one such file; the servers of a user are a document of the store, changed with
// compare-and-set ([Store]).
//
// [Manager] runs the servers. An instance of a server is shared by the hub, or belongs to one user or one
// session, as its entry says. It passes through these states:
//
//	state    | event    | next state
//	stopped  | needed   | starting
//	starting | started  | ready
//	starting | broke    | failed
//	starting | ended    | stopping
//	ready    | broke    | failed
//	ready    | ended    | stopping
//	stopping | gone     | stopped
//	failed   | needed   | starting, after a pause that grows with every failure in a row
//	failed   | ended    | stopped
//
// An instance starts when a tool of it is called, or when its tools are not known yet and an agent begins a
// turn. It ends after some minutes without calls, when its entry or a secret changes, when its session leaves
// this replica, and with the hub. A program runs in a process group of its own, which is killed as a
// whole, with an environment that has only the declared variables and a few such as PATH. Remote servers of
// users are reached through [outbound.Client], which refuses addresses that are not public.
//
// A call that breaks off is an [*UncertainError]: it may or may not have run. It is never repeated. Results,
// descriptions and logs are bounded, and are data of others: callers must not treat them as instructions.
//
// Questions of a server (elicitation) go to the caller of its only running call; with calls of several callers
// they are declined. Requests for the model (sampling) are refused unless the configuration allows them for the
// server; then the caller asks the user. Requests for folders (roots) are refused.
//
// Store and Manager are safe for concurrent use. [Manager.Close] ends all instances and returns when nothing
// of them is left.
package mcpclient
