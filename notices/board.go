package notices

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/store"
)

const (
	// Interval is the interval at which replicas list the notices, so that all have noticed
	// within a second.
	Interval = 400 * time.Millisecond
	// TTL is how long a notice is listed: long enough that a busy replica cannot miss it, short
	// enough that the list stays tiny.
	TTL = 2 * time.Minute
	// listTimeout bounds one reading of the list.
	listTimeout = 5 * time.Second
	pageSize    = 1000
)

// Documents is the part of the store that a [Board] uses.
type Documents interface {
	// Get returns a document with its version, or [store.ErrNotFound].
	Get(ctx context.Context, collection, name string) (store.Document, error)
	// Put writes a document if the stored version is d.Version (0: none), else the error is
	// [store.ErrConflict]. It returns the new version.
	Put(ctx context.Context, d store.Document) (version uint64, err error)
	// Documents returns a page of a collection in the order of names, beginning after a name.
	Documents(ctx context.Context, collection, after string, limit int) (store.Page[store.Document], error)
}

// Board publishes and watches the notices of one collection.
type Board struct {
	docs       Documents
	collection string
}

// NewBoard returns the board of a collection.
func NewBoard(docs Documents, collection string) *Board {
	return &Board{docs: docs, collection: collection}
}

// Publish stores a notice under a name. update returns its data from that of the notice that it
// replaces, which is nil if there is none or none that can be read; it may be called more than
// once.
func (b *Board) Publish(ctx context.Context, name string, update func(before []byte) []byte) error {
	for {
		d, err := b.docs.Get(ctx, b.collection, name)
		if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrCorrupt) {
			return fmt.Errorf("read notice: %w", err)
		}
		if err != nil {
			d.Data = nil
		}
		_, err = b.docs.Put(ctx, store.Document{
			Collection: b.collection, Name: name, Data: update(d.Data), Version: d.Version, TTL: TTL,
		})
		if err == nil {
			return nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return fmt.Errorf("publish notice: %w", err)
		}
		// Each conflict is a notice of the same name; the caller's context bounds the retries.
	}
}

// Watcher receives what [Board.Watch] finds, in one goroutine.
type Watcher struct {
	// Notice receives a notice. First says that it was listed when the watch began, so that it
	// may be older than the watch.
	Notice func(data []byte, first bool)
	// Failed and Resumed, unless nil, are called when the list cannot be read, and when it can
	// again.
	Failed  func(error)
	Resumed func()
}

// Watch calls w for each notice, whichever replica published it, until ctx ends.
func (b *Board) Watch(ctx context.Context, w Watcher) {
	ticker := time.NewTicker(Interval)
	defer ticker.Stop()
	l := listing{board: b, notice: w.Notice, first: true}
	away := false
	for {
		err := l.poll(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !away && w.Failed != nil:
			w.Failed(err)
		case err == nil && away && w.Resumed != nil:
			w.Resumed()
		}
		away = err != nil
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// listing is the state of one call of Watch.
type listing struct {
	board  *Board
	notice func(data []byte, first bool)
	seen   map[string]edition // by name
	first  bool               // the list was not yet read to its end
}

// edition distinguishes two notices of one name. A notice that replaces an expired one has its version
// again, but other data.
type edition struct {
	version uint64
	data    string
}

// poll reads the list and reports notices that are new.
func (l *listing) poll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	if l.seen == nil {
		l.seen = map[string]edition{}
	}
	listed := map[string]edition{}
	for after := ""; ; {
		page, err := l.board.docs.Documents(ctx, l.board.collection, after, pageSize)
		if err != nil {
			return err
		}
		for _, d := range page.Items {
			e := edition{d.Version, string(d.Data)}
			listed[d.Name] = e
			if l.seen[d.Name] != e {
				l.seen[d.Name] = e
				l.notice(d.Data, l.first)
			}
		}
		if after = page.Next; after == "" {
			break
		}
	}
	l.seen, l.first = listed, false // names that left the list are dropped
	return nil
}
