package filestore

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore/kvlog"
	"github.com/everdesk/everdesk/wire"
)

// Read returns the events after a cursor in order, fewer than limit only at the end of the
// log. A cursor without an event is [store.ErrTrimmed], [store.ErrUnknownPosition] or
// [store.ErrAhead].
func (s *Store) Read(ctx context.Context, id wire.SessionID, after wire.Position, limit int) ([]store.Event, error) {
	e, err := s.findSession(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.read(e, after, store.PageLimit(limit), math.MaxInt)
}

// readValues reads the values of the entries that pick passes to keep and calls open with
// each key and value. The index may reflect a deletion before the session does, so a
// session without a meta is treated as deleted, unless it is quarantined.
func (s *Store) readValues(
	e *session, pick func(x *kvlog.Index, keep func(kvlog.Entry)) error, open func(key string, sealed []byte) error,
) error {
	var described bool
	var refused error
	sel, err := s.log.Select(e.bucket, func(x *kvlog.Index, keep func(kvlog.Entry)) {
		_, described = x.Get(metaKey)
		refused = pick(x, keep)
	})
	if err != nil {
		return s.handleCorrupt(e, err)
	}
	defer sel.Close()
	if e.isDeleted(described) {
		return fmt.Errorf("session %s: %w", e.id, store.ErrNotFound)
	}
	if refused != nil {
		return refused
	}
	values, err := sel.Values(0, len(sel.Entries()))
	if err != nil {
		return s.handleCorrupt(e, err)
	}
	for i, entry := range sel.Entries() {
		if err := open(entry.Key, values[i]); err != nil {
			return s.handleCorrupt(e, withLocation(sel, i, err))
		}
	}
	return nil
}

// isDeleted reports whether a session is deleted. described states whether the log has its
// meta.
func (e *session) isDeleted(described bool) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.absent || !described && e.quarantined == ""
}

// read returns at most limit events, of about size bytes.
func (s *Store) read(e *session, from wire.Position, limit, size int) ([]store.Event, error) {
	if err := e.checkRepaired(); err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	var events []store.Event
	err := s.readValues(e, func(x *kvlog.Index, keep func(kvlog.Entry)) error {
		lo, skip, err := seek(x, from)
		if err != nil {
			return fmt.Errorf("after %v: %w", from, err)
		}
		want := limit + skip
		for entry := range x.Ascend(lo, prefixEnd(entryPrefix)) {
			part := parseSpan(entry.Key)
			want -= int(part.count)
			if part.newest().Compare(from) <= 0 {
				continue // the cursor is at its end, so its size does not count
			}
			keep(entry)
			if size -= entry.Size(); want <= 0 || size <= 0 {
				break
			}
		}
		return nil
	}, func(key string, sealed []byte) (err error) {
		events, err = s.openEntry(events, parseSpan(key), from, limit, sealed)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	return events, nil
}

// checkRepaired returns [*store.CorruptError] if the log may have a gap that is not
// repaired yet.
func (e *session) checkRepaired() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.needsRepair {
		return &store.CorruptError{Where: "log of session " + string(e.id), Reason: e.quarantined}
	}
	return nil
}

// seek returns the key of the first entry with events after a cursor and the number of its
// events to skip, or the error for an invalid cursor.
func seek(x *kvlog.Index, from wire.Position) (key string, skip int, err error) {
	if from.IsZero() {
		if _, trimmed := x.Get(trimmedKey); trimmed {
			return "", 0, store.ErrTrimmed
		}
		return entryPrefix, 0, nil
	}
	for e := range x.Descend(entryPrefix, entriesUpTo(from)) {
		if entry := parseSpan(e.Key); entry.contains(from) {
			return e.Key, int(from.Seq-entry.first) + 1, nil //nolint:gosec // within an entry
		}
		break
	}
	for e := range x.Descend(entryPrefix, prefixEnd(entryPrefix)) {
		if from.Compare(parseSpan(e.Key).newest()) > 0 {
			return "", 0, store.ErrAhead
		}
		for oldest := range x.Ascend(entryPrefix, prefixEnd(entryPrefix)) {
			if from.Compare(parseSpan(oldest.Key).oldest()) < 0 {
				return "", 0, store.ErrTrimmed
			}
			return "", 0, store.ErrUnknownPosition
		}
	}
	return "", 0, store.ErrAhead // the log is empty
}

// openEntry appends the events of an entry that lie after a cursor, up to limit in all.
func (s *Store) openEntry(events []store.Event, entry span, from wire.Position, limit int, sealed []byte) ([]store.Event, error) {
	value, err := s.cfg.Schema.Open(store.KindEntry, entry.oldest().String(), sealed)
	if err != nil {
		return nil, err
	}
	at, n := entry.oldest(), uint32(0)
	for frame := range bytes.SplitSeq(value, []byte{'\n'}) {
		if at.Compare(from) > 0 && len(events) < limit {
			events = append(events, store.Event{At: at, Frame: frame})
		}
		at.Seq++
		n++
	}
	if n != entry.count {
		return nil, &store.CorruptError{
			Where:  fmt.Sprintf("%s %v", store.KindEntry, entry.oldest()),
			Reason: fmt.Sprintf("%d frames instead of %d", n, entry.count),
		}
	}
	return events, nil
}

// The bounds of one item that Tail yields.
const (
	maxTailEvents = 1000
	maxTailBytes  = 1 << 20
)

// Tail yields the events after a cursor in order, each once, and then new ones, until the
// first error. It yields [store.News.Vacant] once per release.
func (s *Store) Tail(ctx context.Context, id wire.SessionID, after wire.Position) iter.Seq2[store.News, error] {
	return func(yield func(store.News, error) bool) {
		from := after
		fail := func(err error) { yield(store.News{}, err) }
		e, err := s.findSession(ctx, id)
		if err != nil {
			fail(err)
			return
		}
		vacant := uint64(0) // last epoch whose end was yielded
		for {
			changed := e.waitFor(&e.changed) // before reading, so that no change is missed
			if err := s.checkOpen(ctx); err != nil {
				fail(err)
				return
			}
			free, epoch := e.isVacant(from)
			events, err := s.read(e, from, maxTailEvents, maxTailBytes)
			if err != nil {
				fail(err)
				return
			}
			switch {
			case len(events) > 0:
				from = events[len(events)-1].At
				if !yield(store.News{Events: events}, nil) {
					return
				}
				continue
			case free && epoch != vacant:
				vacant = epoch
				if !yield(store.News{Vacant: true}, nil) {
					return
				}
				continue
			}
			select {
			case <-changed:
			case <-s.runCtx.Done():
			case <-ctx.Done():
			}
		}
	}
}

// isVacant reports whether the session is released and its log ends at the position at, and
// the epoch that ended. A reader beyond that position has already seen the event of the
// next claim, whose meta is not applied yet.
func (e *session) isVacant(at wire.Position) (bool, uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.meta.owner == "" && e.meta.epoch > 0 && e.meta.top == at, e.meta.epoch
}

// Load returns the tables and lists as of one position, without the log and the cold lists.
func (s *Store) Load(ctx context.Context, id wire.SessionID) (store.State, error) {
	e, err := s.findSession(ctx, id)
	if err != nil {
		return store.State{}, err
	}
	state := store.State{Tables: map[string]map[string][]byte{}, Lists: map[string][][]byte{}}
	if err := s.readValues(e, func(x *kvlog.Index, keep func(kvlog.Entry)) error {
		if m, ok := x.Get(metaKey); ok {
			keep(m)
		}
		for entry := range x.Ascend(loadFrom, loadTo) {
			keep(entry)
		}
		return nil
	}, func(key string, sealed []byte) error { return s.loadValue(&state, key, sealed) }); err != nil {
		return store.State{}, fmt.Errorf("load session: %w", err)
	}
	return state, nil
}

// loadValue unseals one stored value into state.
func (s *Store) loadValue(state *store.State, key string, sealed []byte) error {
	switch {
	case key == metaKey:
		m, err := decodeMeta(sealed)
		state.At = m.top
		if err != nil {
			return &store.CorruptError{Where: "meta", Reason: err.Error()}
		}
	case key[:1] == tablePrefix:
		table, field := splitTableKey(key)
		value, err := s.cfg.Schema.Open(store.KindField, table+"/"+field, sealed)
		if err != nil {
			return err
		}
		if state.Tables[table] == nil {
			state.Tables[table] = map[string][]byte{}
		}
		state.Tables[table][field] = value
	default:
		list := splitListKey(key)
		value, err := s.cfg.Schema.Open(store.KindItem, list, sealed)
		if err != nil {
			return err
		}
		state.Lists[list] = append(state.Lists[list], value)
	}
	return nil
}

// ReadList returns a page of a list, fewer items than limit only at its end. A negative
// from counts from the end.
func (s *Store) ReadList(ctx context.Context, id wire.SessionID, list string, from, limit int) (store.ListPage, error) {
	e, err := s.findSession(ctx, id)
	if err != nil {
		return store.ListPage{}, err
	}
	if err := store.CheckName("list", list); err != nil {
		return store.ListPage{}, err
	}
	var page store.ListPage
	prefix := listRange(list)
	if err := s.readValues(e, func(x *kvlog.Index, keep func(kvlog.Entry)) error {
		b := listBounds(x, list)
		page.Total = int(b.len()) //nolint:gosec // not that many
		page.From = store.ListStart(from, page.Total)
		lo := b.first + uint64(page.From)                    //nolint:gosec // not negative
		hi := min(lo+uint64(store.PageLimit(limit)), b.next) //nolint:gosec // not negative
		for entry := range x.Ascend(numbered(prefix, lo, ""), numbered(prefix, hi, "")) {
			keep(entry)
		}
		return nil
	}, func(_ string, sealed []byte) error {
		value, err := s.cfg.Schema.Open(store.KindItem, list, sealed)
		page.Items = append(page.Items, value)
		return err
	}); err != nil {
		return store.ListPage{}, fmt.Errorf("read list: %w", err)
	}
	return page, nil
}
