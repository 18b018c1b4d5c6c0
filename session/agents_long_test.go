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
// of them.
func TestAThousandTurns(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	for name, open := range map[string]func(*testing.T) *site{"file": onFiles, "redis": onRedis} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			o := agentHub(t, s, hubConfig{session: session.Config{Budget: roomyBudget}, logger: silence()})
			create(t, o.Hub, "ses-1")
			r := enter(t, o.Hub, "ses-1")
			e := watchEnds(t, s, "ses-1")
			words := strings.Repeat("many words ", 8)
			lives := func(from, to int) {
				t.Helper()
				var wg sync.WaitGroup
				for m := range 4 {
					wg.Go(func() {
						monitor := wire.MonitorID(fmt.Sprintf("monitor-%d", m))
						for i := from; i < to; i++ {
							id := wire.MessageID(fmt.Sprintf("m%d-%d", m, i))
							w := wire.WindowID(fmt.Sprintf("w%d", i%10))
							text := fmt.Sprintf("do number %d %s\n/say %s", i, words, words)
							var data wire.ClientPayload = wire.UserMessage{MonitorID: monitor, Content: text}
							switch i % 5 {
							case 0:
								data = wire.UserMessage{MonitorID: monitor, Content: text + "\n" + opening(w)}
							case 4:
								data = wire.WindowMessage{MonitorID: monitor, WindowID: "w0", Content: text}
							}
							err := r.Deliver(t.Context(), says("conn", id, data))
							if err == nil {
								err = e.await(t.Context(), id)
							}
							if err == nil && i%10 == 9 {
								_, err = r.Ask(t.Context(), says("conn", "close-"+id, wire.Emit{
									MonitorID: monitor, Actions: []wire.Action{wire.WindowClose{WindowID: "w5"}},
								}))
							}
							if err != nil {
								t.Errorf("turn %d: %v", i, err)
								return
							}
						}
					})
				}
				wg.Wait()
			}
			look := func() (map[string]int, uint64) {
				t.Helper()
				settled(t, r)
				kept, err := s.Load(t.Context(), "ses-1")
				ok(t, err)
				return size(kept), heap()
			}
			lives(0, 125)
			half, before := look()
			lives(125, 250)
			whole, after := look()
			total := 0
			for name, n := range whole {
				total += n
				if name != "ledger" && n > half[name]*3/2+64<<10 { // ids are kept for a day, ten thousand at most
					t.Errorf("%s had %d bytes and has %d", name, half[name], n)
				}
			}
			if total > 8<<20 {
				t.Errorf("%d bytes are kept: %v", total, whole)
			}
			if after > before+16<<20 {
				t.Errorf("the heap had %d bytes and has %d", before, after)
			}
			t.Logf("kept %d bytes; heap %d, then %d", total, before, after)
			info, err := s.Session(t.Context(), "ses-1")
			ok(t, err)
			if info.Working {
				t.Error("there is work left")
			}
		})
	}
}
