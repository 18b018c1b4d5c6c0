package chaos_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/wire"
)

// modelSilence is how long the model may say nothing. That it is given up then and
// not much later is shown by the tests of package sse; here a turn may wait for
// a slot, be begun again by another owner and be silent there again, and only has to
// end, and to say why.
const modelSilence = 2 * time.Second

// modelFault is what a model does, and what people are told of it.
type modelFault struct {
	name, does string
	// reason is a part of what the end of the turn says; says is all that is said
	// in a turn that completes all the same.
	reason, says string
}

// modelFaults are all kinds.
var modelFaults = []modelFault{
	{name: "hang", does: "/hang", reason: "silent"},
	{name: "half and hang", does: "/say half\n/hang", reason: "silent"},
	{name: "rate", does: "/fail rate", reason: "too many requests"},
	{name: "overloaded", does: "/fail overloaded", reason: "Overloaded"},
	{name: "unreachable", does: "/fail transport", reason: "bad gateway"},
	{name: "wrong key", does: "/fail auth", reason: "invalid x-api-key"},
	{name: "too long", does: "/fail context_length", reason: "prompt is too long"},
	{name: "half and fail", does: "/say half\n/fail overloaded", reason: "Overloaded"},
	{name: "half and cut", does: "/say half\n/cut", reason: "read the stream"},
	{name: "half and end", does: "/say half\n/end", reason: "ended before the reply did"},
	{name: "half and garbage", does: "/say half\n/garbage", reason: "transport"},
	{name: "half and huge", does: "/say half\n/huge", reason: "too long"},
	{name: "garbage", does: "/garbage", reason: "transport"},
}

// F19: the model hangs, refuses, breaks off in the middle and talks nonsense, in all
// sessions of three hubs, which share too few slots, and hubs are killed meanwhile.
// Every turn ends and says why, what waits is begun after it, and the model is never
// asked more at once than it may be.
func TestF19Model(t *testing.T) {
	t.Parallel()
	began := time.Now()
	slots := plan.Rounds(3, 8)
	h := plan.NewHistory(t, "f19")
	model := newCountingModel(t, h, slots)
	f := hubtest.Start(t, hubtest.Options{
		Program: program, Hubs: 3, Store: redistest.Standalone(t).URL(),
		Args: []string{
			"--provider", "anthropic", "--model-silence", modelSilence.String(), "--max-agents", strconv.Itoa(slots), "--lease", "2s",
			"--anthropic-key", "fake-1", "--anthropic-url", model.url, "--openai-key", "fake-2", "--openai-url", model.url + "/v1",
		},
	})
	m := &modelRun{f: f, h: h, model: model, told: map[sentMessage]modelFault{}}
	var tabs []*hubtest.Tab
	sessions := plan.Rounds(4, 16)
	for i := range sessions {
		d := newDesktop(t, f, h, fmt.Sprintf("tab-%d", i), 1, func(int) string { return f.Door.URL() })
		m.all, tabs = append(m.all, d), append(tabs, d.tabs...)
		m.work.Go(func() { m.runFaults(t, d, i) })
	}
	t.Cleanup(m.work.Wait) // they log to the test
	kills := plan.Rounds(1, 8)
	rng := plan.Rand(1000)
	for range kills {
		m.killHub(t, rng)
	}
	m.work.Wait()
	violations := f.Finish(t, h, tabs, hubtest.Rules{Agents: slots})
	m.checkEnds(t)
	// Every turn that somebody has waited for is one of these.
	if judged := m.bad + m.good + m.cut; judged != int(m.turns.Load()) {
		t.Errorf("%d turns have ended and the log has the end of %d", m.turns.Load(), judged)
	}
	plan.Add(t, hubtest.Result{
		Fault: "F19", What: "a model that hangs, refuses, breaks off and talks nonsense; owners are killed meanwhile", Rounds: int(m.turns.Load()),
		Violations: violations, Seconds: time.Since(began).Seconds(),
		Figures: []hubtest.Figure{
			{Name: "turns in trouble", Value: strconv.Itoa(m.bad)},
			{Name: "turns after them", Value: strconv.Itoa(m.good)},
			{Name: "cut by a kill", Value: strconv.Itoa(m.cut)},
			{Name: "kills", Value: strconv.Itoa(kills)},
			{Name: "requests", Value: strconv.Itoa(model.requests())},
			{Name: "requests at once, most", Value: strconv.Itoa(model.mostOpenRequests()), Wanted: fmt.Sprintf("≤ %d", slots)},
		},
	})
}

// sentMessage is a message of a session.
type sentMessage struct {
	session wire.SessionID
	message wire.MessageID
}

// modelRun is some sessions whose model is in trouble.
type modelRun struct {
	f     *hubtest.Fleet
	h     *hubtest.History
	model *countingModel
	all   []*desktop
	work  sync.WaitGroup
	turns atomic.Int64

	mu   sync.Mutex // guards the following
	told map[sentMessage]modelFault

	bad, good, cut int
}

// runFaults has a session go through troubles, and says something good after each.
func (m *modelRun) runFaults(t *testing.T, d *desktop, n int) {
	t.Helper()
	tab, rng := d.tabs[0], plan.Rand(uint64(n))
	if n%2 == 1 {
		if err := tab.Client.Post(t.Context(), wire.SetProvider{Provider: "openai"}); err != nil {
			t.Errorf("change who answers: %v", err)
			return
		}
	}
	for i, which := range rng.Perm(len(modelFaults))[:plan.Rounds(2, len(modelFaults))] {
		if !plan.Full && i == 0 {
			which = n % len(modelFaults) // every run has some of the first
		}
		now := modelFaults[which]
		says := "after " + now.name
		after := modelFault{does: "/sleep 100ms\n/say " + says, says: says}
		if !m.runTurn(t, d, wire.MessageID(fmt.Sprintf("bad-%d", i)), now) ||
			!m.runTurn(t, d, wire.MessageID(fmt.Sprintf("good-%d", i)), after) {
			return
		}
	}
}

// runTurn says something and waits for the end.
func (m *modelRun) runTurn(t *testing.T, d *desktop, id wire.MessageID, x modelFault) bool {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Minute, fmt.Errorf("%s (%s) in %s does not end", id, x.name, d.id))
	defer cancel()
	m.mu.Lock()
	m.told[sentMessage{d.id, id}] = x
	m.mu.Unlock()
	if err := d.tabs[0].Say(ctx, id, x.does, x.says); err != nil {
		t.Errorf("say %s in %s: %v", id, d.id, err)
		return false
	}
	if _, err := d.tabs[0].Ended(ctx, id); err != nil {
		t.Error(err)
		return false
	}
	m.turns.Add(1)
	return true
}

// killHub kills a hub that has work, and starts it again.
func (m *modelRun) killHub(t *testing.T, rng *rand.Rand) {
	t.Helper()
	waitFor(t.Context(), time.Duration(plan.Rounds(500, 2000)+rng.IntN(1000))*time.Millisecond)
	victim := m.all[rng.IntN(len(m.all))].owner()
	if victim == nil || !victim.Alive() {
		victim = m.f.Hubs[rng.IntN(len(m.f.Hubs))]
	}
	m.h.Fault("kill %s", victim.ID())
	victim.Kill(t)
	waitFor(t.Context(), time.Duration(rng.IntN(1000))*time.Millisecond)
	victim.Start(t)
}

// checkEnds compares how turns ended with what the model did.
func (m *modelRun) checkEnds(t *testing.T) {
	t.Helper()
	resumed := map[sentMessage]int{} // how often a new owner has begun it again
	open := map[wire.SessionID]wire.MessageID{}
	for _, e := range m.h.Entries() {
		if e.Kind != hubtest.KindLog {
			continue
		}
		k := sentMessage{e.Session, e.Event.Message}
		switch {
		case e.Event.Type == "MESSAGE_ACCEPTED":
			open[e.Session] = e.Event.Message
		case e.Event.Type == "OWNER_CHANGED" && open[e.Session] != "":
			resumed[sentMessage{e.Session, open[e.Session]}]++
		case e.Event.Ends():
			delete(open, e.Session)
			m.checkEnd(t, k, e.Event, resumed[k])
		}
	}
}

func (m *modelRun) checkEnd(t *testing.T, k sentMessage, e *hubtest.Event, resumed int) {
	t.Helper()
	x, known := m.told[k]
	if !known {
		return
	}
	// A turn is not begun for ever: the third owner that is killed under it is the
	// last.
	if resumed >= 3 && e.Outcome == wire.OutcomeFailed && strings.Contains(e.Reason, "cut off") {
		m.cut++
		return
	}
	if x.reason == "" {
		m.good++
		// A machine that is slow enough makes a model that is silent.
		slow := !plan.Full && strings.Contains(e.Reason, "silent")
		if e.Outcome != wire.OutcomeCompleted && !slow {
			t.Errorf("%s in %s ended as %q: %s", k.message, k.session, e.Outcome, e.Reason)
		}
		return
	}
	m.bad++
	if e.Outcome != wire.OutcomeFailed || !strings.Contains(e.Reason, x.reason) {
		t.Errorf("%s (%s) in %s ended as %q: %s; want something with %q", k.message, x.name, k.session, e.Outcome, e.Reason, x.reason)
	}
}

// countingModel is a model of which it is known how many requests are open at once.
type countingModel struct {
	*fakeModel
	h     *hubtest.History
	slots int
	most  int // guarded by the model
}

func newCountingModel(t *testing.T, h *hubtest.History, slots int) *countingModel {
	t.Helper()
	w := &countingModel{fakeModel: newFakeModel(t), h: h, slots: slots}
	w.before = w.recordOpenRequests
	return w
}

// slowEnd is how long a request may still be counted here after its hub has seen
// its end and given its slot to another.
const slowEnd = time.Second

// recordOpenRequests writes down how many requests are open, when those that have ended are gone.
func (w *countingModel) recordOpenRequests(ctx context.Context) {
	late := time.After(slowEnd)
	for waits := true; ; {
		w.mu.Lock()
		n, left := len(w.calls), w.callEnded
		if n <= w.slots || !waits {
			w.most = max(w.most, n)
			w.mu.Unlock()
			w.h.Add(hubtest.Entry{Kind: hubtest.KindAgents, Count: n})
			return
		}
		w.mu.Unlock()
		select {
		case <-left:
		case <-late:
			waits = false
		case <-ctx.Done():
			return // nobody waits for it any more
		}
	}
}

func (w *countingModel) mostOpenRequests() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.most
}
