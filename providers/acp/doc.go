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
//	              | through symbolic links; a write that no approved call announced is asked for
//	terminals     | none: the agent runs commands itself, after approval
//
// An agent announces its capabilities when it starts. For an agent without images, a text replaces each
// image. Agents report usage once for each prompt, or not at all.
//
// The process gets exactly the environment of [Config]. Its own shell commands inherit that, because
// the protocol has no means to prevent it.
package acp
