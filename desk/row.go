package desk

import (
	"cmp"

	"github.com/everdesk/everdesk/wire"
)

// setRow keeps a row that is new or has changed.
func (s *State) setRow(p wire.MessageUpdated) {
	row := p.Message
	row.MonitorID = cmp.Or(row.MonitorID, p.MonitorID)
	row.AgentID = cmp.Or(row.AgentID, p.AgentID)
	row.MessageID = cmp.Or(row.MessageID, p.MessageID)
	s.putRow(row)
}

func (s *State) putRow(row wire.UIRow) {
	if old := s.rows.get(row.TS); old != nil {
		s.rowBytes -= rowSize(&old.value)
	}
	row.Text, row.Reasoning = mended(row.Text), mended(row.Reasoning)
	s.rowBytes += rowSize(&row)
	s.rows.put(row.TS, row)
	for s.rows.len() > MaxRows || s.rowBytes > MaxRowBytes && s.rows.len() > 1 {
		oldest, _ := s.rows.first(byTS)
		s.dropRow(oldest)
	}
}

func byTS(a, b *wire.UIRow) int { return cmp.Compare(a.TS, b.TS) }

// rowSize is what counts of a row.
func rowSize(r *wire.UIRow) int {
	n := len(r.Text) + len(r.Reasoning)
	for _, image := range r.Images {
		n += len(mended(image))
	}
	return n
}

func (s *State) dropRow(row *wire.UIRow) {
	s.rowBytes -= rowSize(row)
	s.rows.drop(row.TS)
}

// rewind drops the rows after a row, and the row itself when the count says so.
func (s *State) rewind(p wire.HistoryRewound) {
	concerns := func(row *wire.UIRow) bool { return p.MonitorID == "" || row.MonitorID == p.MonitorID }
	removed := 0
	for _, r := range s.rows.items {
		if r.value.TS > p.TS && concerns(&r.value) {
			s.dropRow(&r.value)
			removed++
		}
	}
	if r := s.rows.get(p.TS); r != nil && removed < p.Removed && concerns(&r.value) {
		s.dropRow(&r.value)
	}
}
