package contextpool

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// toolCalls records the tool calls and actions of turns, so that a new owner neither repeats nor
// loses them.
type toolCalls struct {
	*services
	turns    *turnSet
	turnRows *turnRows
	tasks    *taskList
	outside  *outsideData
}

// Limits of the stored and published data of tool calls.
const (
	// resultBytes bounds the result stored until the thread has it.
	resultBytes = 64 << 10
	// shownBytes bounds the published input and the published result.
	shownBytes = 8 << 10
	// callsKept bounds the stored results. More can be outstanding only if the backend holds
	// the conversation itself and reports no entries.
	callsKept = 64
	// actionsKept and actionsBytes bound the stored actions of a turn, in number and encoded
	// size.
	actionsKept  = 100
	actionsBytes = 256 << 10
)

// recordAction stores an action of a turn, within the limits, for the reload cache and the
// timeline. Questions, toasts and screenshots are not repeatable and are left out.
func (tc *toolCalls) recordAction(t *turn, a wire.Action) {
	switch a.(type) {
	case wire.DialogConfirm, wire.PromptShow, wire.PromptDismiss, wire.ToastShow, wire.ToastDismiss, wire.WindowCapture:
		return
	}
	t.ActionCount++
	data := actionFormat().Append(nil, &a)
	if len(t.actions) < actionsKept && t.bytes+len(data) <= actionsBytes {
		t.bytes += len(data)
		t.actions = append(t.actions, a)
		tc.step.AddOps(t.actionOp(len(t.actions)-1, data))
	}
	tc.turns.store(t)
}

// begin records the start of a tool call. Unless the tool is repeatable, the open call is
// stored before the tool runs, so that a new owner does not run it again.
func (tc *toolCalls) begin(c tools.Caller, use tools.Call) error {
	t := tc.turns.ofCaller(c)
	if t == nil || t.stopping() {
		return ErrTurnOver
	}
	t.toolUsed = true
	tc.emitProgress(t, use, wire.ToolRunning, "")
	if !use.Repeatable && t.findCall(use.ID) == nil {
		tc.add(t, &call{ID: use.ID, Tool: use.Tool, Input: rowInput(use.Input, rowBytes)})
	}
	t.toolStarted(use.ID, tc.step.Now())
	t.openTools++
	return nil
}

// report publishes how far a tool call is, unless the call has ended. Its input is not repeated.
func (tc *toolCalls) report(c tools.Caller, use tools.Call, text string) {
	t := tc.turns.ofCaller(c)
	if t == nil {
		return
	}
	if _, open := t.toolStarts[use.ID]; open {
		use.Input = nil
		tc.emitProgress(t, use, wire.ToolRunning, text)
	}
}

// end records the result of a tool call, unless the call has already ended.
func (tc *toolCalls) end(c tools.Caller, use tools.Call, r providers.ToolResult) error {
	t := tc.turns.ofCaller(c)
	if t == nil {
		return ErrTurnOver
	}
	t.openTools--
	tc.outside.add(t.Monitor, r.Source) // also if the call has ended otherwise: its agent may get the result
	if _, open := t.toolStarts[use.ID]; open {
		tc.finish(t, use, r)
	}
	return nil
}

// finish publishes and stores the result of a tool call.
func (tc *toolCalls) finish(t *turn, use tools.Call, r providers.ToolResult) {
	status := wire.ToolComplete
	if r.IsError {
		status = wire.ToolError
	}
	tc.emitProgress(t, use, status, r.Text)
	tc.outside.add(t.Monitor, r.Source)
	kept := providers.ToolResult{Text: truncate(r.Text, resultBytes), IsError: r.IsError, Images: r.Images}
	size := 0
	for _, i := range r.Images {
		size += len(i.Data)
	}
	if size > resultBytes {
		kept.Images, kept.Text = nil, kept.Text+"\n[pictures are left out]"
	}
	tc.tasks.countToolUse(t, use.Tool, r)
	known := t.findCall(use.ID)
	if known == nil {
		known = &call{ID: use.ID, Tool: use.Tool, Ended: true, Result: kept}
		tc.add(t, known)
	} else {
		known.Ended, known.Result, known.Input = true, kept, nil
		tc.step.AddOps(t.callOp(known))
		tc.turns.store(t)
	}
	tc.turnRows.addCallRow(t, known.Number, use, status, r.Text)
	delete(t.toolStarts, use.ID)
}

func (t *turn) findCall(id string) *call {
	if i := slices.IndexFunc(t.calls, func(c *call) bool { return c.ID == id }); i >= 0 {
		return t.calls[i]
	}
	return nil
}

func (tc *toolCalls) add(t *turn, c *call) {
	t.CallCount++
	c.Number = t.CallCount
	t.calls = append(t.calls, c)
	if !t.Lasting {
		tc.turnRows.commitThinking(t) // a turn that does not last is not restarted after a tool call
	}
	tc.turns.store(t)
	tc.step.AddOps(t.callOp(c))
	if len(t.calls) > callsKept {
		if i := slices.IndexFunc(t.calls, func(c *call) bool { return c.Ended }); i >= 0 {
			tc.turns.deleteCall(t, t.calls[i].ID)
		}
	}
}

// emitProgress publishes the state of a tool call.
func (tc *toolCalls) emitProgress(t *turn, use tools.Call, s wire.ToolStatus, result string) {
	tc.turnRows.updateThinkingRow(t, thinkingBytes)
	show := wire.ToolProgress{
		ToolName: use.Tool, Status: s, Message: truncate(result, shownBytes), ToolUseID: use.ID,
		AgentID: t.Role, MonitorID: t.Monitor, MessageID: t.messageID(),
	}
	if s == wire.ToolRunning && len(use.Input) <= shownBytes && json.Valid(use.Input) {
		show.ToolInput = use.Input
	}
	tc.step.Emit(show)
}

func (t *turn) callOp(c *call) store.Op {
	return store.Set(callPrefix+t.key(), strconv.Itoa(c.Number), encode(c))
}

func (t *turn) actionOp(n int, data []byte) store.Op {
	return store.Set(actionPrefix+t.key(), strconv.Itoa(n), data)
}

func (t *turn) restoreCalls(table map[string][]byte) error {
	for field, data := range table {
		c := &call{}
		if err := decode(data, c); err != nil {
			return fmt.Errorf("call %s: %w", field, err)
		}
		if t == nil || strconv.Itoa(c.Number) != field {
			return fmt.Errorf("call %s: %w", field, errMisplaced)
		}
		t.calls = append(t.calls, c)
	}
	if t != nil {
		slices.SortFunc(t.calls, func(a, b *call) int { return cmp.Compare(a.Number, b.Number) })
	}
	return nil
}

func (t *turn) restoreActions(table map[string][]byte) error {
	for n := range len(table) {
		data, ok := table[strconv.Itoa(n)]
		if !ok || t == nil {
			return fmt.Errorf("action %d: %w", n, errMisplaced)
		}
		a, err := actionFormat().DecodeOwn(data)
		if err != nil {
			return fmt.Errorf("action %d: %w", n, err)
		}
		t.actions = append(t.actions, a)
		t.bytes += len(data)
	}
	return nil
}

// toolCall returns the call as far as it is stored.
func (c *call) toolCall() tools.Call {
	return tools.Call{ToolCall: providers.ToolCall{ID: c.ID, Input: c.Input}, Tool: c.Tool}
}

// endOrphans ends the calls that wait for a task which does not exist, because the store
// has lost it.
func (tc *toolCalls) endOrphans(t *turn) {
	for _, c := range slices.Clone(t.calls) {
		if c.Child != "" && !c.Ended && tc.turns.byKey[c.Child] == nil {
			tc.finish(t, c.toolCall(), tools.TaskResult{
				Status: providers.Interrupted, Error: "it is not known how the task ended",
			}.Result())
		}
	}
}

// call is a tool call whose result is not in the thread yet.
type call struct {
	Number int    `json:"number"`
	ID     string `json:"id"`
	Tool   string `json:"tool"`
	// Input is the shortened input for the call's row, stored while the call is open.
	Input []byte `json:"input,omitempty"`
	// Child is the key of the task that the call waits for, if any. The call ends in the step
	// in which the task ends.
	Child  string               `json:"child,omitempty"`
	Ended  bool                 `json:"ended,omitempty"`
	Result providers.ToolResult `json:"result,omitzero"`
}

// toolStarted records the start time of a tool call.
func (t *turn) toolStarted(id string, now time.Time) {
	if t.toolStarts == nil {
		t.toolStarts = map[string]time.Time{}
	}
	t.toolStarts[id] = now
}

// endedResults returns the results of ended tool calls that are not in the thread yet, by call
// id.
func (t *turn) endedResults() map[string]providers.ToolResult {
	done := map[string]providers.ToolResult{}
	for _, c := range t.calls {
		if c.Ended {
			done[shortCallID(c.ID)] = c.Result // the thread uses the short id
		}
	}
	return done
}
