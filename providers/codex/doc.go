// Package codex runs Codex as an agent: one process of `codex app-server` per session, which speaks
// JSON-RPC over its standard input and output. The user installs the program.
//
// [New] returns a provider. Package agent has its rules; this package translates:
//
//	hub           | codex app-server
//	start         | turn/start
//	steer         | turn/steer: it cuts off a reply, and waits for a tool
//	interrupt     | turn/interrupt, then thread/backgroundTerminals/clean for commands left running
//	end of a turn | turn/completed
//	approval      | item/commandExecution/requestApproval, item/fileChange/requestApproval, and
//	              | mcpServer/elicitation/request for tools of MCP servers in the program's settings
//	resume, fork  | thread/resume, thread/fork; a thread keeps its tools, so that one with other
//	              | tools begins anew
//	tools         | dynamic tools, whose calls are requests over the same lines: there is no port and
//	              | no token
//
// The process gets exactly the environment of [Config], without which its key is nowhere; its shell
// commands get only the core variables. Commands run in the sandbox of the program, approved ones, too. It
// allows reading only unless [Config.Write] is set, and never what the program stores of conversations. Commands need
// approval unless they are known to be harmless. One for which the model asks for more permissions can write
// everywhere after approval; the program does not say so, but passes on the reason if the model gives one.
//
// Codex drops the text of a reply that was cut off from its own conversation. The hub keeps it, and gives it to Codex with
// the message that follows.
package codex
