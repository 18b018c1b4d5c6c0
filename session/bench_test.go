package session_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/wire"
)

// instantStore is a store that acknowledges every batch at once.
type instantStore struct{ testStore }

func (instantStore) Commit(_ context.Context, lease store.Lease, b store.Batch) (store.Receipt, error) {
	return store.Receipt{Top: wire.Position{Epoch: lease.Epoch, Seq: b.Prev.Seq + uint64(len(b.Events))}}, nil
}

// stepLimiter is an observer that limits the number of pending steps.
type stepLimiter struct {
	session.Observer
	steps chan struct{}
}

func (o stepLimiter) Appended(int, time.Duration) {
	select {
	case <-o.steps:
	default: // of before
	}
}

// idleRunner is a session runner without runs.
type idleRunner struct {
	contextpool.Runner
	contextpool.Providers
}

func (idleRunner) HasProvider(string) bool              { return true }
func (idleRunner) DefaultProvider(profiles.Role) string { return "" }
func (idleRunner) Launch()                              {}

// BenchmarkSteps measures small actions through mailbox, step and an empty Center, in many sessions
// in turn, so that every step starts with cold caches.
func BenchmarkSteps(b *testing.B) {
	const sessions, underWay = 500, 64
	for _, events := range []int{1, 8} {
		b.Run(fmt.Sprint("events=", events), func(b *testing.B) {
			s, err := filestore.Open(b.TempDir(), filestore.Config{Sync: filestore.SyncOff})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			steps := make(chan struct{}, underWay)
			h := session.NewHub(session.Config{
				Replica: "a", Lease: time.Hour, Observer: stepLimiter{steps: steps},
				NewRunner: func(context.Context, agentpool.SessionRef) session.Runner {
					return session.Runner{Runs: idleRunner{}, Providers: idleRunner{}, Close: func() {}}
				},
			}, session.StoreOf(instantStore{s.Sessions}))
			ctx, cancel := context.WithCancel(b.Context())
			var wg sync.WaitGroup
			wg.Go(func() { h.Run(ctx) })
			defer wg.Wait()
			defer cancel()
			handles := make([]*session.Handle, sessions)
			for i := range handles {
				id := wire.SessionID(fmt.Sprint("ses-", i))
				if _, err := h.Create(ctx, session.NewSession{ID: id, User: "ada"}); err != nil {
					b.Fatal(err)
				}
				if handles[i], err = h.Open(ctx, id); err != nil {
					b.Fatal(err)
				}
				defer handles[i].Close()
				window := wire.WindowCreate{WindowID: "w", Content: wire.TextContent{}}
				if _, err = handles[i].DeliverAndWait(ctx, command("c", "make", wire.Emit{Actions: []wire.Action{window}})); err != nil {
					b.Fatal(err)
				}
			}
			change := wire.WindowSetContent{WindowID: "w", Content: wire.TextContent{Data: strings.Repeat("x", 256)}}
			commands := slices.Repeat([]session.Command{command("c", "", wire.Emit{Actions: []wire.Action{change}})}, events)
			b.ReportAllocs()
			before := cpuTime()
			i := 0
			for b.Loop() {
				steps <- struct{}{}
				if _, err := handles[i%sessions].DeliverAll(ctx, commands); err != nil {
					b.Fatal(err)
				}
				i++
			}
			b.ReportMetric(float64(cpuTime()-before)/float64(i), "cpu-ns/op")
		})
	}
}

// cpuTime is the CPU time of this process, which the load of the machine does not affect.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
