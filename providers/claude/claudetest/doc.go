// Package claudetest is a stand-in for Claude Code, for tests: [Run] is its main function. Its model executes
// the directives of package agenttest. A call of its own tool is that of /ask, as in
// /ask Write {"file_path":…,"content":…}.
package claudetest
