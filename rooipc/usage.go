package rooipc

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/everdesk/everdesk/wire"
)

// customTool is the name of every tool that Roo does not know.
const customTool = "custom_tool"

// toolName returns the name of a tool for clients.
func toolName(name string) string {
	if slices.Contains(knownTools(), name) {
		return name
	}
	return customTool
}

// knownTools returns the names of tools that clients accept.
func knownTools() []string {
	return []string{
		"execute_command", "read_file", "read_command_output", "write_to_file", "apply_diff", "edit", "search_and_replace", "search_replace",
		"edit_file", "apply_patch", "search_files", "list_files", "use_mcp_tool", "access_mcp_resource", "ask_followup_question",
		"attempt_completion", "switch_mode", "new_task", "codebase_search", "update_todo_list", "run_slash_command", "skill",
		"generate_image", customTool,
	}
}

// totals is the usage of a turn or of several.
type totals struct {
	tokens wire.TokenUsage
	tools  map[string]wire.ToolUses
}

// add returns the sum of a and b. The size of the context is that of b, unless b has none.
func (a totals) add(b totals) totals {
	sum := totals{tokens: wire.TokenUsage{
		TotalTokensIn: a.tokens.TotalTokensIn + b.tokens.TotalTokensIn, TotalTokensOut: a.tokens.TotalTokensOut + b.tokens.TotalTokensOut,
		TotalCacheWrites: a.tokens.TotalCacheWrites + b.tokens.TotalCacheWrites, TotalCacheReads: a.tokens.TotalCacheReads + b.tokens.TotalCacheReads,
		TotalCost: a.tokens.TotalCost + b.tokens.TotalCost, ContextTokens: b.tokens.ContextTokens,
	}, tools: map[string]wire.ToolUses{}}
	if sum.tokens.ContextTokens == 0 {
		sum.tokens.ContextTokens = a.tokens.ContextTokens
	}
	for _, uses := range []map[string]wire.ToolUses{a.tools, b.tools} {
		for name, n := range uses {
			was := sum.tools[name]
			sum.tools[name] = wire.ToolUses{Attempts: was.Attempts + n.Attempts, Failures: was.Failures + n.Failures}
		}
	}
	return sum
}

// usageOfRows returns the usage of the turns of the session that have ended, as far as their rows are known,
// without some rows.
func (t *Task) usageOfRows(without map[wire.Millis]bool) (sum totals) {
	for _, row := range t.rows() {
		var end turnEnd
		if without[row.TS] || row.Say != wire.SayAPIReqFinished || isSubtask(row.AgentID) || json.Unmarshal([]byte(row.Text), &end) != nil {
			continue
		}
		sum = sum.add(totals{tokens: wire.TokenUsage{
			TotalTokensIn: end.InputTokens, TotalTokensOut: end.OutputTokens, TotalCacheReads: end.CacheReads,
			TotalCacheWrites: end.CacheWrites, TotalCost: end.CostUSD,
		}})
	}
	sum.tools = t.endedUsage.tools // rows do not have them
	return sum
}

// recordUsage takes the usage of a turn so far.
func (t *Task) recordUsage(ref wire.Task, tokens wire.TokenUsage, tools wire.Object[string, wire.ToolUses]) {
	u := totals{tokens: tokens, tools: map[string]wire.ToolUses{}}
	for _, field := range tools {
		name := toolName(field.Key)
		was := u.tools[name]
		u.tools[name] = wire.ToolUses{Attempts: was.Attempts + field.Value.Attempts, Failures: was.Failures + field.Value.Failures}
	}
	t.runningUsage[ref.AgentID] = u
}

// addEndedUsage adds the usage of a turn of the session that has ended to that of the others.
func (t *Task) addEndedUsage(ref wire.Task) {
	if u, ok := t.runningUsage[ref.AgentID]; ok {
		t.endedUsage = t.endedUsage.add(u)
		delete(t.runningUsage, ref.AgentID)
	}
}

// usageOf returns the usage of the task that an event is about.
func (t *Task) usageOf(ref wire.Task) (wire.TokenUsage, map[string]wire.ToolUses) {
	sum := totals{}
	if isSubtask(ref.AgentID) {
		sum = sum.add(t.runningUsage[ref.AgentID])
	} else {
		sum = sum.add(t.endedUsage)
		for _, agent := range slices.Sorted(maps.Keys(t.runningUsage)) {
			if !isSubtask(agent) {
				sum = sum.add(t.runningUsage[agent])
			}
		}
	}
	return sum.tokens, sum.tools
}

func (t *Task) emitUsage(name string, ref wire.Task) {
	tokens, tools := t.usageOf(ref)
	t.emit(name, t.taskID(ref), tokens, tools)
}
