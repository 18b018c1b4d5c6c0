package filestore

import (
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
func (s *Sessions) Read(ctx context.Context, id wire.SessionID, after wire.Position, limit int) ([]store.Event, error) {
	e, err := s.find(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.reader.readLog(e, after, store.PageLimit(limit), math.MaxInt)
}

// The bounds of one item that Tail yields.
const (
	maxTailEvents = 1000
	maxTailBytes  = 1 << 20
)

// Tail yields the events after a cursor in order, each once, and then new ones, until the
// first error. It yields [store.News.Vacant] once per release.
func (s *Sessions) Tail(ctx context.Context, id wire.SessionID, after wire.Position) iter.Seq2[store.News, error] {
	return func(yield func(store.News, error) bool) {
		from := after
		fail := func(err error) { yield(store.News{}, err) }
		e, err := s.find(ctx, id)
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
			events, err := s.reader.readLog(e, from, maxTailEvents, maxTailBytes)
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

// Load returns the tables and lists as of one position, without the log and the cold lists.
func (s *Sessions) Load(ctx context.Context, id wire.SessionID) (store.State, error) {
	e, err := s.find(ctx, id)
	if err != nil {
		return store.State{}, err
	}
	state := store.State{Tables: map[string]map[string][]byte{}, Lists: map[string][][]byte{}}
	if err := s.reader.readValues(e, func(x *kvlog.Index, keep func(kvlog.Entry)) error {
		if m, ok := x.Get(metaKey); ok {
			keep(m)
		}
		for entry := range x.Ascend(loadFrom, loadTo) {
			keep(entry)
		}
		return nil
	}, func(key string, sealed []byte) error { return s.reader.loadValue(&state, key, sealed) }); err != nil {
		return store.State{}, fmt.Errorf("load session: %w", err)
	}
	return state, nil
}

// ReadList returns a page of a list, fewer items than limit only at its end. A negative
// from counts from the end.
func (s *Sessions) ReadList(ctx context.Context, id wire.SessionID, list string, from, limit int) (store.ListPage, error) {
	e, err := s.find(ctx, id)
	if err != nil {
		return store.ListPage{}, err
	}
	if err := store.CheckName("list", list); err != nil {
		return store.ListPage{}, err
	}
	var page store.ListPage
	prefix := listRange(list)
	if err := s.reader.readValues(e, func(x *kvlog.Index, keep func(kvlog.Entry)) error {
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
