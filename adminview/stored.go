package adminview

import (
	"context"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

const (
	// rereadEvery is the minimum interval between reads of a session's log.
	rereadEvery = 2 * time.Second
	// maxStoredReads bounds concurrent reads of sessions, which may be large.
	maxStoredReads = 4
)

// storedDetail is what was read from the store about a session that an admin looks at: its
// owners, and the detail for when no owner reports it.
type storedDetail struct {
	reading bool
	at      time.Time // time of the last read
	epoch   uint64    // epoch at that time
	top     wire.Position
	owners  []Owner
	detail  *Detail
}

// detail returns everything known about a session, and starts the reads that are due. It
// also reports whether the log was read.
func (w *Watcher) detail(ctx context.Context, row Row, own map[wire.SessionID]part, now time.Time) (Detail, bool) {
	var parts []part
	if p, ok := own[row.SessionID]; ok {
		parts = append(parts, p)
	}
	for id, p := range w.peers {
		if got, ok := p.parts[row.SessionID]; ok {
			for i := range got.Detail.Tabs {
				got.Detail.Tabs[i].Replica = id // whatever the report says
			}
			parts = append(parts, got)
		}
	}
	s := w.stored[row.SessionID]
	if s == nil {
		s = &storedDetail{}
		w.stored[row.SessionID] = s
	}
	d := assemble(row, parts, s.detail, s.owners)
	if w.storedReads < maxStoredReads && !s.reading && now.Sub(s.at) >= rereadEvery && (s.at.IsZero() || s.epoch != row.Epoch || !d.Known && s.top != row.Top) {
		w.readStored(ctx, s, row, !d.Known, now)
	}
	return d, !s.at.IsZero()
}

// readStored reads the owners of a session and, if readDetail is set, its stored state.
func (w *Watcher) readStored(ctx context.Context, s *storedDetail, row Row, readDetail bool, now time.Time) {
	s.reading = true
	w.storedReads++
	w.background(ctx, scanTimeout, func(ctx context.Context) func() {
		info, err := w.hub.Info(ctx, row.SessionID)
		var owners []Owner
		if err == nil {
			owners, err = readOwners(ctx, w.logs, row.SessionID, info.Oldest)
		}
		var stored *Detail
		if readDetail {
			if i, failed := w.hub.InspectStored(ctx, row.SessionID); failed == nil {
				stored = new(detailOf(&i))
			}
		}
		return func() {
			w.storedReads--
			s.reading, s.at, s.epoch, s.top = false, now, row.Epoch, row.Top
			if err == nil {
				s.owners = owners
			}
			s.detail = stored
		}
	})
}

var _ Hub = (*session.Hub)(nil)
