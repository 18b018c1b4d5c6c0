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
	// scanRetry is the retry interval after a failed scan, and the maximum age of the
	// directory for a list request.
	scanRetry = time.Second
	// scanTimeout is the timeout of a scan.
	scanTimeout = 30 * time.Second
	// maxSessions bounds the sessions of the directory: those that changed last. Older
	// dormant ones are counted, and read from the store for the queries that need them.
	maxSessions = 2_000
	// scanPage is the page size of a scan.
	scanPage = 500
	// scanMargin is the time before the previous scan from which on changes are read again.
	scanMargin = 5 * time.Second
	// lookups bounds the sessions looked up in one round. lookupRetry is the minimum time
	// before a session is looked up again because reports contradict its entry.
	lookups     = 64
	lookupRetry = 2 * time.Second
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

// directory holds the sessions that changed last and the quarantined ones. The goroutine of
// Run owns it. When the last admin leaves it is replaced, and reads still in progress write to
// the old one.
type directory struct {
	by         map[wire.SessionID]entry
	total      int       // sessions in the store
	scanned    time.Time // start of the last completed scan; zero before the first
	begun      time.Time // start of the last scan
	scanning   bool
	lookingUp  bool      // a lookup is in progress
	lookedUpAt time.Time // start of the last lookup
}

// refreshDirectory starts the reads that are due. reported holds the rows that owners
// report now, before those of the previous round.
func (w *Watcher) refreshDirectory(ctx context.Context, reported, before map[wire.SessionID]*Row, now time.Time) {
	d := w.directory // the one at the start of this read, not a later one
	if age := now.Sub(d.begun); !d.scanning && (age >= scanEvery || d.scanned.Before(w.directoryNeededAt()) && age >= scanRetry) {
		d.scanning, d.begun = true, now
		before := scanResult{by: maps.Clone(d.by), total: d.total, at: d.scanned}
		w.background(ctx, scanTimeout, func(ctx context.Context) func() {
			found, err := w.scan(ctx, before, now)
			return func() {
				d.scanning = false
				w.warn(ctx, "list sessions", err)
				if err == nil {
					d.by, d.total, d.scanned = found.by, found.total, now
				}
			}
		})
	}
	if d.lookingUp || d.scanned.IsZero() || now.Sub(d.lookedUpAt) < w.cfg.Every {
		return
	}
	var ids []wire.SessionID
	want := func(id wire.SessionID) {
		if e, ok := d.by[id]; len(ids) < lookups && (!ok || now.Sub(e.looked) >= lookupRetry) {
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
		if _, is := reported[id]; !is && e.held && w.fullyReported(e.row.Owner) {
			want(id)
		}
	}
	if len(ids) == 0 {
		return
	}
	d.lookingUp, d.lookedUpAt = true, now
	w.background(ctx, scanTimeout, func(ctx context.Context) func() {
		found, gone := w.lookUp(ctx, ids, now)
		return func() {
			d.lookingUp = false
			maps.Copy(d.by, found)
			for _, id := range gone {
				delete(d.by, id)
			}
		}
	})
}

// directoryNeededAt returns the minimum time of the directory that a list request needs;
// any directory will do if there is no request.
func (w *Watcher) directoryNeededAt() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listed.IsZero() {
		return time.Unix(0, 1)
	}
	return w.listed
}

// fullyReported reports whether a replica has reported all its sessions.
func (w *Watcher) fullyReported(id wire.ReplicaID) bool {
	p := w.peers[id]
	return id == w.cfg.Replica || p != nil && p.complete() && !p.silent(time.Now())
}

// scanResult is the directory as of one scan.
type scanResult struct {
	by    map[wire.SessionID]entry
	total int
	at    time.Time // zero before the first scan
}

// scan reads the sessions that changed since the scan before, and all newest ones if sessions
// were deleted since or there is no scan before; also the quarantined sessions.
func (w *Watcher) scan(ctx context.Context, before scanResult, now time.Time) (scanResult, error) {
	found, err := w.scanRecent(ctx, before, now)
	if err == nil && !before.at.IsZero() && (found.total != before.total+added(before.by, found.by) || len(found.by) > 2*maxSessions) {
		found, err = w.scanRecent(ctx, scanResult{}, now)
	}
	if err != nil {
		return scanResult{}, err
	}
	page, err := w.hub.List(ctx, store.Query{Quarantined: true, Limit: 1000})
	if err != nil {
		return scanResult{}, err
	}
	for id, e := range found.by {
		if e.row.Reason != "" {
			e.row.Reason = "" // unless it still is quarantined
			found.by[id] = e
		}
	}
	for _, i := range page.Items {
		found.by[i.ID] = entryOf(i, now)
	}
	return found, nil
}

// added returns the number of sessions that are in after and not in before.
func added(before, after map[wire.SessionID]entry) (n int) {
	for id := range after {
		if _, known := before[id]; !known {
			n++
		}
	}
	return n
}

// scanRecent reads sessions by last change, down to those that the scan before has seen
// unchanged.
func (w *Watcher) scanRecent(ctx context.Context, before scanResult, now time.Time) (scanResult, error) {
	found := scanResult{by: maps.Clone(before.by), at: now}
	if found.by == nil {
		found.by = map[wire.SessionID]entry{}
	}
	read := 0
	for q := (store.Query{Recent: true, Limit: scanPage}); ; {
		page, err := w.hub.List(ctx, q)
		if err != nil {
			return found, err
		}
		seen := false
		for _, i := range page.Items {
			found.by[i.ID] = entryOf(i, now)
			seen = !before.at.IsZero() && i.Updated.Before(before.at.Add(-scanMargin))
		}
		found.total, read = page.Total, read+len(page.Items)
		if q.After = page.Next; q.After == "" || seen || read >= maxSessions {
			return found, nil
		}
	}
}

// lookUp reads the directory entries of some sessions.
func (w *Watcher) lookUp(ctx context.Context, ids []wire.SessionID, now time.Time) (found map[wire.SessionID]entry, gone []wire.SessionID) {
	infos, failures := make([]session.Info, len(ids)), make([]error, len(ids))
	_ = forEachConcurrently(len(ids), func(i int) error {
		infos[i], failures[i] = w.hub.Info(ctx, ids[i])
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
