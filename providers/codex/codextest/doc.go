// Package codextest is a stand-in for `codex app-server`, for tests: [Run] is its main function. Its model
// executes the directives of package agenttest. Calls of its own tools are those of /ask:
//
//	/ask Bash {"command":…}                                a command
//	/ask apply_patch {"file_path":…,"content":…}           a change of a file
//	/ask mcp {"server":…,"tool":…,"arguments":{…}}         a tool of an MCP server
//	/ask form {}                                           a form of an MCP server
package codextest
