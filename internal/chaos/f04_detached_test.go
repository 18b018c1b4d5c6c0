package chaos_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/wire"
)

// F4, slow and lossy: both Redis replicas are detached while hubs work, then the master fails and
// Sentinel takes 4.5 s to notice. In the older copy the leases have expired when a replica is
// promoted, so every hub may claim every session, and only the owners have the newest messages.
// Everything accepted is there in the end: its row, the end of its turn, and its effect, once.
//
// A conversation never lacks a call whose effect is visible. An agent's run reports the call before
// the tool starts, the mailbox keeps their order, a step is published after its commit, and the
// promoted copy of Redis ends with a whole step: where the effect is, the call is. An owner that
// rewrites the session writes the executed items of its mailbox, which are a prefix as well. A turn
// that the new owner restores from orders has its effects without the calls, and has ended.
func TestF04Detached(t *testing.T) {
	t.Parallel()
	kinds := []*detachResults{
		{fault: "F4d", what: "Sentinel failover after 4.5 s, replicas detached before"},
		{fault: "F4e", what: "the same with --short-lease", args: []string{"--short-lease"}},
	}
	const each = 2 // clusters with each lease
	rounds := plan.Rounds(each, 200) / each
	shards := len(kinds) * each
	if !plan.Full {
		shards, rounds = len(kinds), 1
	}
	began := time.Now()
	runShards(t, shards, func(t *testing.T, shard uint64) {
		t.Helper()
		kinds[shard%2].run(t, shard, rounds)
	}, func() {
		for _, k := range kinds {
			k.report(t, began)
		}
	})
}

// detachResults are the measurements of several clusters with the same lease.
type detachResults struct {
	fault, what string
	args        []string

	spans sample // duration of a round

	mu       sync.Mutex // guards the following
	acked    int        // messages
	lost     int        // those without a row, an end or an effect
	calls    int        // messages that call a tool
	twice    int        // those with more than one effect
	reported int        // those without an effect in a conversation that reports a loss
}

func (k *detachResults) report(t *testing.T, began time.Time) {
	t.Helper()
	requireSamples(t, k.fault+": rounds", &k.spans)
	plan.Add(t, hubtest.Result{
		Fault: k.fault, What: k.what, Rounds: k.spans.count(), Violations: k.spans.violations, Seconds: time.Since(began).Seconds(),
		Figures: []hubtest.Figure{
			{Name: "accepted messages lost", Value: fmt.Sprintf("%d of %d", k.lost, k.acked), Wanted: "0"},
			{Name: "tool calls", Value: strconv.Itoa(k.calls)},
			{Name: "duplicate effects", Value: strconv.Itoa(k.twice), Wanted: "0"},
			{Name: "calls lost and reported", Value: strconv.Itoa(k.reported), Wanted: "0"},
			{Name: "round p50", Value: roundDuration(k.spans.quantile(0.5))},
		},
	})
}

// detachRounds bounds the rounds with one cluster. The check of a history needs the whole log of its
// sessions, which the store trims after 10,000 events, or 40 rounds.
const detachRounds = 20

// run runs clusters one after the other.
func (k *detachResults) run(t *testing.T, shard uint64, rounds int) {
	t.Helper()
	rng := plan.Rand(100 + shard)
	for first := 0; first < rounds; first += detachRounds {
		t.Run(fmt.Sprintf("from round %d", first), func(t *testing.T) {
			k.runCluster(t, fmt.Sprintf("f04detached-%d-%d", shard, first), min(rounds-first, detachRounds), rng)
		})
	}
}

// runCluster runs one cluster whose masters fail one after the other.
func (k *detachResults) runCluster(t *testing.T, name string, rounds int, rng *rand.Rand) {
	t.Helper()
	// In the first session no turn takes further messages; in the second one messages are steered
	// into the running turn. In both they call a tool.
	rig := startEnsemble(t, name, 2, k.args...)
	for s := range rig.sessions {
		id, text := wire.MessageID(fmt.Sprintf("open-%d", s)), "/nosteer\n/window w1 Notes | :"
		if err := rig.tabs[3*s].Send(t.Context(), id, text, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := rig.tabs[3*s].AwaitEnd(t.Context(), id); err != nil {
			t.Fatalf("the window of session %d is not open: %v", s, err)
		}
	}
	for round := range rounds {
		began := time.Now()
		k.round(t, rig, rng, round)
		k.spans.add(time.Since(began))
	}
	k.spans.addViolations(rig.f.Finish(t, rig.h, rig.tabs, hubtest.Rules{StoreMayLose: true}))
	for s, session := range rig.sessions {
		k.count(t, rig, session, s == 1)
	}
}

// round makes the master fail after its replicas were detached, while messages are sent all the
// time.
func (k *detachResults) round(t *testing.T, rig *ensemble, rng *rand.Rand, round int) {
	t.Helper()
	const (
		before = 800 * time.Millisecond  // from the first message until the replicas are detached
		within = 6500 * time.Millisecond // during which messages are sent
	)
	var wg sync.WaitGroup
	say := func(tab *hubtest.Tab, after time.Duration, id wire.MessageID, text string) {
		wg.Go(func() {
			waitFor(t.Context(), after)
			err := tab.Send(t.Context(), id, text, "")
			if _, refused := errors.AsType[*client.RefusedError](err); err != nil && !refused {
				t.Errorf("send %s: %v", id, err)
			}
		})
	}
	for s := range 2 {
		stream := "/stream 90 60"
		if s == 0 {
			stream = "/nosteer\n" + stream
		}
		say(rig.tabs[3*s+rng.IntN(3)], 0, wire.MessageID(fmt.Sprintf("stream-%d-%d", s, round)), stream)
		for i := range 12 {
			id := wire.MessageID(fmt.Sprintf("m-%d-%d-%d", s, round, i))
			text := detachedCall(id, rng)
			switch {
			case s == 0:
				text = "/nosteer\n" + text
			case i%4 == 3:
				id = "only-" + id
				text = "/say " + string(id)
			}
			at := time.Duration(rng.Int64N(int64(within)))
			if i < 8 { // most of them are sent just before the failure
				at = before - 100*time.Millisecond + time.Duration(rng.Int64N(int64(500*time.Millisecond)))
			}
			say(rig.tabs[3*s+rng.IntN(3)], at, id, text)
		}
	}
	waitFor(t.Context(), before)
	master, _, _ := rig.redis.Master(t)
	rig.redis.Detach(t, master)
	rig.h.AddFault("the replicas of server %d of redis are detached", master)
	waitFor(t.Context(), 100*time.Millisecond+time.Duration(rng.IntN(400))*time.Millisecond)
	rig.h.AddFault("server %d of redis fails", master)
	next, _ := rig.redis.FailAfter(t, master, 4500*time.Millisecond)
	rig.h.AddFault("server %d of redis was promoted", next)
	wg.Wait()
	rig.redis.Return(t, master)
}

// detachedCall writes the id of a message into the window, before, after or between other
// directives.
func detachedCall(id wire.MessageID, rng *rand.Rand) string {
	write := fmt.Sprintf(`/call window:update {"windowId":"w1","operation":"append","content":" %s;"}`, id)
	return []string{
		write,
		write + "\n/say done",
		"/sleep 150ms\n" + write + "\n/say done",
		"/stream 10 40\n" + write + "\n/sleep 100ms",
	}[rng.IntN(4)]
}

// count checks every accepted message in the final rows of the conversation and in the window. Every
// message ends, in the steered session also as a part of the turn that it joined. Such a turn may be
// given up together with its messages, so there a call must have its effect only if its message ended as
// completed.
func (k *detachResults) count(t *testing.T, rig *ensemble, session wire.SessionID, steered bool) {
	t.Helper()
	rows, notes := rowsBy(t, rig.f, session), windowText(t, rig.f, session)
	outcomes := rig.outcomes(session)
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range rig.h.Entries() {
		if e.Kind != hubtest.KindAck || e.Session != session {
			continue
		}
		id := e.Message
		k.acked++
		effects := strings.Count(notes, " "+string(id)+";")
		called := strings.HasPrefix(string(id), "m-")
		if called {
			k.calls++
		}
		wanted := called && (!steered || outcomes[id] == wire.OutcomeCompleted)
		switch {
		case !rows.visible[id]:
			k.lost++
			t.Errorf("%s in %s was accepted at %v and has no row", id, session, e.T)
		case !steered && !rows.ended[id]:
			k.lost++
			t.Errorf("%s in %s was accepted at %v and its turn has no end among the rows", id, session, e.T)
		case !rows.ended[id] && outcomes[id] == "":
			k.lost++
			t.Errorf("%s in %s was accepted at %v and has no end, neither among the rows nor in an event", id, session, e.T)
		case wanted && effects == 0 && rows.lost:
			k.reported++
			t.Errorf("%s in %s was accepted at %v, ended as %q and had no effect; the conversation reports a loss", id, session, e.T, outcomes[id])
		case wanted && effects == 0:
			k.lost++
			t.Errorf("%s in %s was accepted at %v, ended as %q and had no effect", id, session, e.T, outcomes[id])
		case effects > 1:
			k.twice++
			t.Errorf("%s in %s ended as %q and had its effect %d times", id, session, outcomes[id], effects)
		}
	}
}

// conversation is what the rows of a session contain.
type conversation struct {
	visible, ended map[wire.MessageID]bool // visible messages, and turns that have ended
	lost           bool                    // a row reports a loss in a failover
}

// rowsBy reads all rows of a conversation.
func rowsBy(t *testing.T, f *hubtest.Cluster, session wire.SessionID) conversation {
	t.Helper()
	c := conversation{visible: map[wire.MessageID]bool{}, ended: map[wire.MessageID]bool{}}
	before := ""
	for {
		var page struct {
			Rows []wire.UIRow `json:"rows"`
			More bool         `json:"more"`
		}
		mustGet(t, f, f.Balancer.URL()+"/api/sessions/"+string(session)+"/rows?limit=200"+before, &page)
		for _, r := range page.Rows {
			c.visible[r.MessageID] = c.visible[r.MessageID] || r.Say == wire.SayUserFeedback
			c.ended[r.MessageID] = c.ended[r.MessageID] || r.Say == wire.SayAPIReqFinished
			c.lost = c.lost || r.Say == wire.SayError && strings.HasPrefix(r.Text, "The store failed over and lost")
		}
		if !page.More || len(page.Rows) == 0 {
			return c
		}
		before = fmt.Sprintf("&before=%d", page.Rows[0].ID)
	}
}

// windowText is the text of all windows of a session's snapshot.
func windowText(t *testing.T, f *hubtest.Cluster, session wire.SessionID) string {
	t.Helper()
	var state struct {
		Windows []struct {
			Content any `json:"content"`
		} `json:"windows"`
	}
	mustGet(t, f, f.Balancer.URL()+"/api/sessions/"+string(session)+"/snapshot", &state)
	return fmt.Sprint(state.Windows)
}
