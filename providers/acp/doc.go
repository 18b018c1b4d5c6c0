// Package acp runs agents that speak the Agent Client Protocol (version 1): JSON-RPC over standard
// input and output, one process per session. Gemini CLI, OpenCode, Qwen Code and many others speak
// it. The user installs the program.
//
// [New] returns a provider. Package agent has its rules; this package translates:
//
//	hub           | Agent Client Protocol
//	start         | session/prompt; the system prompt precedes the first one
//	steer         | _session/steering where the agent has it; otherwise session/cancel and another
//	              | session/prompt, but not before a running tool has ended
//	interrupt     | session/cancel
//	end of a turn | the answer to session/prompt
//	approval      | session/request_permission; an approval is never permanent for the agent
//	resume, fork  | session/load, session/fork where the agent has it; otherwise a transcript
//	tools         | the hub's MCP endpoint with a token of this session; an agent without MCP over
//	              | HTTP has no tools of the hub
//	files         | fs/read_text_file and fs/write_text_file, only in the working directory, also
//	              | through symbolic links; a write that is not the change of an approved call is asked for.
//	              | A program can read by itself, see [Config.OwnReads]
//	terminals     | none: the agent runs commands itself, after approval
//
// An agent announces its capabilities when it starts. For an agent without images, a text replaces each
// image. Agents report usage once for each prompt, or not at all.
//
// Agents do not say when they have a prompt, and some drop one that is canceled before they have answered. So a message counts as
// taken with the first output after it; until then, the next prompt repeats it.
//
// An agent with modes is put into the one in which it asks before it changes something.
//
// The process gets exactly the environment of [Config]. The protocol has no means to keep that from the
// commands that an agent runs. A bash that runs one gets a start file that removes the variables with
// secrets; that is enough for Gemini CLI, OpenCode and Qwen Code. The adapters of Claude Code and Codex
// start login shells, which ignore it, and have settings of their own for that: see cmd/hub. Neither
// stops a command that reads the memory or the environment of the agent's process.
package acp
