package membership_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/membership"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/redisstore"
	"github.com/everdesk/everdesk/wire"
)

// commandHandler executes commands and counts them.
type commandHandler struct {
	mu   sync.Mutex
	done map[wire.SessionID]int
}

func (c *commandHandler) answer(_ context.Context, e membership.Command) membership.Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = map[wire.SessionID]int{}
	}
	c.done[e.Session]++
	return membership.Answer{Found: true, Detail: string(e.Kind) + " " + string(e.Session)}
}

func (c *commandHandler) total() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.done {
		n += k
	}
	return n
}

// Concurrent commands from several replicas are executed once and answered.
func TestCommands(t *testing.T) {
	t.Parallel()
	server := redistest.Standalone(t)
	var clerks [2]commandHandler
	var hubs [2]*hub
	for i, id := range []wire.ReplicaID{"a", "b"} {
		s, err := redisstore.Open(t.Context(), server.Client(t), redisstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		hubs[i] = start(t, parts{s.Replicas, s.Documents}, id, func(c *membership.Config) { c.Every, c.Execute = 20*time.Millisecond, clerks[i].answer })
	}
	for _, h := range hubs { // who has announced itself can be asked
		for {
			if all, err := h.Replicas(t.Context()); err == nil && len(all) == 2 {
				break
			}
		}
	}
	const commands = 100
	var wg sync.WaitGroup
	for i := range commands {
		wg.Go(func() {
			e := membership.Command{Kind: membership.CommandFetch, Session: wire.SessionID(fmt.Sprint("ses-", i))}
			for range 2 { // the same again is the same
				got, err := hubs[i%2].Send(t.Context(), []wire.ReplicaID{"a", "b"}[i/2%2], fmt.Sprint("e-", i), e)
				if err != nil || got.Detail != "fetch "+string(e.Session) {
					t.Errorf("command %d: got %+v, error %v, want the detail %q", i, got, err, "fetch "+string(e.Session))
				}
			}
		})
	}
	wg.Wait()
	if a, b := clerks[0].total(), clerks[1].total(); a != commands/2 || b != commands/2 {
		t.Errorf("%d and %d were done, want %d each", a, b, commands/2)
	}
	if _, err := hubs[0].Send(t.Context(), "c", "x", membership.Command{}); !errors.Is(err, membership.ErrUnknown) {
		t.Errorf("a command for an unknown replica: got error %v, want %v", err, membership.ErrUnknown)
	}
}

// A command times out if its replica is slow or has stopped.
func TestCommandsThatFail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openFile(t)
		a := start(t, s, "a")
		hang := make(chan struct{})
		b := start(t, s, "b", func(c *membership.Config) {
			c.Execute = func(ctx context.Context, _ membership.Command) membership.Answer {
				close(hang)
				<-ctx.Done()
				return membership.Answer{Code: wire.CodeConnectionTimeout}
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := a.Send(ctx, "b", "x", membership.Command{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a command that takes long: got error %v, want %v", err, context.DeadlineExceeded)
		}
		<-hang
		if got, err := a.Send(t.Context(), "b", "x", membership.Command{}); err != nil || got.Code != wire.CodeConnectionTimeout {
			t.Errorf("the result in the end: got %+v, error %v, want code %v", got, err, wire.CodeConnectionTimeout)
		}
		b.end()
		if _, err := a.Send(t.Context(), "b", "y", membership.Command{}); !errors.Is(err, membership.ErrUnknown) {
			t.Errorf("a command for a replica that has left: got error %v, want %v", err, membership.ErrUnknown)
		}
		if got, err := a.Send(t.Context(), "a", "z", membership.Command{}); err != nil || got.Code == 0 {
			t.Errorf("a command for a replica without commands: got %+v, error %v, want a code", got, err)
		}
	})
}

// A command for an earlier process of a replica is not executed by the next one.
func TestCommandsForAnEarlierProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openFile(t)
		for i, data := range []string{`{"kind":"fetch","session":"ses-1","process":"another"}`, `{`} {
			if _, err := s.docs.Put(t.Context(), store.Document{Collection: "fleet-errands.a", Name: strconv.Itoa(i), Data: []byte(data), TTL: time.Minute}); err != nil {
				t.Fatal(err)
			}
		}
		var c commandHandler
		start(t, s, "a", func(cfg *membership.Config) { cfg.Execute = c.answer })
		time.Sleep(10 * time.Second)
		if c.total() != 0 {
			t.Error("command for an earlier process: got it executed, want it ignored")
		}
	})
}
