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

// modelSilence is how long the model may send nothing. The tests of package sse check that the call
// is ended then and not much later; here a turn may wait for a slot, be started again by another
// owner and time out there again, and only has to end with the reason.
const modelSilence = 2 * time.Second

// modelFault is a fault of the model, and how the turn must end.
type modelFault struct {
	name, does string
	// reason is a part of the reason of the end; reply is the whole text of a turn that completes
	// all the same.
	reason, reply string
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

// F19: the model hangs, refuses, breaks off and answers nonsense, in all sessions of three hubs
// that share too few slots, and hubs are killed meanwhile. Every turn ends with the reason, queued
// messages start after it, and the model never has more open requests than slots.
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
			"--titles", "off", // the faults are meant for the turns
		},
	})
	m := &modelRun{f: f, h: h, model: model, sent: map[sentMessage]modelFault{}}
	var tabs []*hubtest.Tab
	sessions := plan.Rounds(4, 16)
	for i := range sessions {
		d := newDesktop(t, f, h, fmt.Sprintf("tab-%d", i), 1, func(int) string { return f.Balancer.URL() })
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
	violations := f.Finish(t, h, tabs, hubtest.Rules{MaxAgents: slots})
	m.checkEnds(t)
	// Every turn that was waited for is one of these.
	if judged := m.bad + m.good + m.cut; judged != int(m.turns.Load()) {
		t.Errorf("ends of turns in the log: got %d, want %d", judged, m.turns.Load())
	}
	plan.Add(t, hubtest.Result{
		Fault: "F19", What: "a model that hangs, refuses, breaks off and talks nonsense; owners are killed meanwhile", Rounds: int(m.turns.Load()),
		Violations: violations, Seconds: time.Since(began).Seconds(),
		Figures: []hubtest.Figure{
			{Name: "turns with a fault", Value: strconv.Itoa(m.bad)},
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

// modelRun is a set of sessions with a faulty model.
type modelRun struct {
	f     *hubtest.Cluster
	h     *hubtest.History
	model *countingModel
	all   []*desktop
	work  sync.WaitGroup
	turns atomic.Int64

	mu   sync.Mutex // guards the following
	sent map[sentMessage]modelFault

	bad, good, cut int
}

// runFaults runs turns with faults in a session, and a successful one after each.
func (m *modelRun) runFaults(t *testing.T, d *desktop, n int) {
	t.Helper()
	tab, rng := d.tabs[0], plan.Rand(uint64(n))
	if n%2 == 1 {
		if err := tab.Client.Post(t.Context(), wire.SetProvider{Provider: "openai"}); err != nil {
			t.Errorf("change the provider: %v", err)
			return
		}
	}
	for i, which := range rng.Perm(len(modelFaults))[:plan.Rounds(2, len(modelFaults))] {
		if !plan.Full && i == 0 {
			which = n % len(modelFaults) // so that every run has all of them
		}
		now := modelFaults[which]
		reply := "after " + now.name
		after := modelFault{does: "/sleep 100ms\n/say " + reply, reply: reply}
		if !m.runTurn(t, d, wire.MessageID(fmt.Sprintf("bad-%d", i)), now) ||
			!m.runTurn(t, d, wire.MessageID(fmt.Sprintf("good-%d", i)), after) {
			return
		}
	}
}

// runTurn sends a message and waits for the end.
func (m *modelRun) runTurn(t *testing.T, d *desktop, id wire.MessageID, x modelFault) bool {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Minute, fmt.Errorf("%s (%s) in %s does not end", id, x.name, d.id))
	defer cancel()
	m.mu.Lock()
	m.sent[sentMessage{d.id, id}] = x
	m.mu.Unlock()
	if err := d.tabs[0].Send(ctx, id, x.does, x.reply); err != nil {
		t.Errorf("send %s in %s: %v", id, d.id, err)
		return false
	}
	if _, err := d.tabs[0].AwaitEnd(ctx, id); err != nil {
		t.Error(err)
		return false
	}
	m.turns.Add(1)
	return true
}

// killHub kills a hub that has work, and restarts it.
func (m *modelRun) killHub(t *testing.T, rng *rand.Rand) {
	t.Helper()
	waitFor(t.Context(), time.Duration(plan.Rounds(500, 2000)+rng.IntN(1000))*time.Millisecond)
	victim := m.all[rng.IntN(len(m.all))].owner()
	if victim == nil || !victim.Alive() {
		victim = m.f.Hubs[rng.IntN(len(m.f.Hubs))]
	}
	m.h.AddFault("kill %s", victim.ID())
	victim.Kill(t)
	waitFor(t.Context(), time.Duration(rng.IntN(1000))*time.Millisecond)
	victim.Start(t)
}

// checkEnds compares the ends of turns with the faults.
func (m *modelRun) checkEnds(t *testing.T) {
	t.Helper()
	resumed := map[sentMessage]int{} // how often a new owner has started it again
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
		case e.Event.IsEnd():
			delete(open, e.Session)
			m.checkEnd(t, k, e.Event, resumed[k])
		}
	}
}

func (m *modelRun) checkEnd(t *testing.T, k sentMessage, e *hubtest.Event, resumed int) {
	t.Helper()
	x, known := m.sent[k]
	if !known {
		return
	}
	// A turn is started three times at most.
	if resumed >= 3 && e.Outcome == wire.OutcomeFailed && strings.Contains(e.Reason, "cut off") {
		m.cut++
		return
	}
	if x.reason == "" {
		m.good++
		// On a slow machine every model may be silent for too long.
		slow := !plan.Full && strings.Contains(e.Reason, "silent")
		if e.Outcome != wire.OutcomeCompleted && !slow {
			t.Errorf("%s in %s: got ended as %q (%s), want %q", k.message, k.session, e.Outcome, e.Reason, wire.OutcomeCompleted)
		}
		return
	}
	m.bad++
	if e.Outcome != wire.OutcomeFailed || !strings.Contains(e.Reason, x.reason) {
		t.Errorf("%s (%s) in %s ended as %q: %s; want something with %q", k.message, x.name, k.session, e.Outcome, e.Reason, x.reason)
	}
}

// countingModel is a model that records the number of open requests.
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

// slowEnd is how long a request may still be counted here after its hub has seen its end and
// released its slot.
const slowEnd = time.Second

// recordOpenRequests records the number of open requests, after ended ones have been removed.
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
			return // the test has ended
		}
	}
}

func (w *countingModel) mostOpenRequests() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.most
}
