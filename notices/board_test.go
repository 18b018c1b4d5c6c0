package notices_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/notices"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
)

func openDocuments(t *testing.T) *filestore.Documents {
	t.Helper()
	s, err := filestore.Open(t.TempDir(), filestore.Config{Sync: filestore.SyncOff, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.Documents
}

// A notice replaces an earlier one of its name and may carry on its data.
func TestPublishMerges(t *testing.T) {
	t.Parallel()
	docs := openDocuments(t)
	b := notices.NewBoard(docs, "test")
	var wg sync.WaitGroup
	for _, word := range []string{"a", "b", "c", "d"} {
		wg.Go(func() {
			err := b.Publish(t.Context(), "one", func(before []byte) []byte { return append(slices.Clone(before), word...) })
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	d, err := docs.Get(t.Context(), "test", "one")
	if err != nil || len(d.Data) != 4 || d.TTL <= 0 || d.TTL > notices.TTL {
		t.Errorf("the notice is %q for %v, %v, want four letters for at most %v", d.Data, d.TTL, err, notices.TTL)
	}
}

// writer is the part of the documents that a watch does not use.
type writer interface {
	Get(ctx context.Context, collection, name string) (store.Document, error)
	Put(ctx context.Context, d store.Document) (version uint64, err error)
}

// list is a collection of documents that a test sets.
type list struct {
	writer
	mu   sync.Mutex
	docs []store.Document
	err  error
}

func (l *list) set(err error, docs ...store.Document) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.docs, l.err = docs, err
}

func (l *list) Documents(context.Context, string, string, int) (store.Page[store.Document], error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return store.Page[store.Document]{Items: slices.Clone(l.docs)}, l.err
}

func TestWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		doc := func(name string, version uint64, data string) store.Document {
			return store.Document{Name: name, Version: version, Data: []byte(data)}
		}
		docs := &list{docs: []store.Document{doc("a", 1, "a1")}}
		ctx, stop := context.WithCancel(t.Context())
		var mu sync.Mutex
		var seen []string
		record := func(s string) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, s)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			notices.NewBoard(docs, "test").Watch(ctx, notices.Watcher{
				Notice: func(data []byte, first bool) {
					if first {
						record("first")
					}
					record(string(data))
				},
				Failed: func(error) { record("failed") }, Resumed: func() { record("resumed") },
			})
		}()
		synctest.Wait()
		for _, step := range []func(){
			func() { docs.set(nil, doc("a", 1, "a1"), doc("b", 1, "b1")) },
			func() { docs.set(nil, doc("a", 2, "a2"), doc("b", 1, "b1")) },
			func() { docs.set(store.ErrUnavailable) },
			func() { docs.set(nil, doc("a", 2, "a2"), doc("b", 1, "b1 again")) }, // b has expired and is new
			func() { docs.set(nil) },
			func() { docs.set(nil, doc("a", 2, "a2")) },
		} {
			step()
			time.Sleep(2 * notices.Interval)
		}
		stop()
		<-done
		if got, want := strings.Join(seen, ", "), "first, a1, b1, a2, failed, b1 again, resumed, a2"; got != want {
			t.Errorf("saw %s, want %s", got, want)
		}
	})
}
