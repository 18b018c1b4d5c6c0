package history

import (
	"errors"
	"slices"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// Why a row cannot be rewound to.
var (
	ErrNoRow  = errors.New("there is no such row in the conversation")
	ErrOldRow = errors.New("the row is older than ids of rows: nobody knows what models had seen then")
)

// Conversation is both histories of a monitor.
type Conversation struct {
	// Rows are those of the monitor from the target on, oldest first; older ones
	// do no harm.
	Rows []wire.UIRow
	// Threads are all of every agent that lasts, by its key, hidden messages
	// included.
	Threads map[string][]Message
}

// Target is where a rewind goes.
type Target struct {
	TS wire.Millis
	// Include leaves people the row itself. What models had of it goes.
	Include bool
}

// Rewound is what a rewind comes to.
type Rewound struct {
	// Row is the target.
	Row wire.UIRow
	// Removed are the rows that go, Kept those after the target that stay.
	Removed, Kept []wire.UIRow
	Threads       map[string]Cut
}

// Cut is what is left of a thread.
type Cut struct {
	Messages []Message
	// Same counts the first messages that are as they were, so that a store has to
	// change only the rest; Changed says that there is one.
	Same    int
	Changed bool
}

// Rewind takes back a row and all that followed from it. A message goes if no row
// before the target shows it:
//
//   - what a user said, if its row is the target or later;
//   - what an agent said, if its first row would be, or if the row with its text
//     goes, which may be a later one;
//   - results of tools, if their calls go or one of their rows may;
//   - summaries and markers, if their row goes; then what they hid is visible.
//
// But a message that was said while an agent was busy has its row before those of
// the answer, and its place in the thread after it. Who takes it back does not take
// back that answer: what is before it in its thread stays, and so do the rows of
// that.
func Rewind(c Conversation, t Target) (Rewound, error) {
	at := slices.IndexFunc(c.Rows, func(r wire.UIRow) bool { return r.TS == t.TS })
	if at < 0 {
		return Rewound{}, ErrNoRow
	}
	r := Rewound{Row: c.Rows[at], Threads: make(map[string]Cut, len(c.Threads))}
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
		case row.ID > r.Row.ID && stays(row, said):
			r.Kept = append(r.Kept, *row)
		default:
			r.Removed = append(r.Removed, *row)
		}
	}
	// With Include the target is not among the removed, but what models had of it
	// goes all the same.
	gone := append([]wire.UIRow{r.Row}, r.Removed...)
	for agent, all := range c.Threads {
		r.Threads[agent] = cutThread(all, agent, r.Row.ID, said[agent], gone)
	}
	return r, nil
}

// place is where in a thread the message of the target lies.
type place struct {
	ok    bool
	index int
	id    uint64
	// early are the rows of what users said and the thread has before it.
	early map[wire.RowID]bool
}

// placeOf finds what the user said in the target's row. It was added to the thread
// after the row was made, so of messages that name the row it is the last.
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

// stays reports whether a row after the target belongs to what the thread has
// before the target's message.
func stays(row *wire.UIRow, said map[string]place) bool {
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

// cutThread is what is left of a thread when rows from the target on go.
func cutThread(all []Message, agent string, target wire.RowID, said place, gone []wire.UIRow) Cut {
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
	before := true // the ordinary message before is kept
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
			stay = before // their own rows came before the target
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
	same = min(same, untag(kept))
	return Cut{Messages: kept, Same: same, Changed: same < len(all)}
}

// untag clears tags that name nobody, and returns how many of the first messages
// had none. The slice is the caller's own.
func untag(all []Message) (same int) {
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

// Said is the row of the user that an edit of a row is about: that row or the
// nearest one before it.
func Said(rows []wire.UIRow, ts wire.Millis) (wire.UIRow, bool) {
	for at := slices.IndexFunc(rows, func(r wire.UIRow) bool { return r.TS == ts }); at >= 0; at-- {
		if rows[at].Say == wire.SayUserFeedback {
			return rows[at], true
		}
	}
	return wire.UIRow{}, false
}
