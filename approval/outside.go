package approval

import (
	"net/url"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// OutsideSource returns the source of the data that a call of an agent's own tool reads from the web or from
// an MCP server, or "". Reading in the workspace is not reading from outside: the operator chose it.
func OutsideSource(tool string, input []byte) string {
	if server, _, ok := mcpName(tool); ok {
		return "the MCP server " + server
	}
	given, _ := argumentsOf(input) // a broken input has no address
	switch tool {
	case "use_mcp_tool", "access_mcp_resource":
		for _, a := range given {
			if a.key == "servername" && a.isText {
				return "the MCP server " + a.text
			}
		}
		return "an MCP server"
	case "WebFetch", "web_fetch", "webfetch", "fetch", "browser_action":
		for _, a := range given {
			at, err := url.Parse(strings.TrimSpace(a.text))
			if a.isText && err == nil && at.Hostname() != "" {
				return at.Hostname()
			}
		}
		return "the web"
	case "WebSearch", "web_search", "websearch", "google_web_search":
		return "a search of the web"
	}
	return ""
}

// Leaves reports whether an approved call could leave the hub or delete something. Agents that have read data
// from outside ask for it whatever the rules say.
func Leaves(q Question) bool {
	if q.Ask != wire.AskTool {
		return q.Ask == wire.AskCommand || q.Ask == wire.AskUseMCPServer
	}
	switch PermissionOf(q.Tool) {
	case PermissionReads, PermissionNotes, PermissionSwitches, PermissionDelegates:
		return false
	case PermissionWrites:
		return q.Outside || q.Protected || q.Unclear
	}
	return true
}
