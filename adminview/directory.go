package adminview

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

const (
	// scanEvery is the interval at which the directory of all sessions is read while an
	// admin watches.
	scanEvery = 10 * time.Second
	// scanAgain is the retry interval after a failed scan, and the maximum age of the
	// directory for a list request.
	scanAgain = time.Second
	// scanFor is the timeout of a scan.
	scanFor = 30 * time.Second
	// maxSessions bounds the sessions of the directory. Sessions beyond it appear only in
	// their owners' reports.
	maxSessions = 100_000
	// lookups bounds the sessions looked up in one round. lookAgain is the minimum time
	// before a session is looked up again because reports contradict its entry.
	lookups   = 64
	lookAgain = 2 * time.Second
)

// entry is the directory's record of a session.
type entry struct {
	row     Row
	working bool
	// held is set if the owner's lease was valid at the lookup.
	held   bool
	looked time.Time
}

func entryOf(i session.Info, now time.Time) entry {
	e := entry{
		row: Row{
			SessionID: i.ID, User: i.User, Title: i.Title, Owner: i.Owner, Epoch: i.Epoch, Top: i.Top,
			CreatedAt: wire.Millis(i.Created.UnixMilli()), UpdatedAt: wire.Millis(i.Updated.UnixMilli()),
			Reason: i.Quarantined,
		},
		working: i.Working, held: i.Owner != "" && i.Until.After(now), looked: now,
	}
	return e
}

// directory holds what is known of all sessions. The goroutine of Run owns it. When the
// last admin leaves it is replaced, and reads still in progress write to the old one.
type directory struct {
	by       map[wire.SessionID]entry
	scanned  time.Time // start of the last completed scan; zero before the first
	begun    time.Time // start of the last scan
	scanning bool
	looking  bool      // a lookup is in progress
	looked   time.Time // start of the last lookup
}

// refreshDirectory starts the reads that are due. reported holds the rows that owners
// report now, before those of the previous round.
func (m *Watcher) refreshDirectory(ctx context.Context, reported, before map[wire.SessionID]*Row, now time.Time) {
	d := m.directory // the one at the start of this read, not a later one
	if age := now.Sub(d.begun); !d.scanning && (age >= scanEvery || d.scanned.Before(m.directoryNeededAt()) && age >= scanAgain) {
		d.scanning, d.begun = true, now
		m.background(ctx, scanFor, func(ctx context.Context) func() {
			all, err := m.scan(ctx, now)
			return func() {
				d.scanning = false
				m.warn(ctx, "list sessions", err)
				if err == nil {
					d.by, d.scanned = all, now
				}
			}
		})
	}
	if d.looking || d.scanned.IsZero() || now.Sub(d.looked) < m.cfg.Every {
		return
	}
	var ids []wire.SessionID
	want := func(id wire.SessionID) {
		if e, ok := d.by[id]; len(ids) < lookups && (!ok || now.Sub(e.looked) >= lookAgain) {
			ids = append(ids, id)
		}
	}
	for id := range reported {
		if _, known := d.by[id]; !known {
			want(id)
		}
	}
	for id := range before {
		if _, still := reported[id]; !still {
			want(id)
		}
	}
	for id, e := range d.by {
		if len(ids) == lookups {
			break
		}
		if _, is := reported[id]; !is && e.held && m.fullyReported(e.row.Owner) {
			want(id)
		}
	}
	if len(ids) == 0 {
		return
	}
	d.looking, d.looked = true, now
	m.background(ctx, scanFor, func(ctx context.Context) func() {
		found, gone := m.lookUp(ctx, ids, now)
		return func() {
			d.looking = false
			maps.Copy(d.by, found)
			for _, id := range gone {
				delete(d.by, id)
			}
		}
	})
}

// directoryNeededAt returns the minimum time of the directory that a list request needs;
// any directory will do if there is no request.
func (m *Watcher) directoryNeededAt() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.listed.IsZero() {
		return time.Unix(0, 1)
	}
	return m.listed
}

// fullyReported reports whether a replica has reported all its sessions.
func (m *Watcher) fullyReported(id wire.ReplicaID) bool {
	p := m.peers[id]
	return id == m.cfg.Replica || p != nil && p.complete() && !p.silent(time.Now())
}

// scan reads the whole directory.
func (m *Watcher) scan(ctx context.Context, now time.Time) (map[wire.SessionID]entry, error) {
	all := map[wire.SessionID]entry{}
	for after := ""; ; {
		page, err := m.hub.List(ctx, store.Query{After: after, Limit: 1000})
		if err != nil {
			return nil, err
		}
		for _, i := range page.Items {
			all[i.ID] = entryOf(i, now)
		}
		if after = page.Next; after == "" || len(all) >= maxSessions {
			return all, nil
		}
	}
}

// lookUp reads the directory entries of some sessions.
func (m *Watcher) lookUp(ctx context.Context, ids []wire.SessionID, now time.Time) (found map[wire.SessionID]entry, gone []wire.SessionID) {
	infos, failures := make([]session.Info, len(ids)), make([]error, len(ids))
	_ = together(len(ids), func(i int) error {
		infos[i], failures[i] = m.hub.Info(ctx, ids[i])
		return nil
	})
	found = map[wire.SessionID]entry{}
	for i, id := range ids {
		switch {
		case failures[i] == nil:
			found[id] = entryOf(infos[i], now)
		case errors.Is(failures[i], store.ErrNotFound):
			gone = append(gone, id)
		}
	}
	return found, gone
}
