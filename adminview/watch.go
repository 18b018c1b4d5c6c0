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
	// glanceFor is how long it is looked after somebody has asked, in case that
	// they ask again.
	glanceFor = 5 * time.Second
	// waitFor is how long who asks waits for all replicas to tell.
	waitFor = 1500 * time.Millisecond
	// updateRows is how many rows an update has at the most.
	updateRows = 500
)

// wanted says whether somebody looks here, and at which sessions: first those that are
// watched, then those that were asked for, the newest first, for which somebody waits.
func (m *Watcher) wanted(now time.Time) (bool, []wire.SessionID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.glances, func(_ wire.SessionID, until time.Time) bool { return now.After(until) })
	var ids []wire.SessionID
	for in := range m.watching {
		if in.Session != "" {
			ids = append(ids, in.Session)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	watched := len(ids)
	for id := range m.glances {
		if _, is := slices.BinarySearch(ids[:watched], id); !is && id != "" {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids[watched:], func(a, b wire.SessionID) int {
		return cmp.Or(m.glances[b].Compare(m.glances[a]), cmp.Compare(a, b))
	})
	return len(m.watching)+len(m.glances) > 0, ids
}

// show makes a view the one that everybody sees; nil means that nobody looks.
func (m *Watcher) show(v *view) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v != nil {
		m.numbers++
		v.number = m.numbers
		if m.current != nil {
			v.changed, v.gone = diff(m.current.rows, v.rows)
			if len(v.changed)+len(v.gone) == 0 {
				v.rows = m.current.rows // the older list can go
			}
		}
	} else if m.current == nil {
		return
	}
	m.current = v
	close(m.changed)
	m.changed = make(chan struct{})
}

// latest is the view there is, and what is closed when there is another.
func (m *Watcher) latest() (*view, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.current, m.changed
}

// glance looks for a moment, and returns the first view that is good enough, or
// what there is after a while.
func (m *Watcher) glance(ctx context.Context, id wire.SessionID, enough func(*view) bool) (*view, error) {
	m.mu.Lock()
	until := time.Now().Add(glanceFor)
	_, known := m.glances[id]
	m.glances[id] = until
	m.mu.Unlock()
	if !known {
		m.hurry()
	}
	patience := time.NewTimer(waitFor)
	defer patience.Stop()
	for {
		v, changed := m.latest()
		if v != nil && enough(v) {
			return v, nil
		}
		select {
		case <-changed:
		case <-patience.C:
			if v, _ = m.latest(); v == nil {
				v = &view{overview: overviewOf(nil, nil, time.Now())}
			}
			return v, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func isComplete(v *view) bool { return v.complete }

// Overview is the whole fleet as it is now.
func (m *Watcher) Overview(ctx context.Context) (Overview, error) {
	v, err := m.glance(ctx, "", isComplete)
	if err != nil {
		return Overview{}, err
	}
	return v.overview, nil
}

// Sessions is a page of the table of all sessions. The error wraps [ErrQuery] when
// the query is wrong.
func (m *Watcher) Sessions(ctx context.Context, q Query) (Page, error) {
	if err := q.check(); err != nil {
		return Page{}, err
	}
	asOf := time.Now().Add(-scanAgain)
	m.mu.Lock()
	m.listed = asOf
	stale := m.current == nil || m.current.scanned.Before(asOf)
	m.mu.Unlock()
	if stale {
		m.hurry()
	}
	v, err := m.glance(ctx, "", func(v *view) bool { return v.complete && !v.scanned.Before(asOf) })
	if err != nil {
		return Page{}, err
	}
	return q.page(v.rows)
}

// Detail is all that is known of a session. It waits for its owner, but not for
// long. The error is [*session.Error] when there is no such session.
func (m *Watcher) Detail(ctx context.Context, id wire.SessionID) (Detail, error) {
	info, err := m.hub.Info(ctx, id)
	if err != nil {
		return Detail{}, err
	}
	e := entryOf(info, time.Now())
	silent := !e.held || info.Quarantined != "" // nobody will tell
	v, err := m.glance(ctx, id, func(v *view) bool {
		d, ok := v.details[id]
		return ok && v.complete && (d.Known || silent) && (v.studied[id] || info.Quarantined != "") // whose log cannot be read
	})
	if err != nil {
		return Detail{}, err
	}
	now := unreported(&e, map[wire.ReplicaID]bool{info.Owner: true})
	d, ok := v.details[id]
	if !ok {
		return assemble(now, nil, nil, nil), nil
	}
	// The view may be of before the session was taken, left or set aside.
	if info.Quarantined != d.Row.Reason || info.Epoch > d.Row.Epoch || !e.held && d.Row.Status != Stuck {
		d.Row.Status, d.Row.Reason = now.Status, now.Reason
		d.Row.Owner, d.Row.Epoch, d.Row.Top = now.Owner, now.Epoch, now.Top
	}
	return d, nil
}

// Watch shows what an interest is about: all of it, then what changes, until ctx
// ends, which is its last error. Who is slow misses what was in between.
func (m *Watcher) Watch(ctx context.Context, in Interest) iter.Seq2[Update, error] {
	return func(yield func(Update, error) bool) {
		if in.Session != "" {
			if _, err := m.hub.Info(ctx, in.Session); err != nil {
				yield(Update{}, err)
				return
			}
		}
		look := &in
		m.mu.Lock()
		m.watching[look] = true
		m.mu.Unlock()
		m.hurry()
		defer func() {
			m.mu.Lock()
			delete(m.watching, look)
			m.mu.Unlock()
			m.hurry()
		}()
		w := watch{m: m, in: in, yield: yield}
		w.run(ctx)
	}
}

// watch is one who looks.
type watch struct {
	m     *Watcher
	in    Interest
	yield func(Update, error) bool
	seen  *view  // the newest that was shown
	told  Detail // likewise
}

func (w *watch) run(ctx context.Context) {
	patience := time.NewTimer(waitFor)
	defer patience.Stop()
	hasty := false
	for {
		v, changed := w.m.latest()
		ready := v != nil && (w.seen == nil && (v.complete || hasty) || w.seen != nil && v.number > w.seen.number)
		if ready {
			if !w.show(v) {
				return
			}
			continue
		}
		select {
		case <-changed:
		case <-patience.C:
			hasty = true
		case <-ctx.Done():
			w.yield(Update{}, ctx.Err())
			return
		}
	}
}

// show shows a view, or what it has that the one before had not.
func (w *watch) show(v *view) bool {
	u := Update{Overview: &v.overview}
	if d, ok := v.details[w.in.Session]; ok && !reflect.DeepEqual(d, w.told) {
		u.Detail, w.told = &d, d
	}
	if w.seen == nil {
		u.History = new(mergeHistories(v.histories, v.overview.Time))
	}
	var pages []Rows
	if w.in.Rows {
		pages = w.rows(v)
	}
	w.seen = v
	for i := range pages {
		u.Rows = &pages[i]
		if !w.yield(u, nil) {
			return false
		}
		u = Update{}
	}
	return len(pages) > 0 || w.yield(u, nil)
}

// rows are the changes of the table, in pieces.
func (w *watch) rows(v *view) []Rows {
	var changed []Row
	var gone []wire.SessionID
	switch {
	case w.seen == nil:
		changed = v.rows
	case w.seen.number+1 == v.number:
		changed, gone = v.changed, v.gone
	default:
		changed, gone = diff(w.seen.rows, v.rows)
	}
	if len(changed)+len(gone) == 0 && w.seen != nil {
		return nil
	}
	var pages []Rows
	for len(changed) > updateRows {
		pages = append(pages, Rows{More: true, Rows: changed[:updateRows]})
		changed = changed[updateRows:]
	}
	pages = append(pages, Rows{Rows: changed, Gone: gone})
	pages[0].Full = w.seen == nil
	return pages
}
