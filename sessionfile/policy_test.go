package sessionfile_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/sessionfile"
	"github.com/everdesk/everdesk/wire"
)

// outline lists the parts of a log.
func outline(l *sessionfile.Log) (windows, threads, rows []string) {
	for _, w := range l.Desktop.Windows {
		windows = append(windows, string(w.WindowID))
	}
	for _, t := range l.Threads {
		threads = append(threads, t.Agent)
	}
	for _, r := range l.Rows[first] {
		if r.Say == wire.SayUserFeedback || r.Say == wire.SayText {
			rows = append(rows, r.Text)
		}
	}
	return windows, threads, rows
}

func TestPolicies(t *testing.T) {
	t.Parallel()
	all := reading(t, packed(t, example()))
	main := []string{"안녕", "hello"}
	for name, c := range map[string]struct {
		policy                 sessionfile.Policy
		windows, threads, rows []string
	}{
		"full": {
			sessionfile.Policy{Kind: sessionfile.Full},
			[]string{"w1", "w2"},
			[]string{"main-monitor-0", "window-monitor-0/w1", "window-monitor-0/w2"},
			append(slices.Clone(main), "to the\nfirst window", "from the first window", "to the second window"),
		},
		"main": {sessionfile.Policy{Kind: sessionfile.MainAndSelected}, nil, []string{"main-monitor-0"}, main},
		"main and one": {
			sessionfile.Policy{Kind: sessionfile.MainAndSelected, Windows: []wire.WindowID{"w1"}},
			[]string{"w1"},
			[]string{"main-monitor-0", "window-monitor-0/w1"},
			append(slices.Clone(main), "to the\nfirst window", "from the first window"),
		},
		"a line for the others": {
			sessionfile.Policy{Kind: sessionfile.SummarizeOld, Windows: []wire.WindowID{"w2"}},
			[]string{"w2"},
			[]string{"main-monitor-0", "window-monitor-0/w2"},
			append(slices.Clone(main), "to the second window",
				`[window_summary:w1] "One". Last asked: to the first window Last answer: from the first window`),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := all.Restored(c.policy)
			if err != nil {
				t.Fatal(err)
			}
			windows, threads, rows := outline(l)
			if d := cmp.Diff([][]string{c.windows, c.threads, c.rows}, [][]string{windows, threads, rows}); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			if err := providers.Check(append(history.View(l.Threads[0].Messages), says("go on"))); err != nil {
				t.Errorf("check of the messages for a model: got error %v, want none", err)
			}
		})
	}
	windows, threads, rows := outline(all)
	if len(windows) != 2 || len(threads) != 3 || len(rows) != 5 {
		t.Errorf("log after the policies: got %d windows, %d threads and %d rows, want it unchanged, 2, 3 and 5", len(windows), len(threads), len(rows))
	}
}

func says(text string) providers.Entry {
	return providers.Entry{Role: providers.RoleUser, Turn: "n", Blocks: []providers.Block{{Kind: providers.BlockText, Text: text}}}
}

// The user interface and the model get the same line, in the order in which windows were used.
func TestLinesAboutOldWindows(t *testing.T) {
	t.Parallel()
	l, err := reading(t, packed(t, example())).Restored(sessionfile.Policy{Kind: sessionfile.SummarizeOld})
	if err != nil {
		t.Fatal(err)
	}
	rows := l.Rows[first]
	messages := l.Threads[0].Messages
	for i, want := range []string{"[window_summary:w1] ", "[window_summary:w2] "} {
		row, m := rows[len(rows)-2+i], messages[len(messages)-2+i]
		if !strings.HasPrefix(row.Text, want) || m.Blocks[0].Text != row.Text || m.Row != row.ID {
			t.Errorf("row %+v and message %+v, want %s in both", row, m, want)
		}
		if before := rows[len(rows)-3+i]; row.ID <= before.ID || row.TS <= before.TS {
			t.Errorf("row after %d at %d: got %d at %d, want a later one", before.ID, before.TS, row.ID, row.TS)
		}
	}
}

func TestInvalidPolicies(t *testing.T) {
	t.Parallel()
	l := reading(t, packed(t, example()))
	for says, p := range map[string]sessionfile.Policy{
		`there is no policy "some": want full, main_and_selected_windows or summarize_old_windows`: {Kind: "some"},
		`the session log has no window "w9"`: {Kind: sessionfile.MainAndSelected, Windows: []wire.WindowID{"w9"}},
		"restores all windows":               {Kind: sessionfile.Full, Windows: []wire.WindowID{"w1"}},
	} {
		if _, err := l.Restored(p); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
}
