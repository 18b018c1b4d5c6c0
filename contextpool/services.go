package contextpool

import (
	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/wire"
)

// services are the session, the runner and the settings of a pool. All parts of the pool share
// them; they hold no state of their own.
type services struct {
	cfg       Config
	step      StepWriter
	rows      RowLog
	state     StateReader
	ends      EndListener
	runner    Runner
	providers Providers
}

// disposeAgent closes the provider session of an agent after the step is committed.
func (s *services) disposeAgent(agent string) {
	s.step.AfterCommit(func() { s.runner.Dispose(agent) })
}

// revision returns how often the conversation of a monitor was rewound.
func (s *services) revision(monitor wire.MonitorID) int {
	m, _ := s.state.Desktop().Monitor(monitor)
	return m.Revision
}

// Icons of rows of messages that are not answered.
const (
	refusedIcon = "circle-slash"
	removedIcon = "discard"
)

// markRowRefused marks the row of a message that will not be answered, for tabs that did not
// get or missed the reply. If the step is full, the row stays unmarked.
func (s *services) markRowRefused(id wire.MessageID, icon, reason string) {
	row, ok := s.state.Desktop().Rows().UserRow(id)
	if !ok || s.step.Full() {
		return
	}
	row.ProgressStatus = &wire.ProgressStatus{Icon: icon, Text: truncate(reason, reasonBytes)}
	s.step.Emit(wire.MessageUpdated{Action: wire.RowUpdated, Message: row, MonitorID: row.MonitorID, MessageID: id})
}

// rowLimit returns the maximum length of the input and of the result in a row.
func (s *services) rowLimit() int {
	if s.step.Full() {
		return fullRowBytes
	}
	return rowBytes
}

// finishRow marks a growing row as finished.
func (s *services) finishRow(monitor wire.MonitorID, ts wire.Millis) {
	row, ok := s.findRow(monitor, ts)
	if ok && history.IsPartial(row) {
		s.updateRow(history.FinalVersion(row))
	}
}

// updateRow publishes a new version of a row.
func (s *services) updateRow(row wire.UIRow) {
	s.step.Emit(wire.MessageUpdated{
		Action: wire.RowUpdated, Message: row, MonitorID: row.MonitorID, AgentID: row.AgentID, MessageID: row.MessageID,
	})
}

// findRow returns a row, from the store if the desktop state has dropped it.
func (s *services) findRow(monitor wire.MonitorID, ts wire.Millis) (wire.UIRow, bool) {
	if row, ok := s.state.Desktop().Rows().Row(ts); ok {
		return row, true
	}
	rows, err := s.rows.RowsSince(monitor, ts, false)
	if err != nil || len(rows) == 0 {
		return wire.UIRow{}, false // the question or turn ends without its row
	}
	return rows[0], true
}
