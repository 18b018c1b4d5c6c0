package history

import (
	"slices"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// Errors of [Rewind].
var (
	ErrNoRow  = &Error{wire.ReasonRowNotFound, "the conversation does not have this row"}
	ErrOldRow = &Error{wire.ReasonRowTooOld, "the row was written before rows had ids: it is unknown which messages models had seen then"}
)

// Conversation is both histories of a monitor.
type Conversation struct {
	// Rows holds the rows of the monitor from the target on, oldest first; older rows are
	// ignored.
	Rows []wire.UIRow
	// Threads holds the complete threads, including hidden messages, of all persistent
	// agents by agent key.
	Threads map[string][]Message
}

// Target is the row to rewind to.
type Target struct {
	TS wire.Millis
	// Include keeps the row itself for the user. The models' messages for it are removed
	// nevertheless.
	Include bool
}

// Rewound is the result of a rewind.
type Rewound struct {
	// Row is the target row.
	Row wire.UIRow
	// Removed holds the removed rows, Kept the rows after the target that stay.
	Removed, Kept []wire.UIRow
	Threads       map[string]RewoundThread
}

// RewoundThread is the rest of a thread after a rewind.
type RewoundThread struct {
	Messages []Message
	// Same counts the leading messages that are unchanged, so that the store has to rewrite
	// only the rest. Changed is set if anything differs.
	Same    int
	Changed bool
}

// Rewind removes a row and everything that followed from it. It removes a message if no row
// before the target shows it:
//
//   - a user's message, if its row is the target or later;
//   - an agent's message, if its first possible row is the target or later, or if the row
//     with its text is removed, which may be a later one;
//   - tool results, if their calls are removed or one of their rows may be;
//   - summaries and markers, if their row is removed; the messages they hid become visible.
//
// A message sent while an agent was busy has its row before the rows of the agent's answer,
// but its place in the thread after it. Removing that message does not remove the answer:
// everything before it in its thread stays, and so do the corresponding rows.
func Rewind(c Conversation, t Target) (Rewound, error) {
	at := slices.IndexFunc(c.Rows, func(r wire.UIRow) bool { return r.TS == t.TS })
	if at < 0 {
		return Rewound{}, ErrNoRow
	}
	r := Rewound{Row: c.Rows[at], Threads: make(map[string]RewoundThread, len(c.Threads))}
	if r.Row.ID == 0 {
		return Rewound{}, ErrOldRow
	}
	said := make(map[string]place, 1)
	for agent, all := range c.Threads {
		if p := placeOf(all, agent, &r.Row); p.ok {
			said[agent] = p
		}
	}
	for i := range c.Rows {
		switch row := &c.Rows[i]; {
		case row.ID < r.Row.ID || row.ID == r.Row.ID && t.Include:
		case row.ID > r.Row.ID && keepsRow(row, said):
			r.Kept = append(r.Kept, *row)
		default:
			r.Removed = append(r.Removed, *row)
		}
	}
	// With Include the target row stays, but the models' messages for it are removed.
	gone := append([]wire.UIRow{r.Row}, r.Removed...)
	for agent, all := range c.Threads {
		r.Threads[agent] = cutThread(all, agent, r.Row.ID, said[agent], gone)
	}
	return r, nil
}

// place is the position of the target's message in a thread.
type place struct {
	ok    bool
	index int
	id    uint64
	// early holds the rows, later than the target, of user messages that precede the
	// target's message in the thread.
	early map[wire.RowID]bool
}

// placeOf finds the user message of the target row in a thread. It was added after the row
// was created, so it is the last of the messages that name the row.
func placeOf(all []Message, agent string, target *wire.UIRow) place {
	if target.Say != wire.SayUserFeedback {
		return place{}
	}
	for i := len(all) - 1; i >= 0; i-- {
		m := &all[i]
		if m.Row != target.ID || !m.ordinary() || m.Role != providers.RoleUser || m.answersOnly() {
			continue
		}
		if x := target.ConversationHistoryIndex; x != nil && target.Thread == agent && m.ID <= uint64(max(*x, 0)) {
			return place{}
		}
		p := place{ok: true, index: i, id: m.ID, early: map[wire.RowID]bool{}}
		for j := range all[:i] {
			if before := &all[j]; before.Row > target.ID && before.ordinary() && before.Role == providers.RoleUser && !before.answersOnly() {
				p.early[before.Row] = true
			}
		}
		return p
	}
	return place{}
}

// keepsRow reports whether a row after the target belongs to messages that precede the
// target's message in its thread.
func keepsRow(row *wire.UIRow, said map[string]place) bool {
	if row.ContextCondense != nil || row.ContextTruncation != nil {
		return false
	}
	if row.Say == wire.SayUserFeedback {
		for _, p := range said {
			if p.early[row.ID] {
				return true
			}
		}
		return false
	}
	p, ok := said[row.Thread]
	return ok && row.Thread != "" && row.ConversationHistoryIndex != nil && uint64(max(*row.ConversationHistoryIndex, 0)) < p.id
}

// cutThread removes the messages of a thread that a rewind to the target removes.
func cutThread(all []Message, agent string, target wire.RowID, said place, gone []wire.UIRow) RewoundThread {
	shown, shrunk := map[uint64]bool{}, map[string]bool{}
	for i := range gone {
		r := &gone[i]
		if x := r.ConversationHistoryIndex; x != nil && *x > 0 && r.Thread == agent && r.Say == wire.SayText {
			shown[uint64(*x)] = true
		}
		if r.ContextCondense != nil {
			shrunk[r.ContextCondense.CondenseID] = true
		}
		if r.ContextTruncation != nil {
			shrunk[r.ContextTruncation.TruncationID] = true
		}
	}
	delete(shrunk, "") // old rows have no id
	kept := make([]Message, 0, len(all))
	same, whole := 0, true
	before := true // whether the previous ordinary message stays
	for i := range all {
		m := &all[i]
		stay := m.Row == 0 || m.Row < target
		switch {
		case m.IsSummary:
			stay = stay && !shrunk[m.CondenseID]
		case m.IsTruncationMarker:
			stay = stay && !shrunk[m.TruncationID]
		case said.ok && i < said.index:
			stay = true
		case m.Role == providers.RoleAssistant:
			stay = stay && (m.Row == 0 || !shown[m.ID])
		case m.answersOnly() && m.Row == target:
			stay = before // the rows of these results precede the target
		}
		if m.ordinary() {
			before = stay
		}
		if whole = whole && stay; whole {
			same++
		}
		if stay {
			kept = append(kept, *m)
		}
	}
	same = min(same, clearTags(kept))
	return RewoundThread{Messages: kept, Same: same, Changed: same < len(all)}
}

// clearTags clears, in place, tags that name no existing summary or marker, and returns the
// number of leading messages that it did not change.
func clearTags(all []Message) (same int) {
	summaries, markers := map[string]bool{"": true}, map[string]bool{"": true}
	for i := range all {
		if all[i].IsSummary {
			summaries[all[i].CondenseID] = true
		}
		if all[i].IsTruncationMarker {
			markers[all[i].TruncationID] = true
		}
	}
	same = len(all)
	for i := range all {
		m := &all[i]
		if !summaries[m.CondenseParent] {
			m.CondenseParent, same = "", min(same, i)
		}
		if !markers[m.TruncationParent] {
			m.TruncationParent, same = "", min(same, i)
		}
	}
	return same
}

// UserRowAt returns the user's row that an edit of the row ts refers to: that row or the
// nearest user row before it.
func UserRowAt(rows []wire.UIRow, ts wire.Millis) (wire.UIRow, bool) {
	for at := slices.IndexFunc(rows, func(r wire.UIRow) bool { return r.TS == ts }); at >= 0; at-- {
		if rows[at].Say == wire.SayUserFeedback {
			return rows[at], true
		}
	}
	return wire.UIRow{}, false
}
