package adminview

import (
	"context"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

const (
	// studyAgain is how often at the most the log of a session is read again.
	studyAgain = 2 * time.Second
	// maxStudies is how many sessions are read at the same time, which may be large.
	maxStudies = 4
)

// study is what was read about a session that somebody looks at: who had it, and
// what the store has of it, for when no owner tells.
type study struct {
	reading bool
	at      time.Time // when it was read last
	epoch   uint64    // as it was then
	top     wire.Position
	owners  []Owner
	detail  *Detail
}

// detail is all that is known of a session, and begins to find out the rest. It also
// says whether its log was read.
func (m *Watcher) detail(ctx context.Context, row Row, own map[wire.SessionID]part, now time.Time) (Detail, bool) {
	var parts []part
	if p, ok := own[row.SessionID]; ok {
		parts = append(parts, p)
	}
	for id, p := range m.peers {
		if got, ok := p.parts[row.SessionID]; ok {
			for i := range got.Detail.Tabs {
				got.Detail.Tabs[i].Replica = id // whatever it says
			}
			parts = append(parts, got)
		}
	}
	s := m.studies[row.SessionID]
	if s == nil {
		s = &study{}
		m.studies[row.SessionID] = s
	}
	d := assemble(row, parts, s.detail, s.owners)
	if m.studying < maxStudies && !s.reading && now.Sub(s.at) >= studyAgain && (s.at.IsZero() || s.epoch != row.Epoch || !d.Known && s.top != row.Top) {
		m.study(ctx, s, row, !d.Known, now)
	}
	return d, !s.at.IsZero()
}

// study reads who had a session and, if nobody tells, what the store has of it.
func (m *Watcher) study(ctx context.Context, s *study, row Row, recall bool, now time.Time) {
	s.reading = true
	m.studying++
	m.background(ctx, scanFor, func(ctx context.Context) func() {
		info, err := m.hub.Info(ctx, row.SessionID)
		var owners []Owner
		if err == nil {
			owners, err = readOwners(ctx, m.store, row.SessionID, info.Oldest)
		}
		var recalled *Detail
		if recall {
			if i, failed := m.hub.InspectStored(ctx, row.SessionID); failed == nil {
				recalled = new(detailOf(&i))
			}
		}
		return func() {
			m.studying--
			s.reading, s.at, s.epoch, s.top = false, now, row.Epoch, row.Top
			if err == nil {
				s.owners = owners
			}
			s.detail = recalled
		}
	})
}

var _ Hub = (*session.Hub)(nil)
