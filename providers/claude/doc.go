// Package claude runs Claude Code as an agent: one process per session, which exchanges lines of
// JSON over its standard input and output (`claude -p --input-format stream-json`). The user
// installs the program; the hub neither contains nor downloads it.
//
// [New] returns a provider. Package agent has its rules; this package translates:
//
//	hub             | Claude Code
//	start           | a user line
//	steer           | a user line with priority "now"; while a tool runs without priority, so that the
//	                | tool goes on; while a question is open "later", so that the question stays
//	interrupt       | the control request interrupt, which also cancels queued messages
//	end of a turn   | a result line after which no message of the turn is left. The result of a part
//	                | that a steered message cut off is not the end
//	approval        | the control request can_use_tool
//	resume, fork    | --resume, --fork-session
//	tools           | an MCP server of type sdk: its messages use the same lines, so that there is no
//	                | port and no token
//	system prompt   | part of the control request initialize, because arguments are public
//
// The process gets exactly the environment of [Config]; its key is there and nowhere else. With
// bubblewrap and socat in PATH, Claude Code keeps the key from its shell commands; without them, the
// agent has no shell. It has tools for reading in its working directory; all else needs approval. A
// session without tools of the hub has none at all.
//
// Claude Code stores a large result of a tool in a file and gives its model the path.
//
// Versions before 2.1.268 are refused: they do not report which messages they have taken.
package claude
