package agui

import (
	"slices"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// The state of a session holds the newest rows of a conversation, and clients drop each message that a snapshot
// of the messages leaves out. So a run asks for the older rows of what a client may have in part, and a snapshot
// begins with the messages of the client that are older than the rows.

// maxOlderRows bounds the rows that are read beyond those of a state.
const maxOlderRows = 1000

// NeedsRows reports whether a run needs older rows than it has to show the turn of a message, and before which
// row. For message "" these are the rows of the conversation from the turn on that the client saw last.
func (r *Run) NeedsRows(message wire.MessageID) (before wire.RowID, ok bool) {
	rows := r.turns.rows()
	if len(rows) == 0 || rows[0].ID == 0 || len(r.turns.older) >= maxOlderRows || sizeOf(r.turns.older) >= maxKnown {
		return 0, false
	}
	turn := message
	switch {
	case message == "":
		turn = r.turns.first(r.known)
	case userRow(rows, message) >= 0:
		turn = r.turns.joined(message)
	}
	return rows[0].ID, turn != "" && userRow(rows, turn) < 0
}

// AddRows adds rows before those that the run has. [Run.Attach] uses and drops them.
func (r *Run) AddRows(older []wire.UIRow) { r.turns.older = slices.Concat(older, r.turns.older) }

// first returns the oldest turn that a snapshot of the conversation has to show as a whole: the one that the client
// saw last, or else the one whose first rows the state does not hold any more.
func (t turnFinder) first(known []chat) wire.MessageID {
	rows := t.state.Rows().On(t.monitor)
	for _, m := range slices.Backward(known) {
		turn := m.turn()
		if turn == "" {
			continue
		}
		if userRow(rows, turn) < 0 {
			return turn
		}
		break
	}
	return cutTurn(rows)
}

// trim drops the older rows that belong to turns before the first one that is to be shown.
func (t *turnFinder) trim(known []chat) {
	for _, turn := range []wire.MessageID{t.first(known), cutTurn(t.state.Rows().On(t.monitor))} {
		if i := userRow(t.older, turn); i >= 0 {
			t.older = t.older[i:]
			return
		}
	}
}

func sizeOf(rows []wire.UIRow) (n int) {
	for _, row := range rows {
		n += len(row.Text) + len(row.Reasoning)
	}
	return n
}

// cutTurn returns the turn whose first rows are missing, or "".
func cutTurn(rows []wire.UIRow) wire.MessageID {
	i := slices.IndexFunc(rows, func(r wire.UIRow) bool { return r.MessageID != "" })
	if i < 0 {
		return ""
	}
	turn := rows[i].MessageID
	if userRow(rows, turn) >= 0 {
		return ""
	}
	return turn
}

// withOlder returns the newest messages of a conversation after those that the client has from the time
// before. It has none if it knows no message of the newest: then the conversation is another one, or the
// client was away for so long that there would be a gap. Of a turn that is cut, the client keeps what it has.
func withOlder(known, newest []chat, cut wire.MessageID) []chat {
	at := make(map[string]int, len(newest))
	for i, m := range newest {
		at[m.ID] = i
	}
	isCut := func(m chat) bool {
		return cut != "" && (m.ID == string(cut) || belongsTo(cut, m.ID) || belongsTo(cut, m.ToolCallID))
	}
	older := slices.IndexFunc(known, func(m chat) bool {
		_, both := at[m.ID]
		return both && !isCut(m)
	})
	if older < 0 {
		older = len(known)
		for older > 0 && !isCut(known[older-1]) {
			older--
		}
	}
	all := append([]chat{}, known[:older]...) // clients reject null
	has := map[string]bool{}
	for i, m := range all {
		has[m.ID], has[resultID(m.ToolCallID)] = true, true
		if j, both := at[m.ID]; both && continues(newest[j], m) {
			all[i] = newest[j]
		}
	}
	for _, m := range newest {
		if !has[m.ID] {
			all = append(all, m)
		}
	}
	return all
}

// continues reports whether a message begins with the text of an earlier state of it.
func continues(now, before chat) bool {
	text := before.text()
	return now.Content != nil && text != nil && strings.HasPrefix(*now.Content, *text)
}

// maxKnown bounds the conversation of a client: it sends it back with its next request, with names, escapes and what it
// adds.
const maxKnown = MaxInput / 2

// bounded drops the oldest messages beyond [maxKnown], and results whose calls are dropped.
func bounded(all []chat) []chat {
	size, first := 0, len(all)
	for first > 0 && size+all[first-1].size() <= maxKnown {
		first--
		size += all[first].size()
	}
	for first > 0 && first < len(all) && all[first].Role == "tool" {
		first++
	}
	return all[first:]
}
