package sessionfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/internal/truncation"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// Policy selects what of a session file is imported.
type Policy struct {
	Kind PolicyKind
	// Windows are the selected windows; only for kinds other than [Full].
	Windows []wire.WindowID
}

// ChoiceError says why a policy is invalid, independent of the file.
type ChoiceError struct {
	// Field is "policy" or "window".
	Field  string
	Reason string
}

func (e *ChoiceError) Error() string { return e.Reason }

// Check returns a [*ChoiceError] if the policy is invalid for every file.
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

// PolicyKind is the extent of an import.
type PolicyKind string

// The kinds of policies.
const (
	// Full imports everything.
	Full PolicyKind = "full"
	// MainAndSelected imports the main conversations, and the selected windows with their
	// conversations.
	MainAndSelected PolicyKind = "main_and_selected_windows"
	// SummarizeOld does the same, and adds a line about each other window to the main
	// conversations.
	SummarizeOld PolicyKind = "summarize_old_windows"
)

// summaryRunes bounds the line about a window, in characters.
const summaryRunes = 500

// Restored returns the part of l that a policy selects. It does not modify l.
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

// hasWindow reports whether a window is open or has rows.
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

// oldWindow is a window that is not imported.
type oldWindow struct {
	monitor wire.MonitorID
	window  wire.WindowID
	last    wire.UIRow // its last row
	text    string
}

// summarize adds a line about each unselected window to the rows and to the main agent's
// thread of its monitor, in the order of their last use.
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
		l.addToThread(o.monitor, row)
	}
}

// addToThread adds a row to the thread of a monitor's main agent.
func (l *Log) addToThread(monitor wire.MonitorID, row wire.UIRow) {
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

// unchosen returns the unselected windows with rows, the least recently used first.
func (l *Log) unchosen(chosen func(wire.WindowID) bool) []oldWindow {
	type key struct {
		monitor wire.MonitorID
		window  wire.WindowID
	}
	found := map[key]*oldWindow{}
	asked := map[key]string{}
	for monitor, rows := range l.Rows {
		for _, r := range rows {
			k := key{monitor, r.WindowID}
			if r.WindowID == "" || chosen(r.WindowID) {
				continue
			}
			if found[k] == nil {
				found[k] = &oldWindow{monitor: monitor, window: r.WindowID}
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
	all := make([]oldWindow, 0, len(found))
	for k, o := range found {
		o.text = truncateRunes(strings.TrimSpace(l.title(o.window) + " Last asked: " + asked[k] + " Last answer: " + cmp.Or(o.text, "none.")))
		all = append(all, *o)
	}
	slices.SortFunc(all, func(a, b oldWindow) int {
		return cmp.Or(cmp.Compare(a.last.TS, b.last.TS), cmp.Compare(a.monitor, b.monitor), cmp.Compare(a.window, b.window))
	})
	return all
}

// title returns the title of a window if it is open.
func (l *Log) title(id wire.WindowID) string {
	for _, w := range l.Desktop.Windows {
		if w.WindowID == id {
			return fmt.Sprintf("%q.", w.Title)
		}
	}
	return "It is closed."
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func truncateRunes(text string) string {
	return truncation.RunesMarked(text, summaryRunes, "…")
}
