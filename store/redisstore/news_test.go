package redisstore_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/redisstore"
)

// An owner listens for commands and has no use for its own batches, so they are
// published only if a hub follows the session: another one, or this one.
func TestBatchesArePublishedForFollowersOnly(t *testing.T) {
	t.Parallel()
	server := redistest.Standalone(t)
	d := deploy(t, server.URL())
	cfg := config(d.prefix())
	cfg.TailEvery = time.Hour // nothing but a message brings news
	s, other := open(t, d.client, cfg), open(t, d.client, cfg)
	a := newAuthor(t, s, "session")
	ctx, end := context.WithCancel(t.Context())
	var owner sync.WaitGroup
	owner.Go(func() {
		for commands := range s.Sessions.Receive(ctx, a.lease) {
			if len(commands) > 0 {
				t.Errorf("the owner received %d commands, want none: none was sent", len(commands))
			}
		}
	})
	t.Cleanup(owner.Wait)
	t.Cleanup(end)
	eventually(t, "subscription", func() error {
		inbox := s.InboxKey(a.lease.Session)
		if n, err := server.Client(t).PubSubShardNumSub(t.Context(), inbox).Result(); err != nil || n[inbox] != 1 {
			return fmt.Errorf("the inbox has %d subscribers, %w", n[inbox], err)
		}
		return nil
	})
	published := func() string {
		stats, err := server.Client(t).Info(t.Context(), "commandstats").Result()
		if err != nil {
			t.Fatal(err)
		}
		_, calls, _ := strings.Cut(stats, "cmdstat_spublish:")
		calls, _, _ = strings.Cut(calls, ",")
		return calls
	}
	before := published() // claims are
	a.mustWrite(t, 3)
	if now := published(); now != before {
		t.Errorf("batches without a follower are published: %q before, %q after, want the same", before, now)
	}
	for _, follower := range []*redisstore.Store{other, s} {
		const last = "last"
		seen := follow(t, follower, a.lease.Session, func(e store.Event) bool { return string(e.Frame) != last })
		a.mustWrite(t, 3)
		if _, err := a.try(t.Context(), store.Batch{Events: [][]byte{[]byte(last)}}); err != nil {
			t.Fatal(err)
		}
		if err := <-seen; err != nil {
			t.Error(err)
		}
	}
}
