package rooipc

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// The ts of texts depends on rows of their turn that the state of a session may not hold any more, see the
// package comment. A task remembers what it needs of them, and asks for older rows.

// texts are the rows with texts of a turn.
type texts struct {
	monitor wire.MonitorID
	user    wire.Millis // the ts of the user's row; 0 if it is unknown
	rows    []textRow   // by ts
}

type textRow struct {
	ts wire.Millis
	n  int // bytes of the text
}

// textSteps divides a millisecond: the texts of a turn are that far apart. A turn has fewer texts.
const textSteps = 1024

// tsOf returns the ts of the text with a number, and false if it is unknown.
func (x *texts) tsOf(n int) (float64, bool) {
	if x == nil || x.user == 0 || n >= textSteps-1 {
		return 0, false
	}
	return float64(x.user) + float64(n+1)/textSteps, true
}

// record takes a row. Rows come in any order.
func (t *Task) record(row wire.UIRow) {
	isUser, isText := row.Say == wire.SayUserFeedback, row.Say == wire.SayText
	if row.MessageID == "" || !isUser && !isText {
		return
	}
	x := t.texts[row.MessageID]
	if x == nil {
		x = &texts{monitor: monitorOf(&row)}
		t.texts[row.MessageID] = x
	}
	if isUser {
		if x.user == 0 || row.TS < x.user {
			x.user = row.TS
		}
		return
	}
	i, known := slices.BinarySearchFunc(x.rows, row.TS, func(r textRow, ts wire.Millis) int { return int(r.ts - ts) })
	if !known {
		x.rows = slices.Insert(x.rows, i, textRow{ts: row.TS})
	}
	x.rows[i].n = len(row.Text)
}

// recordAll takes the rows of the state, instead of those before.
func (t *Task) recordAll() {
	clear(t.texts)
	clear(t.oldest)
	clear(t.read)
	for _, row := range t.rows() {
		t.record(row)
		if _, ok := t.oldest[monitorOf(&row)]; !ok {
			t.oldest[monitorOf(&row)] = row.ID
		}
	}
}

// monitorOf returns the monitor of a row. Rows of the first sessions have none.
func monitorOf(row *wire.UIRow) wire.MonitorID { return cmp.Or(row.MonitorID, "monitor-0") }

// recordRewind forgets the rows that a rewind has removed, and takes those that it has restored.
func (t *Task) recordRewind(p wire.HistoryRewound) {
	isGone := func(ts wire.Millis) bool {
		_, there := t.state.Rows().Row(ts)
		return ts >= p.TS && !there
	}
	maps.DeleteFunc(t.texts, func(_ wire.MessageID, x *texts) bool {
		x.rows = slices.DeleteFunc(x.rows, func(r textRow) bool { return isGone(r.ts) })
		return isGone(x.user)
	})
	for _, row := range t.rows() {
		t.record(row)
	}
}

// forgetOld forgets the turns that have ended and of which the state holds no row.
func (t *Task) forgetOld() {
	rows := t.rows()
	if len(rows) == 0 {
		return
	}
	running := map[wire.MessageID]bool{}
	for _, a := range t.state.Agents() {
		running[a.MessageID] = true
	}
	maps.DeleteFunc(t.texts, func(id wire.MessageID, x *texts) bool {
		last := x.user
		if n := len(x.rows); n > 0 {
			last = max(last, x.rows[n-1].ts)
		}
		return last < rows[0].TS && !running[id]
	})
}

// maxOlderRows bounds the rows of a monitor that are read beyond those of a state.
const maxOlderRows = 1000

// NeedsRows reports whether the task needs older rows of a monitor, and before which row: for the turns that run,
// those of which it has some rows, and those of missed events. Add them with [Task.AddRows].
func (t *Task) NeedsRows(missed []wire.Event) (monitor wire.MonitorID, before wire.RowID, ok bool) {
	needs := func(m wire.MonitorID, id wire.MessageID) bool {
		x := t.texts[id]
		if id == "" || x != nil && x.user != 0 || t.oldest[m] == 0 || t.read[m] >= maxOlderRows {
			return false
		}
		monitor, before = m, t.oldest[m]
		return true
	}
	for _, a := range t.state.Agents() {
		if t.running[a.Role] && needs(a.MonitorID, a.MessageID) {
			return monitor, before, true
		}
	}
	for id, x := range t.texts {
		if needs(x.monitor, id) {
			return monitor, before, true
		}
	}
	for _, e := range missed {
		if data, is := e.Data.(wire.MessageUpdated); is && data.Message.Say == wire.SayText && needs(monitorOf(&data.Message), data.Message.MessageID) {
			return monitor, before, true
		}
	}
	return "", 0, false
}

// RowPage has older rows of a monitor.
type RowPage struct {
	Monitor wire.MonitorID
	Rows    []wire.UIRow
	// More says that there are rows before them.
	More bool
}

// AddRows adds the rows that [Task.NeedsRows] asks for. Clients do not get them.
func (t *Task) AddRows(p RowPage) {
	for _, row := range p.Rows {
		row.MonitorID = p.Monitor
		t.record(row)
	}
	t.read[p.Monitor] += len(p.Rows)
	if t.oldest[p.Monitor] = 0; p.More && len(p.Rows) > 0 {
		t.oldest[p.Monitor] = p.Rows[0].ID
	}
}

// rowTS returns what identifies a row. See the package comment for rows with texts of turns.
func (t *Task) rowTS(row wire.UIRow) float64 {
	if x := t.texts[row.MessageID]; row.Say == wire.SayText && x != nil {
		n, _ := slices.BinarySearchFunc(x.rows, row.TS, func(r textRow, ts wire.Millis) int { return int(r.ts - ts) })
		if ts, ok := x.tsOf(n); ok {
			return ts
		}
	}
	return float64(row.TS)
}

// applyResponse takes a piece of a text, or the end of a message.
func (t *Task) applyResponse(data wire.AgentResponse) {
	if isSubtask(data.AgentID) || data.Joined != "" {
		return
	}
	if !data.IsComplete {
		t.unsent[data.AgentID] = data.MessageID
		return
	}
	delete(t.unsent, data.AgentID)
	if _, ok := t.partial[data.AgentID]; ok { // its text has no row
		t.emitPartialText(data.AgentID, data.MessageID, false)
		delete(t.partial, data.AgentID)
	}
}

// emitPartialText sends the text of a running turn that is not in rows yet.
func (t *Task) emitPartialText(agent wire.AgentID, turn wire.MessageID, partial bool) {
	x := t.texts[turn]
	if x == nil {
		return
	}
	ts, ok := x.tsOf(len(x.rows))
	if !ok {
		return
	}
	text, stored := t.state.AgentText(agent), 0
	for _, row := range x.rows {
		stored += row.n
	}
	text = strings.ToValidUTF8(text[min(stored, len(text)):], "")
	sent, shown := t.partial[agent]
	shown = shown && sent == ts
	if !shown && strings.TrimSpace(text) == "" {
		return
	}
	action := wire.RowCreated
	if shown {
		action = wire.RowUpdated
	}
	t.partial[agent] = ts
	t.out = append(t.out, messageEvent(t.id, action, message{TS: ts, Type: wire.RowSay, Say: wire.SayText, Text: text, Partial: &partial}))
}
