package chaos_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/wire"
)

const (
	// exitLimit bounds the time from SIGTERM to the end of a hub.
	exitLimit = 30 * time.Second
	// idleLimit bounds the time without an owner for an idle session.
	idleLimit = time.Second
)

// F18: hubs are stopped one after the other, while all their sessions work, and each is replaced by
// a new process. Nothing is lost or executed twice, turns continue elsewhere, also those that take
// longer than the grace period period, and every hub exits without an error and in time.
func TestF18Drain(t *testing.T) {
	t.Parallel()
	began := time.Now()
	grace := "20s"
	if !plan.Full {
		grace = "5m" // a hub ends with an error after it, however slow the machine is
	}
	f := hubtest.Start(t, hubtest.Options{
		Program: program, Hubs: 3, Store: redistest.Standalone(t).URL(), Args: []string{"--shutdown-grace", grace},
	})
	r := &rollingRun{f: f, h: plan.NewHistory(t, "f18"), stop: make(chan struct{}), lengthy: map[wire.SessionID]bool{}}
	t.Cleanup(r.work.Wait) // they log to the test
	for i := range plan.Rounds(12, 300) {
		r.startBusySession(t, i)
	}
	for i := range plan.Rounds(2, 30) {
		tabs := 1
		if i%2 == 0 {
			tabs += len(f.Hubs)
		}
		r.idle = append(r.idle, newDesktop(t, f, r.h, fmt.Sprintf("idle-%d", i), tabs, func(tab int) string {
			if tab == 0 {
				return f.Balancer.URL()
			}
			return f.Hubs[tab-1].URL
		}))
	}
	for _, d := range r.idle {
		r.tabs = append(r.tabs, d.tabs...)
	}
	rounds := plan.Rounds(1, 2)
	for range rounds {
		for _, hub := range f.Hubs {
			r.replace(t, hub, program)
		}
	}
	close(r.stop)
	r.work.Wait()
	violations := f.Finish(t, r.h, r.tabs, hubtest.Rules{})
	turns, cut := int(r.turns.Load()), int(r.cut.Load())
	// Of all turns, also of those that a hub has no time to finish: they continue elsewhere, and
	// only the model call is repeated.
	if plan.Full && cut*100 > turns {
		t.Errorf("%d of %d turns were interrupted, want at most 1 %%", cut, turns)
	}
	again, parked := r.countRepeatedTurns()
	if brief := turns - int(r.long.Load()); plan.Full && again*100 > brief {
		t.Errorf("%d of %d turns within the grace period were answered again, want at most 1 %%", again, brief)
	}
	idled := requireQuantile(t, "sessions without work have no owner", &r.idled, 1, idleLimit)
	requireSamples(t, "busy sessions go on", &r.busied)
	plan.Add(t, hubtest.Result{
		Fault: "F18", What: "SIGTERM over 3 hubs, one after the other, under load", Rounds: rounds * len(f.Hubs), Violations: violations,
		Seconds: time.Since(began).Seconds(),
		Figures: []hubtest.Figure{
			{Name: "busy sessions", Value: strconv.Itoa(plan.Rounds(12, 300))},
			{Name: "turns", Value: strconv.Itoa(turns)},
			{Name: "interrupted", Value: strconv.Itoa(cut), Wanted: "≤ 1 %"},
			{Name: "answered again from the start", Value: strconv.Itoa(again), Wanted: "≤ 1 %"},
			{Name: "longer than the grace period", Value: strconv.Itoa(int(r.long.Load()))},
			{Name: "answered again of these", Value: strconv.Itoa(parked)},
			{Name: "exit, most", Value: roundDuration(r.exits.quantile(1)), Wanted: "≤ 30s"},
			{Name: "handed over", Value: strconv.Itoa(r.idled.count())},
			{Name: "without an owner p50", Value: roundDuration(r.idled.quantile(0.5))},
			{Name: "without an owner, most", Value: roundDuration(idled), Wanted: "≤ 1s"},
			{Name: "until the only tab reconnected p50", Value: roundDuration(r.returned.quantile(0.5))},
			{Name: "until the only tab reconnected, most", Value: roundDuration(r.returned.quantile(1))},
			{Name: "busy session continues p50", Value: roundDuration(r.busied.quantile(0.5))},
			{Name: "busy session continues p99", Value: roundDuration(r.busied.quantile(0.99))},
		},
	})
}

// rollingRun is a cluster whose hubs are replaced under load.
type rollingRun struct {
	f    *hubtest.Cluster
	h    *hubtest.History
	tabs []*hubtest.Tab
	// laden are the sessions that always have a turn, idle those without one.
	laden, idle []*desktop
	// lengthy are the laden sessions whose turns take longer than the grace period period.
	lengthy map[wire.SessionID]bool

	stop chan struct{} // closed when no further turns start
	work sync.WaitGroup

	turns, cut, long atomic.Int64
	exits, busied    sample
	// idled is the time without an owner of a session with tabs at all hubs. returned is that of a
	// session with a single tab at the stopped hub: another hub claims it when its tab has
	// reconnected along with all other tabs, which depends on the machine.
	idled, returned sample
}

// streamRate is the number of words per second of a busy session.
const streamRate = 3

// startBusySession starts a session that streams for 1 to 10 seconds, repeatedly. In a full run
// some turns take longer than the grace period period.
func (r *rollingRun) startBusySession(t *testing.T, n int) {
	t.Helper()
	d := newDesktop(t, r.f, r.h, fmt.Sprintf("busy-%d", n), 1, func(int) string { return r.f.Balancer.URL() })
	r.laden, r.tabs = append(r.laden, d), append(r.tabs, d.tabs...)
	lengthy := plan.Full && n%20 == 0
	if lengthy {
		r.lengthy[d.id] = true
	}
	rng := plan.Rand(uint64(n))
	r.work.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-r.stop:
				return
			default:
			}
			if !r.runTurn(t, d, rng, wire.MessageID(fmt.Sprintf("m-%d", i)), lengthy) {
				return
			}
		}
	})
}

// runTurn runs one turn; false means that it failed.
func (r *rollingRun) runTurn(t *testing.T, d *desktop, rng *rand.Rand, id wire.MessageID, lengthy bool) bool {
	t.Helper()
	seconds := 1 + rng.IntN(plan.Rounds(3, 10))
	if lengthy {
		seconds = 30
		r.long.Add(1)
	}
	words, tab := streamWords(seconds*streamRate), d.tabs[0]
	if err := tab.Send(t.Context(), id, fmt.Sprintf("/nosteer\n/stream %d %d", seconds*streamRate, streamRate), words); err != nil {
		t.Errorf("send %s in %s: %v", id, d.id, err)
		return false
	}
	ctx := t.Context()
	if plan.Full {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, 5*time.Minute, fmt.Errorf("%s in %s does not end", id, d.id))
		defer cancel()
	}
	outcome, err := tab.AwaitEnd(ctx, id)
	if err != nil {
		t.Error(err)
		return false
	}
	r.turns.Add(1)
	if outcome != wire.OutcomeCompleted {
		r.cut.Add(1)
		t.Logf("%s in %s ended as %q", id, d.id, outcome)
	}
	return true
}

// replace stops a hub as a deployment does, and starts a program in its place.
func (r *rollingRun) replace(t *testing.T, hub *hubtest.Hub, program string) {
	t.Helper()
	waitFor(t.Context(), time.Duration(plan.Rounds(200, 3000))*time.Millisecond)
	held := map[wire.SessionID]uint64{} // the epochs of its sessions
	for _, all := range [][]*desktop{r.laden, r.idle} {
		for _, d := range all {
			if d.owner() == hub {
				held[d.id] = d.epoch()
			}
		}
	}
	from, when := r.h.AddFault("stop %s", hub.ID()), time.Now()
	hub.Terminate(t)
	code := hub.Wait(t)
	took := time.Since(when)
	r.exits.add(took)
	if code != 0 {
		t.Errorf("exit code of hub %s: got %d, want 0\n%s", hub.ID(), code, hub.Log())
	}
	if plan.Full && took > exitLimit {
		t.Errorf("hub %s took %v to end, want at most %v", hub.ID(), took, exitLimit)
	}
	for _, all := range [][]*desktop{r.laden, r.idle} {
		for _, d := range all {
			if epoch, ok := held[d.id]; ok {
				d.waitEpoch(t, d.tabs[0], epoch)
			}
		}
	}
	r.measure(from, held)
	hub.SetProgram(program)
	hub.Start(t)
	r.h.AddFault("%s is there", hub.ID())
}

// countRepeatedTurns counts the turns of which output was withdrawn, because the next owner has
// called the model again. A stopping hub lets turns run for some 11 s of a grace period of 20 s, in
// which brief turns end; lengthy ones do not.
func (r *rollingRun) countRepeatedTurns() (brief, lengthy int) {
	back := map[sentMessage]bool{}
	for _, e := range r.h.Entries() {
		if e.Kind == hubtest.KindLog && e.Event.Type == "AGENT_RESPONSE" && e.Event.Text == "" && e.Event.Outcome == "" {
			back[sentMessage{e.Session, e.Event.Message}] = true
		}
	}
	for k := range back {
		if r.lengthy[k.session] {
			lengthy++
		} else {
			brief++
		}
	}
	return brief, lengthy
}

// measure determines when the sessions had a new owner.
func (r *rollingRun) measure(from time.Duration, held map[wire.SessionID]uint64) {
	first := map[wire.SessionID]time.Duration{}
	for _, e := range r.h.Entries() {
		epoch, ok := held[e.Session]
		if !ok || e.T <= from || e.Kind != hubtest.KindEvent && e.Kind != hubtest.KindSnapshot || e.Event.At.Epoch <= epoch {
			continue
		}
		if _, seen := first[e.Session]; !seen {
			first[e.Session] = e.T - from
		}
	}
	for _, d := range r.laden {
		if span, ok := first[d.id]; ok {
			r.busied.add(span)
		}
	}
	for _, d := range r.idle {
		span, ok := first[d.id]
		switch {
		case !ok:
		case len(d.tabs) > 1:
			r.idled.add(span)
		default:
			r.returned.add(span)
		}
	}
}
