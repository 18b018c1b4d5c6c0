package agentpool_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/redisstore"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// loadTest runs many agents of many sessions on several replicas that share a store.
type loadTest struct {
	limits agentpool.Limits
	// full is closed when the maximum number of agents runs. Until then all wait for each
	// other, so that the test reaches the limit deterministically.
	full chan struct{}
	once sync.Once

	mu      sync.Mutex // guards the following
	now     map[string]int
	most    map[string]int
	ended   map[providers.Outcome]int
	unended int
}

// countRunning counts a running agent, and fails the test if there are too many.
func (c *loadTest) countRunning(t *testing.T, session, user string) func() {
	t.Helper()
	bounds := map[string]int{"all": c.limits.Agents, session: c.limits.PerSession, user: c.limits.PerUser}
	c.mu.Lock()
	defer c.mu.Unlock()
	for who, limit := range bounds {
		c.now[who]++
		c.most[who] = max(c.most[who], c.now[who])
		if c.now[who] > limit {
			t.Errorf("%d agents of %s run, want at most %d", c.now[who], who, limit)
		}
	}
	if c.now["all"] == c.limits.Agents {
		c.once.Do(func() { close(c.full) })
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for who := range bounds {
			c.now[who]--
		}
	}
}

// testSession is one session of the load test, which receives the reports of its session runner.
type testSession struct {
	*loadTest
	id, user string
	runner   *agentpool.SessionRunner
	waiting  map[string]chan struct{} // by run id; closed when the run has ended
	guard    sync.Mutex
}

func (s *testSession) Report(ctx context.Context, r agentpool.Report) error {
	if end, is := r.(agentpool.Ended); is {
		s.mu.Lock()
		s.ended[end.Outcome]++
		s.mu.Unlock()
		s.guard.Lock()
		defer s.guard.Unlock()
		close(s.waiting[end.Run])
	}
	return ctx.Err()
}

// startRuns starts runs one after the other and ends each in a randomly chosen way.
func (s *testSession) startRuns(runs int, seed uint64) {
	dice := rand.New(rand.NewPCG(seed, 1))
	for i := range runs {
		r := mainRun(fmt.Sprint(s.id, "-", seed, "-", i))
		r.Agent = fmt.Sprint("agent-", seed)
		r.Lasting = dice.IntN(2) == 0
		r.Fork = dice.IntN(4) == 0
		r.Prompt = []string{"say", "say", "tool", "fail", "hang", "exit"}[dice.IntN(6)]
		if dice.IntN(4) == 0 {
			if r.Slot = s.runner.TryReserve(); r.Slot != nil && dice.IntN(2) == 0 {
				s.runner.Cancel(r.Slot)
				r.Slot = nil
			}
		}
		end := make(chan struct{})
		s.guard.Lock()
		s.waiting[r.ID] = end
		s.guard.Unlock()
		s.runner.Start(r)
		if dice.IntN(4) == 0 {
			s.runner.Steer(agentpool.Steering{Run: r.ID, Message: "also"})
		}
		switch how := dice.IntN(8); {
		case how == 0:
			s.runner.Dispose(r.Agent) // it does not report its end
			s.mu.Lock()
			s.unended++
			s.mu.Unlock()
		case how < 3 || r.Prompt == "hang":
			s.runner.Interrupt(r.ID, "enough")
			<-end
		default:
			<-end
		}
	}
}

// randomTurn is the turn of an agent: it ends in a random way.
func randomTurn(p *turn) (providers.Outcome, error) {
	switch p.message.Text {
	case "tool":
		p.emitText("a")
		p.call("tool")
		p.emitText("b")
	case "fail":
		return providers.Failed, errFake
	case "hang":
		return hang(p)
	case "exit":
		p.s.exit()
		return "", nil
	}
	return providers.Completed, nil
}

// run executes that many agents on replicas, which use the stores in turn.
func (c *loadTest) run(t *testing.T, stores []agentpool.Semaphores, runs int) {
	t.Helper()
	const sessions, streams = 8, 3
	c.full = make(chan struct{})
	c.now, c.most, c.ended = map[string]int{}, map[string]int{}, map[providers.Outcome]int{}
	var wg sync.WaitGroup
	var closed atomic.Int32
	for i := range sessions {
		s := &testSession{loadTest: c, id: fmt.Sprint("ses-", i), user: fmt.Sprint("user-", i%3), waiting: map[string]chan struct{}{}}
		l := newLimiter(t, stores[i%len(stores)], c.limits)
		p := &fakeProvider{caps: providers.Caps{Steer: true, Process: i%4 == 3}}
		p.runTurn = func(turn *turn) (providers.Outcome, error) {
			defer c.countRunning(t, s.id, s.user)()
			select {
			case <-c.full:
			case <-turn.ctx.Done():
			}
			return randomTurn(turn)
		}
		pool := agentpool.NewRunner(agentpool.Config{Limiter: l, Tools: &fakeTools{tool: okTool}, Providers: backends{"fake": p}})
		s.runner = pool.Session(context.Background(), agentpool.SessionRef{Session: wire.SessionID(s.id), User: s.user, Sink: s})
		var streamed sync.WaitGroup
		for j := range streams {
			streamed.Go(func() { s.startRuns(runs/sessions/streams+1, uint64(i*streams+j)) })
		}
		wg.Go(func() {
			streamed.Wait()
			pool.Close()
			closed.Add(1)
		})
	}
	wg.Wait()
	total := c.unended
	for _, n := range c.ended {
		total += n
	}
	if total < runs || closed.Load() != sessions {
		t.Errorf("%d agents ran, want %d", total, runs)
	}
	for _, outcome := range []providers.Outcome{providers.Completed, providers.Failed, providers.Interrupted} {
		if c.ended[outcome] == 0 {
			t.Errorf("no agent ended as %s, want at least one", outcome)
		}
	}
	if c.most["all"] != c.limits.Agents {
		t.Errorf("at most %d agents ran at once, want the limit of %d to be reached", c.most["all"], c.limits.Agents)
	}
	for who, n := range c.now {
		if n != 0 {
			t.Errorf("%d agents of %s have not ended, want 0", n, who)
		}
	}
	for _, name := range []string{"agents", "agents:session:ses-0", "agents:session:ses-3", "agents:user:user-0"} {
		if u, err := stores[0].Slots(t.Context(), name); err != nil || u != (store.SlotUse{}) {
			t.Errorf("semaphore %s is %+v, error %v; want no holder and no waiter", name, u, err)
		}
	}
}

func okTool(context.Context, tools.Caller, providers.ToolCall) providers.ToolResult {
	return providers.ToolResult{Text: "done"}
}

// TestLimitsWithTenThousandRuns verifies the limits with ten thousand agents that end in every possible
// way.
func TestLimitsWithTenThousandRuns(t *testing.T) {
	t.Parallel()
	c := &loadTest{limits: agentpool.Limits{Agents: 5, PerSession: 2, PerUser: 4}}
	c.run(t, []agentpool.Semaphores{openStore(t)}, 10_000)
}

// TestLimitsOnRedis does the same with Redis, for replicas with a connection each.
func TestLimitsOnRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Standalone(t)
	var stores []agentpool.Semaphores
	for range 3 {
		s, err := redisstore.Open(t.Context(), server.Client(t), redisstore.Config{})
		ok(t, err)
		t.Cleanup(func() { ok(t, s.Close()) })
		stores = append(stores, s.Semaphores)
	}
	c := &loadTest{limits: agentpool.Limits{Agents: 5, PerSession: 2, PerUser: 4}}
	c.run(t, stores, 500)
}
