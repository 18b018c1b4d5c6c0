package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/wire"
)

// F4, slow and lossy: both replicas of Redis are detached while hubs are at work, then the
// master fails and Sentinel takes 4.5 s to notice. The leases in the older copy have run
// out when a replica is promoted, so that every hub may claim every session, and the
// newest messages are known to their owners alone. What was accepted is there in the end:
// its row, the end of its turn, and what it did, once.
func TestF04Detached(t *testing.T) {
	t.Parallel()
	kinds := []*detachments{
		{fault: "F4d", what: "Sentinel failover after 4.5 s, replicas detached before"},
		{fault: "F4e", what: "the same with --short-lease", args: []string{"--short-lease"}},
	}
	const each = 2 // fleets with each lease
	rounds := plan.Rounds(each, 200) / each
	shards := len(kinds) * each
	if !plan.Full {
		shards, rounds = len(kinds), 1
	}
	began := time.Now()
	sharded(t, shards, func(t *testing.T, shard uint64) {
		t.Helper()
		kinds[shard%2].run(t, shard, rounds)
	}, func() {
		for _, k := range kinds {
			k.report(t, began)
		}
	})
}

// detachments is what several fleets with the same lease go through.
type detachments struct {
	fault, what string
	args        []string

	spans sample // how long a round took

	mu    sync.Mutex // guards the following
	acked int        // messages
	lost  int        // those of them without a row, an end or an effect
	twice int        // effects
}

func (k *detachments) report(t *testing.T, began time.Time) {
	t.Helper()
	measured(t, k.fault+": rounds", &k.spans)
	plan.Add(t, hubtest.Result{
		Fault: k.fault, What: k.what, Rounds: k.spans.count(), Violations: k.spans.violations, Seconds: time.Since(began).Seconds(),
		Figures: []hubtest.Figure{
			{Name: "accepted messages lost", Value: fmt.Sprintf("%d of %d", k.lost, k.acked), Wanted: "0"},
			{Name: "effects that came twice", Value: strconv.Itoa(k.twice), Wanted: "0"},
			{Name: "round p50", Value: shown(k.spans.quantile(0.5))},
		},
	})
}

// run is one fleet whose masters go one after the other.
func (k *detachments) run(t *testing.T, shard uint64, rounds int) {
	t.Helper()
	rng := plan.Rand(100 + shard)
	redis := redistest.SentinelOver(t, 2)
	f := hubtest.Start(t, hubtest.Options{Program: program, Hubs: 3, Store: redis.URL(), Args: k.args})
	h := plan.NewHistory(t, fmt.Sprintf("f04detached-%d", shard))
	// In the first session messages call a tool, and no turn takes another message in; in
	// the second one they are steered into the turn that runs.
	var tabs []*hubtest.Tab
	sessions := []wire.SessionID{f.Create(t), f.Create(t)}
	for s, session := range sessions {
		for _, hub := range f.Hubs {
			tabs = append(tabs, h.Open(t, hubtest.TabConfig{Name: fmt.Sprintf("%d-at-%s", s, hub.Name), URL: hub.URL, Session: session}))
		}
	}
	if err := tabs[0].Say(t.Context(), "open", "/nosteer\n/window w1 Notes | :", ""); err != nil {
		t.Fatal(err)
	}
	for round := range rounds {
		began := time.Now()
		k.round(t, redis, h, tabs, rng, round)
		k.spans.add(time.Since(began))
	}
	k.spans.blame(f.Finish(t, h, tabs, hubtest.Rules{Loss: true}))
	for s, session := range sessions {
		k.count(t, f, h, session, s == 0)
	}
}

// round lets the master fail after its replicas were detached, while messages come all
// the time.
func (k *detachments) round(t *testing.T, redis *redistest.Ensemble, h *hubtest.History, tabs []*hubtest.Tab, rng *rand.Rand, round int) {
	t.Helper()
	const (
		before = 800 * time.Millisecond  // from the first message until the replicas are detached
		within = 6500 * time.Millisecond // in which messages come
	)
	var wg sync.WaitGroup
	say := func(tab *hubtest.Tab, after time.Duration, id wire.MessageID, text string) {
		wg.Go(func() {
			dwell(t.Context(), after)
			err := tab.Say(t.Context(), id, text, "")
			if _, refused := errors.AsType[*client.RefusedError](err); err != nil && !refused {
				t.Errorf("say %s: %v", id, err)
			}
		})
	}
	for s := range 2 {
		stream := "/stream 90 60"
		if s == 0 {
			stream = "/nosteer\n" + stream
		}
		say(tabs[3*s+rng.IntN(3)], 0, wire.MessageID(fmt.Sprintf("stream-%d-%d", s, round)), stream)
		for i := range 12 {
			id := wire.MessageID(fmt.Sprintf("m-%d-%d-%d", s, round, i))
			text := "/say only " + string(id)
			if s == 0 {
				text = fmt.Sprintf("/nosteer\n/call window:update {\"windowId\":\"w1\",\"operation\":\"append\",\"content\":\"%s;\"}\n/say done", id)
			}
			at := time.Duration(rng.Int64N(int64(within)))
			if i < 8 { // most of them come just before the failure
				at = before - 100*time.Millisecond + time.Duration(rng.Int64N(int64(500*time.Millisecond)))
			}
			say(tabs[3*s+rng.IntN(3)], at, id, text)
		}
	}
	dwell(t.Context(), before)
	master, _, _ := redis.Master(t)
	redis.Detach(t, master)
	h.Fault("the replicas of server %d of redis are detached", master)
	dwell(t.Context(), 100*time.Millisecond+time.Duration(rng.IntN(400))*time.Millisecond)
	h.Fault("server %d of redis fails", master)
	next, _ := redis.FailAfter(t, master, 4500*time.Millisecond)
	h.Fault("server %d of redis was promoted", next)
	wg.Wait()
	redis.Return(t, master)
}

// count looks for every message that was accepted in what people can see in the end: the
// rows of the conversation and the window.
func (k *detachments) count(t *testing.T, f *hubtest.Fleet, h *hubtest.History, session wire.SessionID, calls bool) {
	t.Helper()
	said, ended := rowsBy(t, f, session)
	notes := ""
	if calls {
		notes = windowText(t, f, session)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range h.Entries() {
		if e.Kind != hubtest.KindAck || e.Session != session {
			continue
		}
		id := e.Message
		k.acked++
		effects := strings.Count(notes, string(id)+";")
		called := calls && strings.HasPrefix(string(id), "m-")
		switch {
		case !said[id]:
			k.lost++
			t.Errorf("%s in %s was accepted at %v and has no row", id, session, e.T)
		case calls && !ended[id]:
			k.lost++
			t.Errorf("%s in %s was accepted at %v and its turn has no end among the rows", id, session, e.T)
		case called && effects == 0:
			k.lost++
			t.Errorf("%s in %s was accepted at %v and had no effect", id, session, e.T)
		case called && effects > 1:
			k.twice++
			t.Errorf("%s in %s had its effect %d times", id, session, effects)
		}
	}
}

// rowsBy reads all rows of a conversation, and says which messages people see in it and
// which turns have ended in it.
func rowsBy(t *testing.T, f *hubtest.Fleet, session wire.SessionID) (said, ended map[wire.MessageID]bool) {
	t.Helper()
	said, ended = map[wire.MessageID]bool{}, map[wire.MessageID]bool{}
	before := ""
	for {
		var page struct {
			Rows []wire.UIRow `json:"rows"`
			More bool         `json:"more"`
		}
		url := f.Door.URL() + "/api/sessions/" + string(session) + "/rows?limit=200" + before
		if err := f.Call(t, http.MethodGet, url, "", &page); err != nil {
			t.Fatalf("rows of %s: %v", session, err)
		}
		for _, r := range page.Rows {
			said[r.MessageID] = said[r.MessageID] || r.Say == wire.SayUserFeedback
			ended[r.MessageID] = ended[r.MessageID] || r.Say == wire.SayAPIReqFinished
		}
		if !page.More || len(page.Rows) == 0 {
			return said, ended
		}
		before = fmt.Sprintf("&before=%d", page.Rows[0].ID)
	}
}

// windowText is all that the windows of a session show, as a snapshot has it.
func windowText(t *testing.T, f *hubtest.Fleet, session wire.SessionID) string {
	t.Helper()
	var state struct {
		Windows []struct {
			Content any `json:"content"`
		} `json:"windows"`
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := f.Call(t, http.MethodGet, f.Door.URL()+"/api/sessions/"+string(session)+"/snapshot", "", &state)
		if err == nil {
			return fmt.Sprint(state.Windows)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("snapshot of %s: %v", session, err)
		}
	}
}
