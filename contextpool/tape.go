package contextpool

import (
	"fmt"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

const tapeList = "tape"

// How much there is on a tape.
const (
	// When a monitor's main conversation is longer than tapeMain messages, the
	// newest tapeMainKept stay.
	tapeMain     = 200
	tapeMainKept = 100
	// tapeWindow is how many messages of one window stay.
	tapeWindow = 100
	// saidBytes is the most that is kept of a message, tapeBytes of all. When it
	// is more, the oldest go until half of it is free.
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
}

func (s *Said) size() int { return len(s.Text) + 128 }

// Tape is what was said in a session, the oldest first, and where. Its methods
// that change it return what is to be kept.
type Tape struct {
	said  []Said
	bytes int
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
		if h.has(&t.said[i]) {
			out = append(out, t.said[i])
		}
	}
	return out
}

// Len is how many messages there are.
func (t *Tape) Len() int { return len(t.said) }

// Append adds a message.
func (t *Tape) Append(s Said) []store.Op {
	s.Text = cut(s.Text, saidBytes)
	t.said = append(t.said, s)
	t.bytes += s.size()
	if t.prune(s.Monitor, s.Window) {
		return t.All()
	}
	return []store.Op{store.Push(tapeList, encode(&s))}
}

// prune drops what is too much after a message was added, and reports whether
// something was.
func (t *Tape) prune(monitor wire.MonitorID, window wire.WindowID) bool {
	same := func(s *Said) bool { return s.Monitor == monitor && s.Window == window }
	count := 0
	for i := range t.said {
		if same(&t.said[i]) {
			count++
		}
	}
	before := len(t.said)
	drop := 0
	switch {
	case window == "" && count > tapeMain:
		drop = count - tapeMainKept
	case window != "" && count > tapeWindow:
		drop = count - tapeWindow/2
	}
	if drop > 0 {
		t.remove(func(s *Said) bool {
			drop--
			return drop >= 0
		}, same)
	}
	if t.bytes > tapeBytes || len(t.said) > tapeAll {
		drop = len(t.said) - tapeAll/2
		t.remove(func(*Said) bool {
			drop--
			return drop >= 0 && before > tapeAll || t.bytes > tapeBytes/2
		}, func(*Said) bool { return true })
	}
	return len(t.said) != before
}

// remove drops those of some messages, from the oldest, for which gone is true.
func (t *Tape) remove(gone, among func(*Said) bool) {
	kept := make([]Said, 0, len(t.said))
	for i := range t.said {
		s := &t.said[i]
		if among(s) && gone(s) {
			t.bytes -= s.size()
			continue
		}
		kept = append(kept, *s)
	}
	t.said = kept
}

// PruneWindow forgets what was said to a window, and returns it.
func (t *Tape) PruneWindow(monitor wire.MonitorID, window wire.WindowID) ([]Said, []store.Op) {
	return t.forget(func(s *Said) bool { return s.Monitor == monitor && s.Window == window && window != "" })
}

// PruneMonitor forgets what was said on a monitor.
func (t *Tape) PruneMonitor(monitor wire.MonitorID) []store.Op {
	_, ops := t.forget(func(s *Said) bool { return s.Monitor == monitor })
	return ops
}

func (t *Tape) forget(which func(*Said) bool) (gone []Said, ops []store.Op) {
	t.remove(func(s *Said) bool {
		gone = append(gone, *s)
		return true
	}, which)
	if len(gone) == 0 {
		return nil, nil
	}
	return gone, t.All()
}

// Clear forgets everything.
func (t *Tape) Clear() []store.Op {
	*t = Tape{}
	return t.All()
}

// All is what makes the kept list this one.
func (t *Tape) All() []store.Op { return relist(tapeList, t.said) }

// Restore reads the kept list.
func (t *Tape) Restore(items [][]byte) (err error) {
	*t = Tape{}
	if t.said, err = unlist[Said](tapeList, items); err != nil {
		return err
	}
	for i := range t.said {
		t.bytes += t.said[i].size()
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
