//go:build unix

package filestore_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/wire"
)

// BenchmarkCommit has 500 sessions commit at once, each a step of eight events
// and a change of its state. The processor's time is what counts: with so many
// sessions nothing is in a cache when its turn comes.
func BenchmarkCommit(b *testing.B) {
	const sessions = 500
	s, err := filestore.Open(b.TempDir(), filestore.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	steps := make([]func() error, sessions)
	for i := range steps {
		steps[i] = stepper(b, s, wire.SessionID(fmt.Sprintf("session-%d", i)))
	}
	before := cpuTime(b)
	b.ResetTimer()
	var wg sync.WaitGroup
	for i, step := range steps {
		wg.Go(func() {
			for range (b.N + i) / sessions {
				if err := step(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
}

// stepper returns what commits the next step of a new session, which has a desk
// with a few things on it.
func stepper(b *testing.B, s *filestore.Store, id wire.SessionID) func() error {
	b.Helper()
	if err := s.Sessions.Create(b.Context(), store.NewSession{ID: id, User: "user"}); err != nil {
		b.Fatal(err)
	}
	lease, err := s.Sessions.Claim(b.Context(), id, "replica", time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	events := make([][]byte, 8)
	for i := range events {
		events[i] = bytes.Repeat([]byte{'e'}, 400)
	}
	batch := store.Batch{Prev: lease.Top(), Events: events}
	for i := range 10 {
		batch.Ops = append(batch.Ops, store.Set("windows", fmt.Sprintf("window-%d", i), bytes.Repeat([]byte{'w'}, 300)))
	}
	ctx, cancel := context.WithCancel(b.Context()) // a context that can end, as in the hub
	b.Cleanup(cancel)
	step := func() error {
		batch.Number++
		receipt, err := s.Sessions.Commit(ctx, lease, batch)
		batch.Prev = receipt.Top
		return err
	}
	if err := step(); err != nil {
		b.Fatal(err)
	}
	batch.Ops = batch.Ops[3:4]
	return step
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
