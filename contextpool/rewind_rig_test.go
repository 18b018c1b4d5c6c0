package contextpool_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// archiveRow adds a published row to the archive of the rig, as a session does: its id never changes.
func (r *rig) archiveRow(row wire.UIRow) wire.UIRow {
	if r.archive == nil {
		r.archive = map[wire.MonitorID][]wire.UIRow{}
	}
	rows := r.archive[row.MonitorID]
	for i := len(rows) - 1; i >= 0; i-- { // mostly one of the last; rows are large to copy
		if rows[i].TS == row.TS {
			row.ID = rows[i].ID
			rows[i] = row
			return row
		}
	}
	r.archive[row.MonitorID] = append(rows, row)
	return row
}

func (r *rig) RowsSince(monitor wire.MonitorID, ts wire.Millis, said bool) ([]wire.UIRow, error) {
	rows := r.archive[monitor]
	at := slices.IndexFunc(rows, func(o wire.UIRow) bool { return o.TS == ts })
	if at < 0 {
		return nil, nil
	}
	for said && at > 0 && rows[at].Say != wire.SayUserFeedback {
		at--
	}
	if said && rows[at].Say != wire.SayUserFeedback {
		return nil, nil
	}
	return slices.Clone(rows[at:]), nil
}

func (r *rig) ReadColdList(list string) ([][]byte, error) { return r.kept.lists[list], r.away }

func (r *rig) RemoveRows(e wire.HistoryRewound, since, stay []wire.UIRow) {
	rows := r.archive[e.MonitorID]
	if r.gone == nil {
		r.gone = map[wire.RowID]wire.MonitorID{}
	}
	for _, row := range since {
		r.gone[row.ID] = e.MonitorID
	}
	r.archive[e.MonitorID] = append(rows[:len(rows)-len(since)], stay...)
	r.Emit(e)
}

// Commands.

func (r *rig) rewind(u contextpool.RewindRequest) (refused *desktop.Refusal) {
	if u.Monitor == "" {
		u.Monitor = first
	}
	r.step(func() { refused = r.pool.Rewind(u) })
	return refused
}

// back rewinds to the row with a text, which must succeed.
func (r *rig) back(text string) {
	r.t.Helper()
	if refused := r.rewind(contextpool.RewindRequest{TS: r.rowOf(text).TS}); refused != nil {
		r.t.Fatalf("the rewind to %q is refused with %+v, want it done", text, refused)
	}
	r.agree()
}

func (r *rig) edit(row, id, text string) (refused *desktop.Refusal) {
	r.t.Helper()
	u := contextpool.RewindRequest{Monitor: first, TS: r.rowOf(row).TS, Message: wire.MessageID(id), By: "c1"}
	r.step(func() {
		refused = r.pool.Edit(u, contextpool.Message{ID: wire.MessageID(id), By: "c1", Text: text})
	})
	r.agree()
	return refused
}

// Results.

// rowOf returns the newest row that contains a text.
func (r *rig) rowOf(text string) wire.UIRow {
	r.t.Helper()
	var found wire.UIRow
	for _, rows := range r.archive {
		for _, row := range rows {
			if strings.Contains(row.Text, text) && row.ID > found.ID {
				found = row
			}
		}
	}
	if found.ID == 0 {
		r.t.Fatalf("no row says %q, want one", text)
	}
	return found
}

// seen summarises the rows of a monitor.
func (r *rig) seen(monitor wire.MonitorID) string {
	var out []string
	for _, row := range r.archive[monitor] {
		text := row.Text
		switch row.Say {
		case wire.SayAPIReqFinished:
			var end struct{ Outcome, Reason string }
			_ = json.Unmarshal([]byte(text), &end)
			text = end.Outcome
		case wire.SayTool:
			var call struct{ ID, Status string }
			_ = json.Unmarshal([]byte(text), &call)
			text = call.ID + " " + call.Status
		case wire.SayUserFeedback:
			text = "> " + text
		case wire.SaySlidingWindowTruncation:
			text = fmt.Sprintf("left out %d", row.ContextTruncation.MessagesRemoved)
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

func (r *rig) wantSeen(want string) {
	r.t.Helper()
	if got := r.seen(first); got != want {
		r.t.Fatalf("the visible rows are\n%s\nwant\n%s", got, want)
	}
}

// thread returns the stored messages of a thread, including its cold list.
func (r *rig) thread(agent string) []history.Message {
	r.t.Helper()
	var all []history.Message
	for _, list := range []string{"cold:api:" + agent, "api:" + agent} {
		for _, data := range r.kept.lists[list] {
			var m history.Message
			if err := json.Unmarshal(data, &m); err != nil {
				r.t.Fatalf("%v", err)
			}
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b history.Message) int { return int(a.ID) - int(b.ID) })
	return all
}

// known summarises the messages that a model reads.
func known(entries []providers.Entry) string {
	var out []string
	for _, e := range entries {
		var parts []string
		for _, b := range e.Blocks {
			switch b.Kind {
			case providers.BlockToolCall:
				parts = append(parts, "call "+b.Call)
			case providers.BlockToolResult:
				parts = append(parts, b.Call+": "+b.Text)
			default:
				parts = append(parts, b.Text)
			}
		}
		text := strings.Join(parts, ", ")
		if e.Role == providers.RoleUser {
			text = "> " + text
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

func (r *rig) wantKnown(agent, want string) {
	r.t.Helper()
	if got := known(history.View(r.thread(agent))); got != want {
		r.t.Fatalf("the model sees\n%s\nwant\n%s", got, want)
	}
}

// agree checks that rows and threads are consistent: no message belongs to a removed row, every
// conversation sent to a model is valid, and the desktop shows the end of the archive.
func (r *rig) agree() {
	r.t.Helper()
	for name := range r.kept.lists {
		agent, ok := strings.CutPrefix(name, "api:")
		if !ok {
			continue
		}
		var about struct{ Monitor wire.MonitorID }
		if err := json.Unmarshal(r.kept.tables["threads"][agent], &about); err != nil {
			r.t.Fatalf("%s: %v", agent, err)
		}
		rows, shown := map[wire.RowID]bool{}, map[int]bool{}
		for _, row := range r.archive[about.Monitor] {
			rows[row.ID] = true
			if row.Thread == agent {
				shown[*row.ConversationHistoryIndex] = true
			}
		}
		all := r.thread(agent)
		last := uint64(0)
		for _, m := range all {
			if m.ID <= last {
				r.t.Fatalf("%s: message %d after %d, want ascending ids", agent, m.ID, last)
			}
			last = m.ID
			results := slices.ContainsFunc(m.Blocks, func(b providers.Block) bool { return b.Kind == providers.BlockToolResult })
			if r.gone[m.Row] == about.Monitor && !rows[m.Row] && !results && !shown[int(m.ID)] {
				r.t.Fatalf("%s: message %d is of the removed row %d, want it removed, too: %s", agent, m.ID, m.Row, known([]providers.Entry{m.Entry}))
			}
		}
		if view := history.View(all); len(view) > 0 {
			if err := providers.Check(view); err != nil {
				r.t.Fatalf("%s: %v", agent, err)
			}
		}
	}
	for _, row := range r.desktop.Snapshot().RecentMessages {
		if !slices.ContainsFunc(r.archive[row.MonitorID], func(o wire.UIRow) bool { return o.ID == row.ID }) {
			r.t.Fatalf("the desktop has row %d, which the archive has not, want it in both", row.ID)
		}
	}
}
