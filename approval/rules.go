package approval

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// Question is a tool call or an ask of an agent, classified for the rules.
type Question struct {
	Ask wire.Ask
	// Tool is the name of the tool; set for asks of the kinds tool and use_mcp_server.
	Tool string
	// Command is the shell command line to run.
	Command string
	// Outside is set if the call touches files outside the workspace, Protected if it
	// touches files or settings that configure agents.
	Outside, Protected bool
	// Server is the MCP server of the tool; Resource is set if the call reads a resource of
	// that server instead of calling a tool.
	Server   string
	Resource bool
	// Unclear is set if the input could not be interpreted with certainty. No rule that
	// depends on the input approves such a call.
	Unclear bool
	// Suggested is the first of the suggested answers.
	Suggested string
}

// Permission is the kind of access that a tool needs, as far as the rules distinguish
// tools.
type Permission string

// The kinds of access.
const (
	PermissionReads     Permission = "reads"
	PermissionWrites    Permission = "writes"
	PermissionRuns      Permission = "runs"
	PermissionSwitches  Permission = "switches" // changes the mode
	PermissionDelegates Permission = "hands"    // gives work to another agent
	PermissionNotes     Permission = "notes"    // changes only the agent's own notes, needs no permission
	PermissionUnknown   Permission = ""
)

// permissions maps the names of tools that backends are known to use to the access they
// need.
var permissions = func() map[string]Permission {
	all := map[string]Permission{}
	for action, names := range map[Permission]string{
		PermissionReads: "readFile listFiles listFilesTopLevel listFilesRecursive searchFiles codebaseSearch " +
			"read_file list_files search_files codebase_search read_command_output Read LS Glob Grep NotebookRead read grep glob list view",
		PermissionWrites: "editedExistingFile appliedDiff newFileCreated generateImage write_to_file apply_diff edit edit_file " +
			"search_and_replace search_replace apply_patch generate_image Write Edit MultiEdit NotebookEdit write patch create " +
			"config_hook system:set_config system:remove_config",
		PermissionRuns:      "execute_command command Bash bash shell exec exec_command run_command notebook:run_cell",
		PermissionSwitches:  "switchMode switch_mode",
		PermissionDelegates: "newTask finishTask new_task Task task:run",
		PermissionNotes:     "updateTodoList update_todo_list TodoWrite skill",
	} {
		for name := range strings.FieldsSeq(names) {
			all[name] = action
		}
	}
	return all
}()

// PermissionOf returns the access that a tool needs, by its name.
func PermissionOf(tool string) Permission { return permissions[tool] }

// Decide applies the rules to a question. It approves nothing that no rule names. The
// caller checks the spending limits separately, see [Window].
func Decide(rules wire.AutoApproval, q Question) Verdict {
	when := func(yes bool) Verdict {
		if yes {
			return Approve
		}
		return AskUser
	}
	switch {
	case q.Ask == wire.AskCommandOutput:
		return Approve // does not block the agent
	case !rules.AutoApprovalEnabled:
		return AskUser
	}
	switch q.Ask {
	case wire.AskFollowup:
		if rules.AlwaysAllowFollowupQuestions && q.Suggested != "" && rules.FollowupAutoApproveTimeoutMs > 0 {
			return AfterTimeout
		}
	case wire.AskUseMCPServer:
		return when(rules.AlwaysAllowMcp && allowsServer(rules, q))
	case wire.AskCommand:
		if rules.AlwaysAllowExecute && strings.TrimSpace(q.Command) != "" {
			v := JudgeCommand(q.Command, rules.AllowedCommands, rules.DeniedCommands)
			if v == Approve && q.Unclear {
				return AskUser
			}
			return v
		}
	case wire.AskTool:
		return when(allowsTool(rules, q))
	}
	return AskUser
}

// allowsServer reports whether the rules allow a tool or a resource of an MCP server. A
// resource has no tool name, so it needs a rule for the whole server.
func allowsServer(rules wire.AutoApproval, q Question) bool {
	return !q.Unclear && q.Server != "" && (q.Resource || q.Tool != "") && slices.ContainsFunc(rules.AllowedMcpTools, func(name string) bool {
		return name == "*" || name == q.Server+"/*" || !q.Resource && name == q.Server+"/"+q.Tool
	})
}

func allowsTool(rules wire.AutoApproval, q Question) bool {
	switch PermissionOf(q.Tool) {
	case PermissionNotes:
		return true
	case PermissionSwitches:
		return rules.AlwaysAllowModeSwitch
	case PermissionDelegates:
		return rules.AlwaysAllowSubtasks
	case PermissionReads:
		return !q.Unclear && rules.AlwaysAllowReadOnly && (!q.Outside || rules.AlwaysAllowReadOnlyOutsideWorkspace)
	case PermissionRuns: // code, which is not judged by its words
		return rules.AlwaysAllowExecute && slices.Contains(rules.AllowedCommands, "*") && len(rules.DeniedCommands) == 0
	case PermissionWrites:
		return !q.Unclear && rules.AlwaysAllowWrite && (!q.Outside || rules.AlwaysAllowWriteOutsideWorkspace) &&
			(!q.Protected || rules.AlwaysAllowWriteProtected)
	}
	return false
}

// Window counts requests and cost since the user last confirmed that the agent may
// continue.
type Window struct {
	// Number counts the confirmations.
	Number   int     `json:"number,omitempty"`
	Requests int     `json:"requests,omitempty"`
	Cost     float64 `json:"cost,omitempty"`
	// Unpriced says that the cost of a request is unknown, and AcceptsUnpriced that the user has
	// confirmed that such requests continue.
	Unpriced        bool `json:"unpriced,omitempty"`
	AcceptsUnpriced bool `json:"acceptsUnpriced,omitempty"`
}

// Limit is a spending limit that was reached.
type Limit struct {
	// Type is "requests", "cost", or "unknown_cost" if a cost limit cannot be checked because a price
	// is unknown. Count is the allowed amount as text.
	Type  string `json:"type"`
	Count string `json:"count"`
}

// costTolerance is the allowed rounding error, in dollars, of a sum of small costs.
const costTolerance = 0.0001

// Spend returns w with one more request of the given cost in US dollars. The cost of an unpriced
// request is not known entirely.
func (w Window) Spend(usd float64, unpriced bool) Window {
	w.Requests++
	w.Cost += max(usd, 0)
	w.Unpriced = w.Unpriced || unpriced
	return w
}

// Reset returns an empty window with the next number, for new rules.
func (w Window) Reset() Window { return Window{Number: w.Number + 1} }

// Confirm returns an empty window with the next number, after the user confirmed. Requests without a
// known price need no second confirmation under the same rules.
func (w Window) Confirm() Window {
	return Window{Number: w.Number + 1, AcceptsUnpriced: w.AcceptsUnpriced || w.Unpriced}
}

// Exceeds returns the limit that one more request would exceed, if any.
func (w Window) Exceeds(rules wire.AutoApproval) (Limit, bool) {
	switch {
	case rules.AllowedMaxRequests > 0 && w.Requests+1 > rules.AllowedMaxRequests:
		return Limit{"requests", strconv.Itoa(rules.AllowedMaxRequests)}, true
	case rules.AllowedMaxCost > 0 && cmp.Compare(w.Cost, rules.AllowedMaxCost+costTolerance) > 0:
		return Limit{"cost", fmt.Sprintf("%.2f", rules.AllowedMaxCost)}, true
	case rules.AllowedMaxCost > 0 && w.Unpriced && !w.AcceptsUnpriced:
		return Limit{"unknown_cost", fmt.Sprintf("%.2f", rules.AllowedMaxCost)}, true
	}
	return Limit{}, false
}
