package contextpool

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// restoreAsks loads the questions whether to continue a turn.
func (qs *Questions) restoreAsks(tables map[string]map[string][]byte) error {
	for field, data := range tables[askTable] {
		ts, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return fmt.Errorf("question %s: %w", field, errMisplaced)
		}
		a := &resumeAsk{}
		if err := decode(data, a); err != nil {
			return fmt.Errorf("question %s: %w", field, err)
		}
		qs.resumeAsks[wire.Millis(ts)] = a
	}
	return nil
}

// asksKept bounds the resumable turns that are kept.
const asksKept = 20

// resumeAsk is a turn that was cut off and continues if the user wants.
type resumeAsk struct {
	Role    wire.AgentID   `json:"role"`
	ID      wire.MessageID `json:"id"`
	Monitor wire.MonitorID `json:"monitor"`
	Window  wire.WindowID  `json:"window,omitempty"`
	// Content is the message of the turn, Reason says why the turn was cut off.
	Content string `json:"content"`
	Reason  string `json:"reason"`
}

func (a *resumeAsk) row() wire.UIRow {
	return wire.UIRow{
		Type: wire.RowAsk, Ask: wire.AskResumeTask, Text: "The turn was cut off: " + a.Reason + ". Go on?",
		MonitorID: a.Monitor, AgentID: a.Role, MessageID: a.ID,
	}
}

func askField(ts wire.Millis) string { return strconv.FormatInt(int64(ts), 10) }

// deleteAsk deletes a question whether to continue a turn.
func (qs *Questions) deleteAsk(ts wire.Millis) {
	delete(qs.resumeAsks, ts)
	qs.removeQuestion(ts)
	qs.step.AddOps(store.Unset(askTable, askField(ts)))
}

// prompt returns the input of the turn that continues.
func (a *resumeAsk) prompt(text string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Your work on this message was cut off: %s. Look first what was done, then go on with what is missing. The message:\n\n%s",
		a.Reason, policies.Content(a.Content))
	if text != "" {
		b.WriteString("\n\nThe user says now: " + text)
	}
	return b.String()
}

// askResume asks the user whether to continue a turn that was cut off. Only the newest asksKept of
// these questions stay open.
func (qs *Questions) askResume(t *turn, reason string) {
	a := &resumeAsk{
		Role: t.Role, ID: t.ID, Monitor: t.Monitor, Window: t.Window, Content: truncate(t.prompt.Content, saidBytes), Reason: reason,
	}
	ts := qs.rows.AddRow(a.row())
	qs.resumeAsks[ts] = a
	qs.openQuestion(t, ts, &question{OpenAsk: history.OpenAsk{Ask: wire.AskResumeTask}})
	qs.step.AddOps(store.Set(askTable, askField(ts), encode(a)))
	for _, old := range sortedKeys(qs.resumeAsks)[:max(len(qs.resumeAsks)-asksKept, 0)] {
		qs.deleteAsk(old)
	}
}

// deleteAsks deletes the questions of the selected monitors whether to continue a turn.
func (qs *Questions) deleteAsks(on func(wire.MonitorID) bool) {
	for _, ts := range sortedKeys(qs.resumeAsks) {
		if on(qs.resumeAsks[ts].Monitor) {
			qs.deleteAsk(ts)
		}
	}
}
