package files

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/everdesk/everdesk/wire"
)

const (
	// watchTimeout bounds reading the files of a session for a [Watch].
	watchTimeout = 5 * time.Second
	// maxPublished bounds the changes that one call of [Watch.Publish] publishes, and publishedAtOnce those in one call
	// of [Config.Changed].
	maxPublished    = 2000
	publishedAtOnce = 200
)

// Watch finds what programs change in the files of a session: they write into its folder past the [Store]. Its methods may
// be called concurrently.
type Watch struct {
	store   *Store
	session wire.SessionID

	mu    sync.Mutex
	known map[string]Entry // nil if no program can write to the backend
}

// Watch records the files of a session. Call [Watch.Publish] when a program has ended, or pauses. Without a folder no
// program can change the files, and the watch does nothing.
func (s *Store) Watch(ctx context.Context, session wire.SessionID) (*Watch, error) {
	w := &Watch{store: s, session: session}
	if _, ok := s.backend.(*Folder); !ok {
		return w, nil
	}
	all, err := w.read(ctx)
	w.known = all
	return w, err
}

// read returns what the session has now.
func (w *Watch) read(ctx context.Context) (map[string]Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	all, err := w.store.backend.List(ctx, Key{w.session, AreaFiles, ""})
	if err != nil {
		return nil, fmt.Errorf("look for changed files: %w", err)
	}
	known := make(map[string]Entry, len(all))
	for _, e := range all {
		known[e.Path] = e
	}
	return known, nil
}

// Publish calls [Config.Changed] with what is different since the watch began or since the last call. What was written
// through the store is published again. If a program has exceeded the limits of the session the error is [ErrFull], and the
// changes are published all the same: nothing can be uploaded until files are deleted.
func (w *Watch) Publish(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known == nil {
		return nil
	}
	now, err := w.read(ctx)
	if err != nil {
		return err
	}
	changes := changesBetween(w.known, now)
	w.known = now
	for part := range slices.Chunk(changes[:min(len(changes), maxPublished)], publishedAtOnce) {
		w.store.changed(ctx, w.session, part...)
	}
	return w.store.checkUsage(now)
}

// changesBetween returns the changes from one state to the next, ordered by path.
func changesBetween(before, now map[string]Entry) []Change {
	var changes []Change
	for path, e := range before {
		if _, ok := now[path]; !ok {
			changes = append(changes, Change{Entry: Entry{Path: path, Folder: e.Folder}, Removed: true})
		}
	}
	for path, e := range now {
		if was, ok := before[path]; !ok || was.Folder != e.Folder || was.ETag != e.ETag {
			changes = append(changes, Change{Entry: e})
		}
	}
	slices.SortFunc(changes, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	return changes
}

// checkUsage returns [ErrFull] if a session has more than its limits allow.
func (s *Store) checkUsage(all map[string]Entry) error {
	var bytes int64
	count := 0
	for _, e := range all {
		if !e.Folder {
			bytes, count = bytes+e.Size, count+1
		}
	}
	if bytes > s.cfg.SessionBytes || count > s.cfg.SessionFiles {
		return fmt.Errorf("%w, it has %d files with %d bytes", s.errFull(), count, bytes)
	}
	return nil
}
