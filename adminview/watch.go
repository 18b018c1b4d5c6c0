package adminview

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/everdesk/everdesk/wire"
)

const (
	// queryInterestTime is how long the interest lasts after a query, in case it is repeated.
	queryInterestTime = 5 * time.Second
	// queryTimeout is the maximum time a query waits for all replicas to report.
	queryTimeout = 1500 * time.Millisecond
	// updateRows bounds the rows of an update.
	updateRows = 500
)

// wanted reports whether an admin looks through this replica, and at which sessions: first
// those being watched, then the queried ones, the most recent query first.
func (w *Watcher) wanted(now time.Time) (bool, []wire.SessionID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.queries, func(_ wire.SessionID, until time.Time) bool { return now.After(until) })
	var ids []wire.SessionID
	for in := range w.watching {
		if in.Session != "" {
			ids = append(ids, in.Session)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	watched := len(ids)
	for id := range w.queries {
		if _, is := slices.BinarySearch(ids[:watched], id); !is && id != "" {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids[watched:], func(a, b wire.SessionID) int {
		return cmp.Or(w.queries[b].Compare(w.queries[a]), cmp.Compare(a, b))
	})
	return len(w.watching)+len(w.queries) > 0, ids
}

// publishView makes v the current view; nil means that no admin looks.
func (w *Watcher) publishView(v *view) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if v != nil {
		w.numbers++
		v.number = w.numbers
		if w.current != nil {
			v.changed, v.gone = diff(w.current.rows, v.rows)
			if len(v.changed)+len(v.gone) == 0 {
				v.rows = w.current.rows // so that the older list can be freed
			}
		}
	} else if w.current == nil {
		return
	}
	w.current = v
	close(w.changed)
	w.changed = make(chan struct{})
}

// latest returns the current view, and a channel that is closed when it is replaced.
func (w *Watcher) latest() (*view, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.current, w.changed
}

// queryView registers a short interest in a session ("" for all), and returns the first
// view for which enough holds, or the current one after queryTimeout.
func (w *Watcher) queryView(ctx context.Context, id wire.SessionID, enough func(*view) bool) (*view, error) {
	w.mu.Lock()
	until := time.Now().Add(queryInterestTime)
	_, known := w.queries[id]
	w.queries[id] = until
	w.mu.Unlock()
	if !known {
		w.requestRound()
	}
	timeout := time.NewTimer(queryTimeout)
	defer timeout.Stop()
	for {
		v, changed := w.latest()
		if v != nil && enough(v) {
			return v, nil
		}
		select {
		case <-changed:
		case <-timeout.C:
			if v, _ = w.latest(); v == nil {
				v = &view{overview: overviewOf(nil, 0, nil, time.Now())}
			}
			return v, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func isComplete(v *view) bool { return v.complete }

// Overview returns the state of all replicas.
func (w *Watcher) Overview(ctx context.Context) (Overview, error) {
	v, err := w.queryView(ctx, "", isComplete)
	if err != nil {
		return Overview{}, err
	}
	return v.overview, nil
}

// Sessions returns a page of the table of all sessions. The error wraps [ErrQuery] if the
// query is invalid.
func (w *Watcher) Sessions(ctx context.Context, q Query) (Page, error) {
	if err := q.check(); err != nil {
		return Page{}, err
	}
	asOf := time.Now().Add(-scanRetry)
	w.mu.Lock()
	w.listed = asOf
	stale := w.current == nil || w.current.scanned.Before(asOf)
	w.mu.Unlock()
	if stale {
		w.requestRound()
	}
	v, err := w.queryView(ctx, "", func(v *view) bool { return v.complete && !v.scanned.Before(asOf) })
	if err != nil {
		return Page{}, err
	}
	return w.pageOf(ctx, &q, v)
}

// Detail returns everything known about a session. It waits up to [queryTimeout] for the owner's
// report. The error is a [*session.Error] if there is no such session.
func (w *Watcher) Detail(ctx context.Context, id wire.SessionID) (Detail, error) {
	info, err := w.hub.Info(ctx, id)
	if err != nil {
		return Detail{}, err
	}
	e := entryOf(info, time.Now())
	silent := !e.held || info.Quarantined != "" // no owner will report
	v, err := w.queryView(ctx, id, func(v *view) bool {
		d, ok := v.details[id]
		return ok && v.complete && (d.Known || silent) && (v.logRead[id] || info.Quarantined != "") // the log of a quarantined session cannot be read
	})
	if err != nil {
		return Detail{}, err
	}
	now := unreported(&e, map[wire.ReplicaID]bool{info.Owner: true})
	d, ok := v.details[id]
	if !ok {
		return assemble(now, nil, nil, nil), nil
	}
	// The view may be older than a takeover, a release or a quarantine.
	if info.Quarantined != d.Row.Reason || info.Epoch > d.Row.Epoch || !e.held && d.Row.Status != Stuck {
		d.Row.Status, d.Row.Reason = now.Status, now.Reason
		d.Row.Owner, d.Row.Epoch, d.Row.Top = now.Owner, now.Epoch, now.Top
	}
	return d, nil
}

// Watch yields everything that an interest covers, then changes, until ctx ends; ctx.Err()
// is the last error. A slow consumer misses intermediate states.
func (w *Watcher) Watch(ctx context.Context, in Interest) iter.Seq2[Update, error] {
	return func(yield func(Update, error) bool) {
		if in.Session != "" {
			if _, err := w.hub.Info(ctx, in.Session); err != nil {
				yield(Update{}, err)
				return
			}
		}
		look := &in
		w.mu.Lock()
		w.watching[look] = true
		w.mu.Unlock()
		w.requestRound()
		defer func() {
			w.mu.Lock()
			delete(w.watching, look)
			w.mu.Unlock()
			w.requestRound()
		}()
		one := watch{watcher: w, in: in, yield: yield}
		one.run(ctx)
	}
}

// watch is one consumer of [Watcher.Watch].
type watch struct {
	watcher    *Watcher
	in         Interest
	yield      func(Update, error) bool
	sent       *view  // the newest view sent
	sentDetail Detail // the newest detail sent
}

func (w *watch) run(ctx context.Context) {
	timeout := time.NewTimer(queryTimeout)
	defer timeout.Stop()
	timedOut := false
	for {
		v, changed := w.watcher.latest()
		ready := v != nil && (w.sent == nil && (v.complete || timedOut) || w.sent != nil && v.number > w.sent.number)
		if ready {
			if !w.sendView(v) {
				return
			}
			continue
		}
		select {
		case <-changed:
		case <-timeout.C:
			timedOut = true
		case <-ctx.Done():
			w.yield(Update{}, ctx.Err())
			return
		}
	}
}

// sendView yields a view, or its difference to the previous one.
func (w *watch) sendView(v *view) bool {
	u := Update{Overview: &v.overview}
	if d, ok := v.details[w.in.Session]; ok && !reflect.DeepEqual(d, w.sentDetail) {
		u.Detail, w.sentDetail = &d, d
	}
	if w.sent == nil {
		u.History = new(mergeHistories(v.histories, v.overview.Time))
	}
	var pages []Rows
	if w.in.Rows {
		pages = w.rows(v)
	}
	w.sent = v
	for i := range pages {
		u.Rows = &pages[i]
		if !w.yield(u, nil) {
			return false
		}
		u = Update{}
	}
	return len(pages) > 0 || w.yield(u, nil)
}

// rows returns the changes of the table in pages.
func (w *watch) rows(v *view) []Rows {
	var changed []Row
	var gone []wire.SessionID
	switch {
	case w.sent == nil:
		changed = v.rows
	case w.sent.number+1 == v.number:
		changed, gone = v.changed, v.gone
	default:
		changed, gone = diff(w.sent.rows, v.rows)
	}
	if len(changed)+len(gone) == 0 && w.sent != nil {
		return nil
	}
	var pages []Rows
	for len(changed) > updateRows {
		pages = append(pages, Rows{More: true, Rows: changed[:updateRows]})
		changed = changed[updateRows:]
	}
	pages = append(pages, Rows{Rows: changed, Gone: gone})
	pages[0].Full = w.sent == nil
	return pages
}
