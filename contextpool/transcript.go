package contextpool

import (
	"strings"

	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// transcript records the conversation for models: the tape of what was said and a timeline of each
// monitor.
type transcript struct {
	*services
	threads *threadSet

	tape      Tape
	timelines map[wire.MonitorID]*Timeline
}

// recordPlan appends a message to or of a plan to the tape.
func (ts *transcript) recordPlan(by policies.Speaker, monitor wire.MonitorID, text string, row wire.RowID) {
	if text != "" {
		ts.step.AddOps(ts.tape.Append(TapeMessage{
			By: by, Text: text, Time: wire.Millis(ts.step.Now().UnixMilli()), Monitor: monitor, Row: row,
		})...)
	}
}

// timelineOps returns the operations that store all timelines.
func (ts *transcript) timelineOps() (ops []store.Op) {
	for _, m := range sortedKeys(ts.timelines) {
		if ts.timelines[m].Len() > 0 {
			ops = append(ops, ts.timelines[m].AllOps()...)
		}
	}
	return ops
}

// restore loads the timelines and the tape.
func (ts *transcript) restore(lists map[string][][]byte) error {
	for _, name := range sortedKeys(lists) {
		if monitor, ok := strings.CutPrefix(name, timelinePrefix); ok {
			if err := ts.timeline(wire.MonitorID(monitor)).Restore(lists[name]); err != nil {
				return err
			}
		}
	}
	return ts.tape.Restore(lists)
}

// timeline returns the timeline of a monitor and creates it if necessary.
func (ts *transcript) timeline(monitor wire.MonitorID) *Timeline {
	t := ts.timelines[monitor]
	if t == nil {
		t = NewTimeline(monitor)
		ts.timelines[monitor] = t
	}
	return t
}

// previousConversation returns the recent conversation from the tape for a main agent whose
// thread has no messages and is not held by the backend of the turn's provider. That is so after
// a change of provider if the previous backend held the conversation itself.
func (ts *transcript) previousConversation(t *turn) string {
	if h := ts.threads.byAgent[t.Agent]; h.hasMessages() || h.heldBy(t.Provider) {
		return ""
	}
	said := ts.tape.Messages(TapeFilter{Monitor: t.Monitor})
	from, bytes := len(said), 0
	for from > 0 && len(said)-from < previousMessages && bytes+len(said[from-1].Text) <= previousBytes {
		from--
		bytes += len(said[from].Text)
	}
	if from == len(said) {
		return ""
	}
	return FormatTape(said[from:]) + "\n\n"
}

// Bounds of the text of previousConversation.
const (
	previousMessages = 20
	previousBytes    = 32 << 10
)

// record appends a message of or to the turn to the tape. Tasks are not on the tape.
func (ts *transcript) record(t *turn, by policies.Speaker, text string, row wire.RowID) {
	if text == "" || t.Kind == wire.AgentTask {
		return
	}
	ts.step.AddOps(ts.tape.Append(TapeMessage{
		By: by, Text: text, Time: wire.Millis(ts.step.Now().UnixMilli()), Monitor: t.Monitor, Window: t.Window, Row: row,
	})...)
}

// recentMessages returns the newest messages of the monitor's main conversation.
func (ts *transcript) recentMessages(monitor wire.MonitorID) []policies.Said {
	var said []policies.Said
	for _, s := range ts.tape.Messages(TapeFilter{Monitor: monitor}) {
		said = append(said, policies.Said{By: s.By, Text: s.Text, Window: s.Window})
	}
	return policies.RecentTurns(said, policies.WindowInitialTurns)
}
