package rootask

import (
	"io"
	"iter"
	"time"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/sessionfile"
	"github.com/everdesk/everdesk/wire"
)

// Write writes the task as a session file.
func (t *Task) Write(w io.Writer) error {
	first, last := t.times()
	s := sessionfile.Source{
		Meta: sessionfile.Metadata{
			SessionID: "roo-task", Title: t.Title, CreatedAt: first, LastActivity: last, ExportedAt: time.Now(),
		},
		Desktop: wire.SessionState{Title: t.Title, Monitors: []wire.MonitorStatus{{MonitorID: monitor, State: wire.MonitorIdle}}},
		Rows: func(wire.MonitorID) iter.Seq2[wire.UIRow, error] {
			return func(yield func(wire.UIRow, error) bool) {
				for _, row := range t.Rows {
					if !yield(row, nil) {
						return
					}
				}
			}
		},
	}
	if len(t.Messages) > 0 {
		s.Threads = []history.Thread{{Agent: "main-" + string(monitor), Monitor: monitor, Messages: t.Messages}}
	}
	return sessionfile.Write(w, s)
}
