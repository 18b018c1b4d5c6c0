package desktop_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

func TestRows(t *testing.T) {
	t.Parallel()
	s := newScript()
	row := func(ts wire.Millis, monitor wire.MonitorID, text string) {
		s.emit(wire.MessageUpdated{
			Action: wire.RowCreated, MonitorID: monitor, Message: wire.UIRow{TS: ts, Type: wire.RowSay, Say: wire.SayText, Text: text},
		})
	}
	rows := func() string {
		var b strings.Builder
		for _, r := range s.Snapshot().RecentMessages {
			fmt.Fprint(&b, r.TS, r.Text, " ")
		}
		return b.String()
	}
	check := func(want string) {
		t.Helper()
		if got := rows(); got != want {
			t.Errorf("rows %q, want %q", got, want)
		}
	}
	row(1, "monitor-0", "a")
	row(3, "monitor-0", "c")
	row(2, "monitor-1", "b")
	row(3, "monitor-0", "d")
	row(4, "monitor-0", "e")
	check("1a 2b 3d 4e ")
	s.emit(wire.HistoryRewound{TS: 3, Removed: 1, Included: true, MonitorID: "monitor-0"})
	check("1a 2b 3d ")
	row(5, "monitor-0", "f")
	s.emit(wire.HistoryRewound{TS: 3, Removed: 1, Kept: []wire.Millis{5}, MonitorID: "monitor-0"})
	check("1a 2b 5f ")
	s.emit(wire.HistoryRewound{TS: 1, Removed: 2, MonitorID: "monitor-0"})
	check("2b ")
	for i := range desktop.MaxRows {
		row(wire.Millis(10+i), "", "x")
	}
	if got := s.Snapshot().RecentMessages; len(got) != desktop.MaxRows || got[0].TS != 10 {
		t.Errorf("%d rows from %d on, want %d from 10 on", len(got), got[0].TS, desktop.MaxRows)
	}
	row(1000, "", strings.Repeat("x", desktop.MaxRowBytes))
	if got := s.Snapshot().RecentMessages; len(got) != 1 || got[0].TS != 1000 {
		t.Errorf("%d rows from %d on after one of the largest size, want 1 from 1000 on", len(got), got[0].TS)
	}
	s.emit(wire.HistoryRewound{})
	check("")
	row(1, "", "a")
	row(2, "", "b")
	check("1a 2b ") // what is gone takes no room
	s.emit(wire.HistoryRewound{TS: 2, Restored: []wire.UIRow{{TS: 1, Text: "z", Type: wire.RowSay, Say: wire.SayText}}})
	check("1z ")
}

// Restorable returns as many older rows as there is room for, without displacing newer ones.
func TestRestorable(t *testing.T) {
	t.Parallel()
	older := func(n, size int) []wire.UIRow {
		rows := make([]wire.UIRow, n)
		for i := range rows {
			rows[i] = wire.UIRow{TS: wire.Millis(1 + i), Type: wire.RowSay, Say: wire.SayText, Text: strings.Repeat("x", size)}
		}
		return rows
	}
	for name, c := range map[string]struct {
		stay  int // rows that the rewind leaves
		older []wire.UIRow
		want  int
	}{
		"none":        {5, nil, 0},
		"all":         {5, older(10, 1), 10},
		"too many":    {5, older(500, 1), desktop.MaxRows - 5},
		"no room":     {desktop.MaxRows, older(1, 1), 0},
		"too long":    {1, older(5, desktop.MaxRowBytes/3+1), 2},
		"one is huge": {0, older(2, 2*desktop.MaxRowBytes), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript()
			for i := range c.stay {
				s.emit(wire.MessageUpdated{Action: wire.RowCreated, Message: wire.UIRow{TS: wire.Millis(1000 + i), Type: wire.RowSay, Text: "x"}})
			}
			undo := wire.HistoryRewound{TS: 5000}
			undo.Restored = s.Rows().Restorable(undo, c.older)
			if got := len(undo.Restored); got != c.want {
				t.Errorf("%d of %d rows come back, want %d", got, len(c.older), c.want)
			}
			s.emit(undo)
			if got := len(s.Snapshot().RecentMessages); got != c.stay+c.want {
				t.Errorf("%d rows, want %d", got, c.stay+c.want)
			}
		})
	}
}
