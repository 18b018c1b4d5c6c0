// Package mcptest is a small MCP server for tests. A test binary runs it as a real process: TestMain calls
// [Main] first, and [Command] returns the command line that makes the binary the server.
package mcptest
