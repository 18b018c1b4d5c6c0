package adminview_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/adminview"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// listCounter counts the sessions that listings return.
type listCounter struct {
	engine
	listed atomic.Int64
}

func (c *listCounter) Sessions(ctx context.Context, q store.Query) (store.Page[store.Info], error) {
	p, err := c.engine.Sessions(ctx, q)
	c.listed.Add(int64(len(p.Items)))
	return p, err
}

// Dormant sessions beyond those in the view are counted, found by id and user, and listed on further
// pages; looking on reads only what changes.
func TestOldSessionsAreFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const all = 2_600
		s := &listCounter{engine: openStore(t)}
		for i := range all {
			user := "ann"
			if i < 3 {
				user = "old"
			}
			if err := s.Create(t.Context(), store.NewSession{ID: wire.SessionID(fmt.Sprintf("s-%04d", i)), User: user}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		a := start(t, s, "a")
		seen := map[wire.SessionID]bool{}
		for q := (adminview.Query{Sort: "updated", Descending: true, Limit: 300}); ; {
			p, err := a.Sessions(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if p.Total != all {
				t.Fatalf("page has a total of %d, want %d", p.Total, all)
			}
			for _, r := range p.Rows {
				if want := wire.SessionID(fmt.Sprintf("s-%04d", all-1-len(seen))); r.SessionID != want {
					t.Fatalf("row %d is %s, want %s", len(seen), r.SessionID, want)
				}
				seen[r.SessionID] = true
			}
			if q.After = p.Next; q.After == "" {
				break
			}
		}
		if len(seen) != all {
			t.Errorf("pages have %d sessions, want %d", len(seen), all)
		}
		for name, q := range map[string]adminview.Query{
			"user": {User: "old", Limit: 10}, "text": {Text: "old", Limit: 10},
		} {
			if p, err := a.Sessions(t.Context(), q); err != nil || len(p.Rows) != 3 {
				t.Errorf("query by %s finds %v, error %v, want 3 sessions", name, p.Rows, err)
			}
		}
		if p, err := a.Sessions(t.Context(), adminview.Query{Text: "s-0001"}); err != nil || len(p.Rows) != 1 || p.Rows[0].Status != adminview.Dormant {
			t.Errorf("query by id finds %v, error %v, want one dormant session", p.Rows, err)
		}
		o, err := a.Overview(t.Context())
		if err != nil || o.Totals.Sessions != all || o.Totals.ByStatus[adminview.Dormant] != all {
			t.Errorf("totals are %+v, error %v, want %d dormant sessions", o.Totals, err, all)
		}
		before := s.listed.Load()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for range a.Watch(ctx, adminview.Interest{Rows: true}) {
			continue // it only has to be read
		}
		if n := s.listed.Load() - before; n > 12*500 {
			t.Errorf("a minute of watching lists %d sessions, want a page per scan", n)
		}
	})
}
