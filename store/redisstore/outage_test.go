package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

func TestLostAnswers(t *testing.T) {
	t.Parallel()
	server := redistest.Standalone(t)
	p := newProxy(t, server.Addr)
	cfg := config("lost")
	cfg.CheckEvery = time.Hour // or the lost answer might be that to a ping
	s := open(t, deploy(t, "redis://"+p.addr).client, cfg)
	a := newAuthor(t, s, "s")
	ctx := t.Context()

	for _, n := range []int32{1, 2} { // also the answer to the retry
		p.lose.Store(n)
		if err := a.write(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if got := p.lost.Load(); got != 3 {
		t.Fatalf("%d answers were lost, want 3", got)
	}
	a.verify(t)

	p.lose.Store(1)
	if _, err := s.Sessions.Send(ctx, "s", store.Command{ID: "c", Data: []byte("data")}); err != nil {
		t.Fatal(err)
	}
	for commands, err := range s.Sessions.Receive(ctx, a.lease) {
		if err != nil || len(commands) != 1 || commands[0].ID != "c" {
			t.Errorf("inbox is %v, error %v, want one command", commands, err)
		}
		break
	}

	// A write that must not be repeated runs once, and the caller gets an error.
	// The scripts are known by then, or their absence would be the lost answer.
	if _, err := s.Documents.Put(ctx, store.Document{Collection: "c", Name: "first"}); err != nil {
		t.Fatal(err)
	}
	loseNext := func() {
		t.Helper()
		if err := s.Ready(ctx); err != nil { // there is a connection
			t.Fatal(err)
		}
		p.lose.Store(1)
	}
	loseNext()
	_, err := s.Documents.Put(ctx, store.Document{Collection: "c", Name: "n"})
	isUnavailable(t, "Put", err)
	if d, err := s.Documents.Get(ctx, "c", "n"); err != nil || d.Version != 1 {
		t.Errorf("document is %+v, error %v, want version 1", d, err)
	}
	loseNext()
	isUnavailable(t, "Remove", s.Documents.Remove(ctx, "c", "n", 1))
	loseNext()
	_, err = s.Sessions.Claim(ctx, "s", "author", time.Hour)
	isUnavailable(t, "Claim", err)
	events, err := s.Sessions.Read(ctx, "s", a.top, 10)
	if err != nil || len(events) != 1 {
		t.Errorf("log after the claim is %v, error %v, want one event", events, err)
	}
	if got := p.lost.Load(); got != 7 {
		t.Errorf("%d answers were lost, want 7", got)
	}
}

func isUnavailable(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("%s without an answer is %v, want ErrUnavailable", what, err)
	}
}

func TestDeadlinesAreObeyed(t *testing.T) {
	t.Parallel()
	server := redistest.Standalone(t)
	s := open(t, deploy(t, server.URL()).client, config("deadline"))
	a := newAuthor(t, s, "s")
	server.Stop(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := a.try(ctx, store.Batch{Events: [][]byte{[]byte("late")}})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Commit is %v, want its deadline", err)
	}
	_, err = s.Sessions.Load(ctx, "s")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Load is %v, want its deadline", err)
	}
	server.Continue(t)
	// Whether the first attempt arrived or not, this is the same batch.
	if _, err := a.try(t.Context(), store.Batch{Events: [][]byte{[]byte("late")}}); err != nil {
		t.Fatal(err)
	}
	if events, err := s.Sessions.Read(t.Context(), "s", a.lease.Top(), 10); err != nil || len(events) != 1 {
		t.Errorf("log is %v, error %v, want one event", events, err)
	}
}

func TestKilledRedisLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	// Any other appendfsync may answer before it writes when the disk is busy.
	server := redistest.Standalone(t, "--appendonly", "yes", "--appendfsync", "always")
	s := open(t, deploy(t, server.URL()).client, config("killed"))
	const sessions, events, kills = 6, 300, 2
	var written atomic.Int64
	reached := make(chan struct{}, 1)
	authors := make([]*author, sessions)
	errs := make(chan error, sessions)
	seen := make([][]string, sessions)
	tails := make([]<-chan error, sessions)
	for i := range authors {
		authors[i] = newAuthor(t, s, wire.SessionID(fmt.Sprint("s", i)))
		tails[i] = follow(t, s, authors[i].lease.Session, func(e store.Event) bool {
			if e.At.Seq > 0 {
				seen[i] = append(seen[i], string(e.Frame))
			}
			return len(seen[i]) < events
		})
	}
	var wg sync.WaitGroup
	for _, a := range authors {
		wg.Go(func() {
			for range events {
				if err := a.write(t.Context()); err != nil {
					errs <- err
					return
				}
				if written.Add(1)%(sessions*events/(kills+1)) == 0 {
					reached <- struct{}{}
				}
			}
			errs <- nil
		})
	}
	for range kills {
		<-reached
		server.Kill(t)
		server.Restart(t)
	}
	<-reached
	wg.Wait()
	for i, a := range authors {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
		if a.claims != 1 {
			t.Errorf("%s was claimed %d times, want once: the store lost something", a.lease.Session, a.claims)
		}
		a.verify(t)
		if err := <-tails[i]; err != nil {
			t.Errorf("tail of %s ended with %v", a.lease.Session, err)
		}
		same(t, "tail", seen[i], a.acked)
	}
}

func TestFullMemory(t *testing.T) {
	t.Parallel()
	server := redistest.Standalone(t)
	limit := func(maxmemory string) {
		t.Helper()
		if err := server.Client(t).ConfigSet(t.Context(), "maxmemory", maxmemory).Err(); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, deploy(t, server.URL()).client, config("full"))
	a, other := newAuthor(t, s, "s"), newAuthor(t, s, "other")
	ctx := t.Context()
	other.mustWrite(t, 3)
	before := other.number
	if _, err := a.try(ctx, store.Batch{Ops: []store.Op{store.Set("t", "f", make([]byte, 1<<20))}}); err != nil {
		t.Fatal(err)
	}
	limit("1mb")
	_, err := a.try(ctx, store.Batch{Events: [][]byte{[]byte("x")}, Ops: []store.Op{store.Clear("t")}})
	for what, err := range map[string]error{
		"Commit": err,
		"Create": s.Sessions.Create(ctx, store.NewSession{ID: "new", User: "u"}),
		"Send":   second(s.Sessions.Send(ctx, "other", store.Command{ID: "c"})),
		"Put":    second(s.Documents.Put(ctx, store.Document{Collection: "c", Name: "n"})),
		"Ready":  s.Ready(ctx),
	} {
		if !errors.Is(err, store.ErrNoSpace) {
			t.Errorf("%s is %v, want ErrNoSpace", what, err)
		}
	}
	if _, err := other.try(ctx, store.Batch{Events: [][]byte{[]byte("y")}}); !errors.Is(err, store.ErrNoSpace) {
		t.Errorf("Commit to another session is %v, want ErrNoSpace", err)
	}
	// Reads go on, the refused batches have left nothing, owners stay owners.
	other.verify(t)
	if err := errors.Join(s.Sessions.Renew(ctx, a.lease), s.Sessions.Renew(ctx, other.lease)); err != nil {
		t.Error(err)
	}
	state, err := s.Sessions.Load(ctx, "s")
	if err != nil || state.At != a.top || len(state.Tables["t"]) != 1 {
		t.Errorf("state is at %v with %d fields, error %v, want %v and 1", state.At, len(state.Tables["t"]), err, a.top)
	}
	if err := s.Sessions.Delete(ctx, a.lease); err != nil {
		t.Fatal(err)
	}
	limit("0")
	if err := s.Ready(ctx); err != nil {
		t.Errorf("with memory again Ready is %v", err)
	}
	other.mustWrite(t, 1)
	if other.number != before+1 {
		t.Errorf("last batch has number %d, want %d", other.number, before+1)
	}
	other.verify(t)
}

func second[T any](_ T, err error) error { return err }

func TestForgottenScripts(t *testing.T) {
	t.Parallel()
	server := redistest.Standalone(t)
	s := open(t, deploy(t, server.URL()).client, config("flushed"))
	raw := server.Client(t)
	const sessions, events = 8, 60
	authors := make([]*author, sessions)
	for i := range authors {
		authors[i] = newAuthor(t, s, wire.SessionID(fmt.Sprint("s", i)))
	}
	errs := make(chan error, sessions)
	for _, a := range authors {
		go func() {
			for range events {
				if err := errors.Join(raw.ScriptFlush(t.Context()).Err(), a.write(t.Context())); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range authors {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range authors {
		a.verify(t)
		if a.claims != 1 {
			t.Errorf("%s was claimed %d times, want once", a.lease.Session, a.claims)
		}
	}
	flushed := func(what string, err error) {
		t.Helper()
		if err = errors.Join(err, raw.ScriptFlush(t.Context()).Err()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	ctx := t.Context()
	flushed("Renew", s.Sessions.Renew(ctx, authors[0].lease))
	flushed("Unattended", second(s.Sessions.Unattended(ctx, 10)))
	flushed("Sessions", second(s.Sessions.Sessions(ctx, store.Query{})))
	flushed("Acquire", second(s.Semaphores.Acquire(ctx, store.SlotRequest{Semaphore: "x", Limit: 1, Holder: "h", Key: "k", TTL: time.Hour})))
	flushed("Put", second(s.Documents.Put(ctx, store.Document{Collection: "c", Name: "n"})))
	flushed("Delete", s.Sessions.Delete(ctx, authors[0].lease))
}
