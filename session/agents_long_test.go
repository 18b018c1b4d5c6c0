package session_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// ends tells of the ends of turns, and keeps nothing.
type ends struct {
	mu sync.Mutex
	by map[wire.MessageID]chan struct{}
}

func (e *ends) of(id wire.MessageID) chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.by[id] == nil {
		e.by[id] = make(chan struct{}, 1)
	}
	return e.by[id]
}

func (e *ends) await(ctx context.Context, id wire.MessageID) error {
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.by, id)
	}()
	select {
	case <-e.of(id):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the end of %s: %w", id, ctx.Err())
	}
}

// watchEnds tells of the ends of turns until the test ends.
func watchEnds(t *testing.T, s session.Store, id wire.SessionID) *ends {
	t.Helper()
	e := &ends{by: map[wire.MessageID]chan struct{}{}}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() {
		for news, err := range s.Tail(ctx, id, wire.Position{}) {
			if err != nil {
				return
			}
			for _, event := range news.Events {
				if !strings.Contains(string(event.Frame), `"isComplete":true`) {
					continue
				}
				if r, is := decode(t, event).Data.(wire.AgentResponse); is && r.MessageID != "" {
					e.of(r.MessageID) <- struct{}{}
				}
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	return e
}

// size is how much is kept of a session, by what it is.
func size(kept store.State) map[string]int {
	sizes := map[string]int{}
	for name, table := range kept.Tables {
		for field, value := range table {
			sizes[name] += len(field) + len(value)
		}
	}
	for name, items := range kept.Lists {
		for _, item := range items {
			sizes[name] += len(item)
		}
	}
	return sizes
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A session in which a thousand turns were made is not larger than one with half
// of them, and neither is the process.
func TestAThousandTurns(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	before, after := uint64(0), uint64(0)
	manyTurns(t, onFiles(t), 250, func() { before = heap() }, func() { after = heap() })
	if after > before+16<<20 {
		t.Errorf("the heap had %d bytes and has %d", before, after)
	}
}

func TestManyTurnsOnRedis(t *testing.T) {
	t.Parallel()
	manyTurns(t, onRedis(t), 80, func() {}, func() {})
}

// manyTurns makes a number of turns on each of four monitors at once, and compares what
// the store keeps after half of them and in the end.
func manyTurns(t *testing.T, s *site, each int, half, whole func()) {
	t.Helper()
	o := agentHub(t, s, hubConfig{session: session.Config{Budget: roomyBudget}, logger: silence()})
	create(t, o.Hub, "ses-1")
	u := &user{handle: enter(t, o.Hub, "ses-1"), ends: watchEnds(t, s, "ses-1")}
	turns := func(from, to int) map[string]int {
		t.Helper()
		var wg sync.WaitGroup
		for m := range 4 {
			wg.Go(func() {
				for i := from; i < to; i++ {
					if err := u.turn(t.Context(), wire.MonitorID(fmt.Sprintf("monitor-%d", m)), i); err != nil {
						t.Errorf("turn %d on monitor %d: %v", i, m, err)
						return
					}
				}
			})
		}
		wg.Wait()
		settled(t, u.handle)
		kept, err := s.Load(t.Context(), "ses-1")
		ok(t, err)
		return size(kept)
	}
	was := turns(0, each/2)
	half()
	is := turns(each/2, each)
	whole()
	total := 0
	for name, n := range is {
		total += n
		if name != "ledger" && n > was[name]*3/2+64<<10 { // ids are kept for a day, ten thousand at most
			t.Errorf("%s had %d bytes and has %d", name, was[name], n)
		}
	}
	if total > 8<<20 {
		t.Errorf("%d bytes are kept: %v", total, is)
	}
	info, err := s.Session(t.Context(), "ses-1")
	ok(t, err)
	if info.Working {
		t.Error("there is work left")
	}
}

// user is somebody who waits for every answer.
type user struct {
	handle *session.Handle
	ends   *ends
}

// turn makes the nth turn on a monitor. Some open windows, some are said to one,
// and now and then a window is closed.
func (u *user) turn(ctx context.Context, monitor wire.MonitorID, n int) error {
	words := strings.Repeat("many words ", 8)
	text := fmt.Sprintf("do number %d %s\n/say %s", n, words, words)
	var data wire.ClientPayload = wire.UserMessage{MonitorID: monitor, Content: text}
	switch n % 5 {
	case 0:
		data = wire.UserMessage{MonitorID: monitor, Content: text + "\n" + opening(wire.WindowID(fmt.Sprintf("w%d", n%10)))}
	case 4:
		data = wire.WindowMessage{MonitorID: monitor, WindowID: "w0", Content: text}
	}
	id := wire.MessageID(fmt.Sprintf("%s-%d", monitor, n))
	if err := u.handle.Deliver(ctx, says("conn", id, data)); err != nil {
		return err
	}
	if err := u.ends.await(ctx, id); err != nil || n%10 != 9 {
		return err
	}
	_, err := u.handle.DeliverAndWait(ctx, says("conn", "close-"+id, wire.Emit{
		MonitorID: monitor, Actions: []wire.Action{wire.WindowClose{WindowID: "w5"}},
	}))
	return err
}
