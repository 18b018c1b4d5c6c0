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

// turnEnds signals the ends of turns without keeping events.
type turnEnds struct {
	mu sync.Mutex
	by map[wire.MessageID]chan struct{}
}

func (e *turnEnds) signalFor(id wire.MessageID) chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.by[id] == nil {
		e.by[id] = make(chan struct{}, 1)
	}
	return e.by[id]
}

func (e *turnEnds) await(ctx context.Context, id wire.MessageID) error {
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.by, id)
	}()
	select {
	case <-e.signalFor(id):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the end of %s: %w", id, ctx.Err())
	}
}

// watchEnds signals the ends of turns until the test ends.
func watchEnds(t *testing.T, s testStore, id wire.SessionID) *turnEnds {
	t.Helper()
	e := &turnEnds{by: map[wire.MessageID]chan struct{}{}}
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
					e.signalFor(r.MessageID) <- struct{}{}
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

// storedBytes is the size of a stored session by table and list.
func storedBytes(kept store.State) map[string]int {
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

func heapBytes() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// After a thousand turns a session is not larger than after half of them, and neither is the
// process.
func TestAThousandTurns(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	before, after := uint64(0), uint64(0)
	manyTurns(t, newFileDeployment(t), 250, func() { before = heapBytes() }, func() { after = heapBytes() })
	if after > before+16<<20 {
		t.Errorf("the heap had %d bytes and has %d, want at most 16 MiB more", before, after)
	}
}

func TestManyTurnsOnRedis(t *testing.T) {
	t.Parallel()
	manyTurns(t, newRedisDeployment(t), 80, func() {}, func() {})
}

// manyTurns runs turns on each of four monitors concurrently, and compares the stored size after
// half of them and in the end.
func manyTurns(t *testing.T, s *deployment, each int, half, whole func()) {
	t.Helper()
	o := startAgentHub(t, s, hubConfig{session: session.Config{Budget: roomyBudget}, logger: discardLogger()})
	createSession(t, o.Hub, "ses-1")
	u := &turnTaker{handle: openHandle(t, o.Hub, "ses-1"), ends: watchEnds(t, s, "ses-1")}
	turns := func(from, to int) map[string]int {
		t.Helper()
		var wg sync.WaitGroup
		for m := range 4 {
			wg.Go(func() {
				for i := from; i < to; i++ {
					if err := u.runTurn(t.Context(), wire.MonitorID(fmt.Sprintf("monitor-%d", m)), i); err != nil {
						t.Errorf("turn %d on monitor %d: %v", i, m, err)
						return
					}
				}
			})
		}
		wg.Wait()
		deliverBarrier(t, u.handle)
		kept, err := s.Load(t.Context(), "ses-1")
		requireNoError(t, err)
		return storedBytes(kept)
	}
	was := turns(0, each/2)
	half()
	is := turns(each/2, each)
	whole()
	total := 0
	for name, n := range is {
		total += n
		if name != "ledger" && n > was[name]*3/2+64<<10 { // ids are kept for a day, at most ten thousand
			t.Errorf("%s had %d bytes and has %d, want at most %d", name, was[name], n, was[name]*3/2+64<<10)
		}
	}
	if total > 8<<20 {
		t.Errorf("%d bytes are kept, want at most 8 MiB: %v", total, is)
	}
	info, err := s.Session(t.Context(), "ses-1")
	requireNoError(t, err)
	if info.Working {
		t.Error("got a session that works, want an idle one")
	}
}

// turnTaker is a user that waits for every answer.
type turnTaker struct {
	handle *session.Handle
	ends   *turnEnds
}

// runTurn runs the nth turn on a monitor. Some turns open windows, some are window messages, and
// now and then a window is closed.
func (u *turnTaker) runTurn(ctx context.Context, monitor wire.MonitorID, n int) error {
	words := strings.Repeat("many words ", 8)
	text := fmt.Sprintf("do number %d %s\n/say %s", n, words, words)
	var data wire.ClientPayload = wire.UserMessage{MonitorID: monitor, Content: text}
	switch n % 5 {
	case 0:
		data = wire.UserMessage{MonitorID: monitor, Content: text + "\n" + openWindowDirective(wire.WindowID(fmt.Sprintf("w%d", n%10)))}
	case 4:
		data = wire.WindowMessage{MonitorID: monitor, WindowID: "w0", Content: text}
	}
	id := wire.MessageID(fmt.Sprintf("%s-%d", monitor, n))
	if err := u.handle.Deliver(ctx, command("conn", id, data)); err != nil {
		return err
	}
	if err := u.ends.await(ctx, id); err != nil || n%10 != 9 {
		return err
	}
	_, err := u.handle.DeliverAndWait(ctx, command("conn", "close-"+id, wire.Emit{
		MonitorID: monitor, Actions: []wire.Action{wire.WindowClose{WindowID: "w5"}},
	}))
	return err
}
