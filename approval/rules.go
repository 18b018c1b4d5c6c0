package approval

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// Question is what an agent asks a person, as rules see it.
type Question struct {
	Ask wire.Ask
	// Tool is what wants to run, with asks of the kinds tool and use_mcp_server.
	Tool string
	// Command is what a shell is to run.
	Command string
	// Outside says that it concerns something outside the workspace, Protected that
	// it concerns settings of agents themselves.
	Outside, Protected bool
	// Server is whose tool it is, and Resource says that something is read from
	// there instead.
	Server   string
	Resource bool
	// Unclear says that nobody knows for certain what is asked: no rule allows it.
	Unclear bool
	// Suggested is the first answer that is suggested.
	Suggested string
}

// Permission is what a tool does, as far as rules tell tools apart.
type Permission string

// What tools do.
const (
	PermissionReads     Permission = "reads"
	PermissionWrites    Permission = "writes"
	PermissionRuns      Permission = "runs"
	PermissionSwitches  Permission = "switches" // to another mode
	PermissionDelegates Permission = "hands"    // work to another agent
	PermissionNotes     Permission = "notes"    // for itself, which needs no permission
	PermissionUnknown   Permission = ""
)

// permissions are what tools do that backends are known to ask for.
var permissions = func() map[string]Permission {
	all := map[string]Permission{}
	for action, names := range map[Permission]string{
		PermissionReads: "readFile listFiles listFilesTopLevel listFilesRecursive searchFiles codebaseSearch " +
			"read_file list_files search_files codebase_search read_command_output Read LS Glob Grep NotebookRead read grep glob list view",
		PermissionWrites: "editedExistingFile appliedDiff newFileCreated generateImage write_to_file apply_diff edit edit_file " +
			"search_and_replace search_replace apply_patch generate_image Write Edit MultiEdit NotebookEdit write patch create " +
			"config_hook system:set_config system:remove_config",
		PermissionRuns:      "execute_command command Bash bash shell exec exec_command run_command",
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

// PermissionOf says what a tool does, by its name.
func PermissionOf(tool string) Permission { return permissions[tool] }

// Decide says what rules say to a question. Nothing is approved that no rule
// names. Whether there is too much already is [Window]'s to say.
func Decide(rules wire.AutoApproval, q Question) Verdict {
	when := func(yes bool) Verdict {
		if yes {
			return Approve
		}
		return AskUser
	}
	switch {
	case q.Ask == wire.AskCommandOutput:
		return Approve // it does not keep anybody from anything
	case !rules.AutoApprovalEnabled:
		return AskUser
	}
	switch q.Ask {
	case wire.AskFollowup:
		if rules.AlwaysAllowFollowupQuestions && q.Suggested != "" && rules.FollowupAutoApproveTimeoutMs > 0 {
			return AfterWait
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

// allowsServer reports whether a tool of another server may be used. What is read
// from a server is no tool, so that the whole server must be allowed.
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
	case PermissionWrites:
		return !q.Unclear && rules.AlwaysAllowWrite && (!q.Outside || rules.AlwaysAllowWriteOutsideWorkspace) &&
			(!q.Protected || rules.AlwaysAllowWriteProtected)
	}
	return false
}

// Window is what was spent since somebody last said that it may go on.
type Window struct {
	// Number counts the times somebody did.
	Number   int     `json:"number,omitempty"`
	Requests int     `json:"requests,omitempty"`
	Cost     float64 `json:"cost,omitempty"`
}

// Limit is a limit that is reached.
type Limit struct {
	// Type is requests or cost, Count how much is allowed.
	Type  string `json:"type"`
	Count string `json:"count"`
}

// costTolerance is how far a sum of small costs may be off.
const costTolerance = 0.0001

// Spend counts a request and what it cost.
func (w Window) Spend(usd float64) Window {
	w.Requests++
	w.Cost += max(usd, 0)
	return w
}

// Reset is the window after somebody said that it may go on.
func (w Window) Reset() Window { return Window{Number: w.Number + 1} }

// Exceeds says which limit one more request would pass, if one.
func (w Window) Exceeds(rules wire.AutoApproval) (Limit, bool) {
	switch {
	case rules.AllowedMaxRequests > 0 && w.Requests+1 > rules.AllowedMaxRequests:
		return Limit{"requests", strconv.Itoa(rules.AllowedMaxRequests)}, true
	case rules.AllowedMaxCost > 0 && cmp.Compare(w.Cost, rules.AllowedMaxCost+costTolerance) > 0:
		return Limit{"cost", fmt.Sprintf("%.2f", rules.AllowedMaxCost)}, true
	}
	return Limit{}, false
}
