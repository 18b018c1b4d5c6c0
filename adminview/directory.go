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
	// scanEvery is how often the directory of all sessions is read for those who
	// watch.
	scanEvery = 10 * time.Second
	// scanAgain is how soon it is tried again as long as that has failed, and how old
	// it may be for who asks for a list.
	scanAgain = time.Second
	// scanFor is how long that may take.
	scanFor = 30 * time.Second
	// maxSessions is how many are shown. Those beyond it are only counted by
	// whoever owns them.
	maxSessions = 100_000
	// lookups is how many sessions are looked up at once, and lookAgain how
	// long one is believed of which the reports say otherwise.
	lookups   = 64
	lookAgain = 2 * time.Second
)

// entry is what the directory says of a session.
type entry struct {
	row     Row
	working bool
	// held says that somebody's lease was good when it was looked up.
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

// directory is what is known of all sessions. It belongs to the goroutine of Run. What
// is still being read when nobody looks any more comes to one that is forgotten.
type directory struct {
	by       map[wire.SessionID]entry
	scanned  time.Time // when the scan began that ended last; zero before the first
	begun    time.Time // when the last one began
	scanning bool
	looking  bool      // some are being looked up
	looked   time.Time // when that began
}

// refresh begins to read what is due. The reported are those that a replica says it
// owns, and before those it said so of the last time.
func (m *Watcher) refreshDirectory(ctx context.Context, reported, before map[wire.SessionID]*Row, now time.Time) {
	d := m.directory // not another that follows it
	if age := now.Sub(d.begun); !d.scanning && (age >= scanEvery || d.scanned.Before(m.needed()) && age >= scanAgain) {
		d.scanning, d.begun = true, now
		m.background(ctx, scanFor, func(ctx context.Context) func() {
			all, err := m.scan(ctx, now)
			return func() {
				d.scanning = false
				m.complain(ctx, "the sessions cannot be listed", err)
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
		if _, is := reported[id]; !is && e.held && m.settled(e.row.Owner) {
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

// needed is as of when somebody wants the directory. Anything will do for most.
func (m *Watcher) needed() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.listed.IsZero() {
		return time.Unix(0, 1)
	}
	return m.listed
}

// settled reports whether a replica has told of all that it owns.
func (m *Watcher) settled(id wire.ReplicaID) bool {
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

// lookUp reads what the directory says of some sessions.
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
