package contextpool

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

const tapePrefix = "tape:"

// Bounds of a tape.
const (
	// When a monitor has more than tapeMain messages of the main conversation, the newest
	// tapeMainKept stay.
	tapeMain     = 200
	tapeMainKept = 100
	// tapeWindow bounds the messages of one window; beyond it the newest half stays.
	tapeWindow = 100
	// saidBytes bounds the text of a message. tapeBytes bounds the encoded size of all
	// messages; when it is exceeded, the oldest are removed until half of it is free.
	saidBytes = 16 << 10
	tapeBytes = 2 << 20
	// tapeAll bounds the messages of all conversations together; beyond it the newest half stays.
	tapeAll = 1000
)

// TapeMessage is a message on the tape. Without a window it belongs to the main conversation of
// its monitor.
type TapeMessage struct {
	By      policies.Speaker `json:"by"`
	Text    string           `json:"text"`
	Time    wire.Millis      `json:"time"`
	Monitor wire.MonitorID   `json:"monitor"`
	Window  wire.WindowID    `json:"window,omitempty"`
	// Row is the row that shows the message: the user's row, or the last row of an answer.
	Row wire.RowID `json:"row,omitempty"`
	// N orders all messages; the tape sets it.
	N uint64 `json:"n"`
}

// listName returns the name of the stored list with the message. The main conversation of each
// monitor and each window have a list of their own, so that each can be dropped at once.
func (s *TapeMessage) listName() string {
	if s.Window == "" {
		return tapePrefix + string(s.Monitor)
	}
	return tapePrefix + storeName(string(s.Monitor)+"/"+string(s.Window))
}

// Tape is the conversation of a session, the oldest message first. Methods that change it
// return the store operations for the change.
type Tape struct {
	said  []sizedMessage
	bytes int
	n     uint64
}

// sizedMessage is a message with its encoded size.
type sizedMessage struct {
	TapeMessage

	size int
}

// TapeFilter selects messages of a tape.
type TapeFilter struct {
	// Monitor, unless empty, selects one monitor.
	Monitor wire.MonitorID
	// Windows includes messages of windows: of those in Only, or of all if Only is empty,
	// except those in Except.
	Windows bool
	Only    []wire.WindowID
	Except  []wire.WindowID
}

func (h *TapeFilter) matches(s *TapeMessage) bool {
	switch {
	case h.Monitor != "" && s.Monitor != h.Monitor:
		return false
	case s.Window == "":
		return true
	case !h.Windows || slices.Contains(h.Except, s.Window):
		return false
	}
	return len(h.Only) == 0 || slices.Contains(h.Only, s.Window)
}

// Messages returns the selected messages, the oldest first.
func (t *Tape) Messages(h TapeFilter) []TapeMessage {
	var out []TapeMessage
	for i := range t.said {
		if h.matches(&t.said[i].TapeMessage) {
			out = append(out, t.said[i].TapeMessage)
		}
	}
	return out
}

// Len returns the number of messages.
func (t *Tape) Len() int { return len(t.said) }

// Append adds a message and removes the oldest ones if the tape exceeds its bounds.
func (t *Tape) Append(s TapeMessage) []store.Op {
	s.Text = truncate(s.Text, saidBytes)
	t.n++
	s.N = t.n
	data := encode(&s)
	t.said = append(t.said, sizedMessage{s, len(data)})
	t.bytes += len(data)
	return append([]store.Op{store.Push(s.listName(), data)}, t.prune(&s)...)
}

// prune removes the messages beyond the bounds after newest was added.
func (t *Tape) prune(newest *TapeMessage) []store.Op {
	same := func(s *TapeMessage) bool { return s.Monitor == newest.Monitor && s.Window == newest.Window }
	count := 0
	for i := range t.said {
		if same(&t.said[i].TapeMessage) {
			count++
		}
	}
	drop := 0
	switch {
	case newest.Window == "" && count > tapeMain:
		drop = count - tapeMainKept
	case newest.Window != "" && count > tapeWindow:
		drop = count - tapeWindow/2
	}
	var gone []TapeMessage
	if drop > 0 {
		gone = t.remove(func(s *TapeMessage) bool {
			if same(s) {
				drop--
			}
			return same(s) && drop >= 0
		})
	}
	if drop = len(t.said) - tapeAll; t.bytes > tapeBytes || drop > 0 {
		if drop > 0 {
			drop += tapeAll / 2
		}
		gone = append(gone, t.remove(func(*TapeMessage) bool {
			drop--
			return drop >= 0 || t.bytes > tapeBytes/2
		})...)
	}
	return t.removalOps(gone)
}

// remove removes the matching messages, visiting the oldest first, and returns them.
func (t *Tape) remove(which func(*TapeMessage) bool) (gone []TapeMessage) {
	kept := make([]sizedMessage, 0, len(t.said))
	for i := range t.said {
		s := &t.said[i]
		if which(&s.TapeMessage) {
			t.bytes -= s.size
			gone = append(gone, s.TapeMessage)
			continue
		}
		kept = append(kept, *s)
	}
	t.said = kept
	return gone
}

// removalOps returns the operations that remove messages from the stored lists. They must be
// the oldest ones of their lists.
func (t *Tape) removalOps(gone []TapeMessage) []store.Op {
	var ops []store.Op
	done := map[string]bool{}
	for i := range gone {
		list := gone[i].listName()
		if done[list] {
			continue
		}
		done[list] = true
		if left := t.listLen(list); left > 0 {
			ops = append(ops, store.KeepLast(list, left))
		} else {
			ops = append(ops, store.Drop(list))
		}
	}
	return ops
}

// listLen returns the number of messages in a list.
func (t *Tape) listLen(list string) int {
	n := 0
	for i := range t.said {
		if t.said[i].listName() == list {
			n++
		}
	}
	return n
}

// PruneWindow removes and returns the messages of a window.
func (t *Tape) PruneWindow(monitor wire.MonitorID, window wire.WindowID) ([]TapeMessage, []store.Op) {
	gone := t.remove(func(s *TapeMessage) bool { return s.Monitor == monitor && s.Window == window && window != "" })
	return gone, t.removalOps(gone)
}

// PruneMonitor removes the messages of a monitor, including those of its windows.
func (t *Tape) PruneMonitor(monitor wire.MonitorID) []store.Op {
	return t.removalOps(t.remove(func(s *TapeMessage) bool { return s.Monitor == monitor }))
}

// Rewind removes the messages of a monitor whose rows are removed.
func (t *Tape) Rewind(monitor wire.MonitorID, removed func(wire.RowID) bool) []store.Op {
	before := map[string][]TapeMessage{}
	for i := range t.said {
		name := t.said[i].listName()
		before[name] = append(before[name], t.said[i].TapeMessage)
	}
	gone := t.remove(func(s *TapeMessage) bool { return s.Monitor == monitor && s.Row > 0 && removed(s.Row) })
	after := map[string][]TapeMessage{}
	for i := range gone {
		after[gone[i].listName()] = nil
	}
	for i := range t.said {
		if name := t.said[i].listName(); slices.ContainsFunc(gone, func(s TapeMessage) bool { return s.listName() == name }) {
			after[name] = append(after[name], t.said[i].TapeMessage)
		}
	}
	var ops []store.Op
	for _, name := range sortedKeys(after) {
		left, same := after[name], 0
		for same < len(left) && left[same].N == before[name][same].N {
			same++
		}
		ops = append(ops, truncateList(name, same)...)
		var more [][]byte
		for i := range left[same:] {
			more = append(more, encode(&left[same+i]))
		}
		if len(more) > 0 {
			ops = append(ops, store.Push(name, more...))
		}
	}
	return ops
}

// Clear removes all messages.
func (t *Tape) Clear() []store.Op {
	return t.removalOps(t.remove(func(*TapeMessage) bool { return true }))
}

// AllOps returns the operations that write the whole tape.
func (t *Tape) AllOps() []store.Op {
	var ops []store.Op
	lists := map[string][]TapeMessage{}
	for i := range t.said {
		name := t.said[i].listName()
		lists[name] = append(lists[name], t.said[i].TapeMessage)
	}
	for _, name := range sortedKeys(lists) {
		ops = append(ops, rewriteList(name, lists[name])...)
	}
	return ops
}

// Restore loads the stored lists.
func (t *Tape) Restore(lists map[string][][]byte) error {
	*t = Tape{}
	for name, items := range lists {
		if !strings.HasPrefix(name, tapePrefix) {
			continue
		}
		said, err := decodeList[TapeMessage](name, items)
		if err != nil {
			return err
		}
		for i := range said {
			t.said = append(t.said, sizedMessage{said[i], len(items[i])})
		}
	}
	slices.SortFunc(t.said, func(a, b sizedMessage) int { return cmp.Compare(a.N, b.N) })
	for i := range t.said {
		t.bytes += t.said[i].size
		t.n = max(t.n, t.said[i].N)
	}
	return nil
}

// FormatTape formats messages for a model's prompt; no messages give "".
func FormatTape(said []TapeMessage) string {
	if len(said) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("<previous_conversation>\n")
	for i, s := range said {
		tag := string(s.By)
		if s.Window != "" {
			tag += ":" + policies.Escape(string(s.Window))
		}
		if i > 0 {
			b.WriteString("\n\n")
		}
		fmt.Fprintf(&b, "<%s>%s</%s>", tag, policies.Escape(s.Text), tag)
	}
	b.WriteString("\n</previous_conversation>")
	return b.String()
}
