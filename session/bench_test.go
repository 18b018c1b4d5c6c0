package session_test

import (
	"context"
	"sync"
	"testing"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/wire"
)

// BenchmarkEmit is the way of a small action through mailbox, step, commit and
// an empty Center.
func BenchmarkEmit(b *testing.B) {
	s, err := filestore.Open(b.TempDir(), filestore.Config{Sync: filestore.SyncOff})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	h := session.NewHub(session.Config{Replica: "a"}, s)
	ctx, cancel := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	wg.Go(func() { h.Run(ctx) })
	defer wg.Wait()
	defer cancel()
	if _, err := h.Create(ctx, session.NewSession{ID: "ses-1", User: "ada"}); err != nil {
		b.Fatal(err)
	}
	r, err := h.Open(ctx, "ses-1")
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	c := says("c", "", wire.Emit{Actions: []wire.Action{wire.AppBadge{AppID: "mail", Count: 7}}})
	b.ReportAllocs()
	for b.Loop() {
		if err := r.Deliver(ctx, c); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := r.Ask(ctx, says("c", "last", c.Message.Data)); err != nil {
		b.Fatal(err)
	}
}
