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

// How much there is on a tape.
const (
	// When a monitor's main conversation is longer than tapeMain messages, the
	// newest tapeMainKept stay.
	tapeMain     = 200
	tapeMainKept = 100
	// tapeWindow is how many messages of one window stay.
	tapeWindow = 100
	// saidBytes is the most that is kept of a message, tapeBytes of all in their
	// kept form. When it is more, the oldest go until half of it is free.
	saidBytes = 16 << 10
	tapeBytes = 2 << 20
	// tapeAll is how many messages there are of everything.
	tapeAll = 1000
)

// Said is a message on the tape. Without a window it is of the main conversation
// of its monitor.
type Said struct {
	By      policies.Speaker `json:"by"`
	Text    string           `json:"text"`
	Time    wire.Millis      `json:"time"`
	Monitor wire.MonitorID   `json:"monitor"`
	Window  wire.WindowID    `json:"window,omitempty"`
	// Row is where people see it: that of the user, or the last of an answer.
	Row wire.RowID `json:"row,omitempty"`
	// N orders all messages; the tape sets it.
	N uint64 `json:"n"`
}

// list is where the message is kept. Each monitor has a list, and so has what is
// said to a window: each goes at once.
func (s *Said) list() string {
	if s.Window == "" {
		return tapePrefix + string(s.Monitor)
	}
	return tapePrefix + nameOf(string(s.Monitor)+"/"+string(s.Window))
}

// Tape is what was said in a session, the oldest first, and where. Its methods
// that change it return what is to be kept.
type Tape struct {
	said  []taped
	bytes int
	n     uint64
}

// taped is a message and how long its kept form is.
type taped struct {
	Said

	size int
}

// Heard selects messages of a tape.
type Heard struct {
	// Monitor, unless empty, is the only monitor.
	Monitor wire.MonitorID
	// Windows includes what was said to windows; Only, unless empty, to these
	// alone, and never to those in Except.
	Windows bool
	Only    []wire.WindowID
	Except  []wire.WindowID
}

func (h *Heard) has(s *Said) bool {
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

// Messages are those that are selected, the oldest first.
func (t *Tape) Messages(h Heard) []Said {
	var out []Said
	for i := range t.said {
		if h.has(&t.said[i].Said) {
			out = append(out, t.said[i].Said)
		}
	}
	return out
}

// Len is how many messages there are.
func (t *Tape) Len() int { return len(t.said) }

// Append adds a message.
func (t *Tape) Append(s Said) []store.Op {
	s.Text = cut(s.Text, saidBytes)
	t.n++
	s.N = t.n
	data := encode(&s)
	t.said = append(t.said, taped{s, len(data)})
	t.bytes += len(data)
	return append([]store.Op{store.Push(s.list(), data)}, t.prune(&s)...)
}

// prune drops what is too much after a message was added.
func (t *Tape) prune(newest *Said) []store.Op {
	same := func(s *Said) bool { return s.Monitor == newest.Monitor && s.Window == newest.Window }
	count := 0
	for i := range t.said {
		if same(&t.said[i].Said) {
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
	var gone []Said
	if drop > 0 {
		gone = t.remove(func(s *Said) bool {
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
		gone = append(gone, t.remove(func(*Said) bool {
			drop--
			return drop >= 0 || t.bytes > tapeBytes/2
		})...)
	}
	return t.without(gone)
}

// remove takes out messages, from the oldest.
func (t *Tape) remove(which func(*Said) bool) (gone []Said) {
	kept := make([]taped, 0, len(t.said))
	for i := range t.said {
		s := &t.said[i]
		if which(&s.Said) {
			t.bytes -= s.size
			gone = append(gone, s.Said)
			continue
		}
		kept = append(kept, *s)
	}
	t.said = kept
	return gone
}

// without is what makes the kept lists those without some messages, the oldest of
// theirs.
func (t *Tape) without(gone []Said) []store.Op {
	var ops []store.Op
	done := map[string]bool{}
	for i := range gone {
		list := gone[i].list()
		if done[list] {
			continue
		}
		done[list] = true
		if left := t.count(list); left > 0 {
			ops = append(ops, store.KeepLast(list, left))
		} else {
			ops = append(ops, store.Drop(list))
		}
	}
	return ops
}

// count says how many messages a list has.
func (t *Tape) count(list string) int {
	n := 0
	for i := range t.said {
		if t.said[i].list() == list {
			n++
		}
	}
	return n
}

// PruneWindow forgets what was said to a window, and returns it.
func (t *Tape) PruneWindow(monitor wire.MonitorID, window wire.WindowID) ([]Said, []store.Op) {
	gone := t.remove(func(s *Said) bool { return s.Monitor == monitor && s.Window == window && window != "" })
	return gone, t.without(gone)
}

// PruneMonitor forgets what was said on a monitor.
func (t *Tape) PruneMonitor(monitor wire.MonitorID) []store.Op {
	return t.without(t.remove(func(s *Said) bool { return s.Monitor == monitor }))
}

// Rewind forgets what was said on a monitor in rows that go.
func (t *Tape) Rewind(monitor wire.MonitorID, goes func(wire.RowID) bool) []store.Op {
	before := map[string][]Said{}
	for i := range t.said {
		name := t.said[i].list()
		before[name] = append(before[name], t.said[i].Said)
	}
	gone := t.remove(func(s *Said) bool { return s.Monitor == monitor && s.Row > 0 && goes(s.Row) })
	after := map[string][]Said{}
	for i := range gone {
		after[gone[i].list()] = nil
	}
	for i := range t.said {
		if name := t.said[i].list(); slices.ContainsFunc(gone, func(s Said) bool { return s.list() == name }) {
			after[name] = append(after[name], t.said[i].Said)
		}
	}
	var ops []store.Op
	for _, name := range sortedKeys(after) {
		left, same := after[name], 0
		for same < len(left) && left[same].N == before[name][same].N {
			same++
		}
		ops = append(ops, shorten(name, same)...)
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

// Clear forgets everything.
func (t *Tape) Clear() []store.Op {
	return t.without(t.remove(func(*Said) bool { return true }))
}

// All is what makes the kept lists these.
func (t *Tape) All() []store.Op {
	var ops []store.Op
	lists := map[string][]Said{}
	for i := range t.said {
		name := t.said[i].list()
		lists[name] = append(lists[name], t.said[i].Said)
	}
	for _, name := range sortedKeys(lists) {
		ops = append(ops, relist(name, lists[name])...)
	}
	return ops
}

// Restore reads the kept lists.
func (t *Tape) Restore(lists map[string][][]byte) error {
	*t = Tape{}
	for name, items := range lists {
		if !strings.HasPrefix(name, tapePrefix) {
			continue
		}
		said, err := unlist[Said](name, items)
		if err != nil {
			return err
		}
		for i := range said {
			t.said = append(t.said, taped{said[i], len(items[i])})
		}
	}
	slices.SortFunc(t.said, func(a, b taped) int { return cmp.Compare(a.N, b.N) })
	for i := range t.said {
		t.bytes += t.said[i].size
		t.n = max(t.n, t.said[i].N)
	}
	return nil
}

var tagEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// FormatTape is how a model is told what was said before; nothing is nothing.
func FormatTape(said []Said) string {
	if len(said) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("<previous_conversation>\n")
	for i, s := range said {
		tag := string(s.By)
		if s.Window != "" {
			tag += ":" + tagEscaper.Replace(string(s.Window))
		}
		if i > 0 {
			b.WriteString("\n\n")
		}
		fmt.Fprintf(&b, "<%s>%s</%s>", tag, tagEscaper.Replace(s.Text), tag)
	}
	b.WriteString("\n</previous_conversation>")
	return b.String()
}
