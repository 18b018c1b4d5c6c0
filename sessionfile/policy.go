package sessionfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// Policy says what of a log becomes a session again.
type Policy struct {
	Kind PolicyKind
	// Windows are those that are chosen, for all kinds but the full one.
	Windows []wire.WindowID
}

// ChoiceError is what is wrong with a policy, however good the log is.
type ChoiceError struct {
	// Field is policy or window.
	Field  string
	Reason string
}

func (e *ChoiceError) Error() string { return e.Reason }

// Check says what is wrong with a policy for every log, if anything is: a
// [*ChoiceError].
func (p Policy) Check() error {
	switch p.Kind {
	case Full, "":
		if len(p.Windows) > 0 {
			return &ChoiceError{Field: "window", Reason: fmt.Sprintf("the policy %s restores all windows, and some were chosen", Full)}
		}
	case MainAndSelected, SummarizeOld:
	default:
		return &ChoiceError{
			Field: "policy", Reason: fmt.Sprintf("there is no policy %q: want %s, %s or %s", p.Kind, Full, MainAndSelected, SummarizeOld),
		}
	}
	return nil
}

// PolicyKind is how much is restored.
type PolicyKind string

// How much is restored.
const (
	// Full restores everything.
	Full PolicyKind = "full"
	// MainAndSelected restores the main conversations, and of windows those that
	// are chosen with what was said to them.
	MainAndSelected PolicyKind = "main_and_selected_windows"
	// SummarizeOld does the same, and tells the main conversations in a line what
	// the windows were that are not chosen.
	SummarizeOld PolicyKind = "summarize_old_windows"
)

// summaryRunes is how long the line about a window is.
const summaryRunes = 500

// Restored is the part of a log that a policy wants. The log stays as it is.
func (l *Log) Restored(p Policy) (*Log, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if p.Kind == Full || p.Kind == "" {
		return l, nil
	}
	for _, id := range p.Windows {
		if !l.hasWindow(id) {
			return nil, &ChoiceError{Field: "window", Reason: fmt.Sprintf("the session log has no window %q", id)}
		}
	}
	out := *l
	chosen := func(id wire.WindowID) bool { return slices.Contains(p.Windows, id) }
	out.Desktop.Windows = slices.DeleteFunc(slices.Clone(l.Desktop.Windows), func(w wire.WindowState) bool { return !chosen(w.WindowID) })
	out.Threads = slices.DeleteFunc(slices.Clone(l.Threads), func(t history.Thread) bool {
		return len(t.Windows) > 0 && !slices.ContainsFunc(t.Windows, chosen)
	})
	out.Rows = map[wire.MonitorID][]wire.UIRow{}
	for monitor, rows := range l.Rows {
		out.Rows[monitor] = slices.DeleteFunc(slices.Clone(rows), func(r wire.UIRow) bool { return r.WindowID != "" && !chosen(r.WindowID) })
	}
	if p.Kind == SummarizeOld {
		out.summarize(l, chosen)
	}
	return &out, nil
}

// hasWindow reports whether a window is open, or was spoken to.
func (l *Log) hasWindow(id wire.WindowID) bool {
	if slices.ContainsFunc(l.Desktop.Windows, func(w wire.WindowState) bool { return w.WindowID == id }) {
		return true
	}
	for _, rows := range l.Rows {
		if slices.ContainsFunc(rows, func(r wire.UIRow) bool { return r.WindowID == id }) {
			return true
		}
	}
	return false
}

// old is a window that is not restored.
type old struct {
	monitor wire.MonitorID
	window  wire.WindowID
	last    wire.UIRow // that was said in it
	text    string
}

// summarize adds a line about each window that was not chosen to what people and
// the main agent of its monitor see, in the order in which they were used last.
func (l *Log) summarize(from *Log, chosen func(wire.WindowID) bool) {
	var top wire.RowID
	for _, rows := range from.Rows {
		for i := range rows {
			top = max(top, rows[i].ID)
		}
	}
	for _, o := range from.unchosen(chosen) {
		top++
		text := fmt.Sprintf("[window_summary:%s] %s", o.window, o.text)
		rows := l.Rows[o.monitor]
		row := wire.UIRow{
			ID: top, TS: o.last.TS, Type: wire.RowSay, Say: wire.SayText, Text: text, MonitorID: o.monitor,
			Thread: "main-" + string(o.monitor),
		}
		if n := len(rows); n > 0 {
			row.TS = max(row.TS, rows[n-1].TS+1)
		}
		l.Rows[o.monitor] = append(rows, row)
		l.tell(o.monitor, row)
	}
}

// tell adds a row to what the main agent of a monitor knows.
func (l *Log) tell(monitor wire.MonitorID, row wire.UIRow) {
	i := slices.IndexFunc(l.Threads, func(t history.Thread) bool { return t.Monitor == monitor && len(t.Windows) == 0 })
	if i < 0 {
		l.Threads = append(l.Threads, history.Thread{Agent: row.Thread, Monitor: monitor})
		i = len(l.Threads) - 1
	}
	t := &l.Threads[i]
	t.Messages = append(slices.Clone(t.Messages), history.Message{
		ID: history.NextID(history.LastID(t.Messages)), Row: row.ID, TS: row.TS,
		Entry: providers.Entry{
			Role: providers.RoleAssistant, Turn: "restored",
			Blocks: []providers.Block{{Kind: providers.BlockText, Text: row.Text}},
		},
	})
}

// unchosen are the windows that were spoken to and are not chosen, the one that was
// used longest ago first.
func (l *Log) unchosen(chosen func(wire.WindowID) bool) []old {
	type key struct {
		monitor wire.MonitorID
		window  wire.WindowID
	}
	found := map[key]*old{}
	asked := map[key]string{}
	for monitor, rows := range l.Rows {
		for _, r := range rows {
			k := key{monitor, r.WindowID}
			if r.WindowID == "" || chosen(r.WindowID) {
				continue
			}
			if found[k] == nil {
				found[k] = &old{monitor: monitor, window: r.WindowID}
			}
			o := found[k]
			o.last = r
			switch r.Say {
			case wire.SayUserFeedback:
				asked[k], o.text = oneLine(r.Text), ""
			case wire.SayText:
				o.text = oneLine(r.Text)
			}
		}
	}
	all := make([]old, 0, len(found))
	for k, o := range found {
		o.text = shortened(strings.TrimSpace(l.title(o.window) + " Last asked: " + asked[k] + " Last answer: " + cmp.Or(o.text, "none.")))
		all = append(all, *o)
	}
	slices.SortFunc(all, func(a, b old) int {
		return cmp.Or(cmp.Compare(a.last.TS, b.last.TS), cmp.Compare(a.monitor, b.monitor), cmp.Compare(a.window, b.window))
	})
	return all
}

// title is what a window that is open is called.
func (l *Log) title(id wire.WindowID) string {
	for _, w := range l.Desktop.Windows {
		if w.WindowID == id {
			return fmt.Sprintf("%q.", w.Title)
		}
	}
	return "It is closed."
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func shortened(text string) string {
	if utf8.RuneCountInString(text) <= summaryRunes {
		return text
	}
	return string([]rune(text)[:summaryRunes]) + "…"
}
