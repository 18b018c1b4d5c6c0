package audit_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/audit"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/store/redisstore"
)

// stores runs a test on both engines.
func stores(t *testing.T, do func(t *testing.T, docs audit.Store)) {
	t.Helper()
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		s, err := filestore.Open(t.TempDir(), filestore.Config{Sync: filestore.SyncOff, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		do(t, s)
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		s, err := redisstore.Open(t.Context(), redistest.Standalone(t).Client(t), redisstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		do(t, s)
	})
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func record(id string, after time.Duration) audit.Record {
	return audit.Record{
		ID: id, Time: noon.Add(after), Who: "root", Action: "session.reset", Target: "ses-1", Reason: "it hangs",
		Replica: "r-1", Address: "192.0.2.1",
	}
}

func all(t *testing.T, b *audit.Book) []audit.Record {
	t.Helper()
	var found []audit.Record
	for after := ""; ; {
		page, err := b.List(t.Context(), after, 2)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, page.Items...)
		if after = page.Next; after == "" {
			return found
		}
	}
}

func TestNewestFirstAndOnce(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, docs audit.Store) {
		t.Helper()
		b := audit.New(docs)
		for i := range 5 {
			got, done, err := b.Witness(t.Context(), record(fmt.Sprint("a-", i), time.Duration(i)*time.Millisecond))
			if err != nil || done || got.ID != fmt.Sprint("a-", i) {
				t.Fatalf("%+v %v %v", got, done, err)
			}
		}
		// Somebody else's replica is told the same later.
		again := record("a-2", time.Hour)
		again.Replica = "r-2"
		got, done, err := b.Witness(t.Context(), again)
		if err != nil || done || !got.Time.Equal(noon.Add(2*time.Millisecond)) || got.Replica != "r-1" {
			t.Errorf("again: %+v %v %v", got, done, err)
		}
		if err := errors.Join(b.Done(t.Context(), "a-2"), b.Done(t.Context(), "a-2")); err != nil {
			t.Error(err)
		}
		if _, done, err := b.Witness(t.Context(), again); err != nil || !done {
			t.Errorf("after it was done: %v %v", done, err)
		}
		other := again
		other.Target = "ses-2"
		if _, _, err := b.Witness(t.Context(), other); !errors.Is(err, audit.ErrReused) {
			t.Errorf("another action under the same id: %v", err)
		}
		found := all(t, b)
		if len(found) != 5 {
			t.Fatalf("%d records, want 5: %+v", len(found), found)
		}
		for i, r := range found {
			if want := fmt.Sprint("a-", 4-i); r.ID != want {
				t.Errorf("record %d is %s, want %s", i, r.ID, want)
			}
		}
		if found[0] != record("a-4", 4*time.Millisecond) {
			t.Errorf("kept as %+v", found[0])
		}
	})
}

// Many who do the same at once make one record.
func TestOneRecordOfMany(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, docs audit.Store) {
		t.Helper()
		b := audit.New(docs)
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				if _, _, err := b.Witness(t.Context(), record("same", time.Duration(i)*time.Second)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if found := all(t, b); len(found) != 1 {
			t.Errorf("%d records, want one", len(found))
		}
	})
}

// torn is a store whose second write does not arrive.
type torn struct {
	audit.Store
	puts int
}

func (s *torn) Put(ctx context.Context, d store.Document) (uint64, error) {
	if s.puts++; s.puts == 2 {
		return 0, store.ErrUnavailable
	}
	return s.Store.Put(ctx, d)
}

func TestARecordThatWasHalfWritten(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, docs audit.Store) {
		t.Helper()
		b := audit.New(&torn{Store: docs})
		if _, _, err := b.Witness(t.Context(), record("x", 0)); !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("witnessed with %v", err)
		}
		if _, done, err := b.Witness(t.Context(), record("x", time.Minute)); err != nil || done {
			t.Fatalf("again: %v %v", done, err)
		}
		if found := all(t, b); len(found) != 1 || !found[0].Time.Equal(noon) {
			t.Errorf("records: %+v", found)
		}
	})
}

func TestRefusedRecords(t *testing.T) {
	t.Parallel()
	s, err := filestore.Open(t.TempDir(), filestore.Config{Sync: filestore.SyncOff, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	b := audit.New(s)
	for name, spoil := range map[string]func(*audit.Record){
		"no id":       func(r *audit.Record) { r.ID = "" },
		"long id":     func(r *audit.Record) { r.ID = strings.Repeat("x", 65) },
		"odd id":      func(r *audit.Record) { r.ID = "a\nb" },
		"nobody":      func(r *audit.Record) { r.Who = "" },
		"nothing":     func(r *audit.Record) { r.Action = "" },
		"no time":     func(r *audit.Record) { r.Time = time.Time{} },
		"no reason":   func(r *audit.Record) { r.Reason = " \t" },
		"long reason": func(r *audit.Record) { r.Reason = strings.Repeat("é", audit.MaxReason+1) },
		"no text":     func(r *audit.Record) { r.Reason = "\xff" },
	} {
		r := record("x", 0)
		spoil(&r)
		if _, _, err := b.Witness(t.Context(), r); !errors.Is(err, audit.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if found := all(t, b); len(found) != 0 {
		t.Errorf("records: %+v", found)
	}
}
