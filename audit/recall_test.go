package audit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/everdesk/everdesk/audit"
	"github.com/everdesk/everdesk/store"
)

// failingStore is a store in which the bad-th write to the chain fails.
type failingStore struct {
	audit.Store
	puts, bad int
}

func (s *failingStore) Put(ctx context.Context, d store.Document) (uint64, error) {
	if d.Collection == "audit-chain" {
		if s.puts++; s.puts == s.bad {
			return 0, store.ErrUnavailable
		}
	}
	return s.Store.Put(ctx, d)
}

// An action that Find reports as done is in the chain, even if the process that recorded it crashed
// before writing the chain.
func TestRecallCompletes(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, docs engine) {
		t.Helper()
		b, r := open(&failingStore{Store: docs, bad: 2}), record("a-1", 0)
		if _, done, err := b.Begin(t.Context(), r); done || err != nil {
			t.Fatalf("Begin: got done %v, error %v, want not done, no error", done, err)
		}
		if _, err := b.End(t.Context(), r.ID, outcome(audit.Done, "")); !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("End while the store fails: got error %v, want %v", err, store.ErrUnavailable)
		}
		for range 2 {
			known, done, err := b.Find(t.Context(), r)
			if err != nil || !done || known.Result != audit.Done || known.Seq != 2 {
				t.Fatalf("Find: got %+v, done %v, error %v, want it done with seq 2", known, done, err)
			}
		}
		if _, done, err := b.Begin(t.Context(), record("a-2", time.Second)); done || err != nil {
			t.Fatalf("Begin of the next action: got done %v, error %v, want not done, no error", done, err)
		}
		found := all(t, b, audit.Query{})
		if len(found) != 3 || found[1].Result != audit.Done || found[1].ID != "a-1" || found[0].ID != "a-2" {
			t.Errorf("records: got %+v, want three: a-2, a-1 done, a-1", found)
		}
	})
}
