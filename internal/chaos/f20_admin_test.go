package chaos_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/wire"
)

// F20: admins interrupt, reset and delete sessions while they are used and owners are killed. Each
// action is sent up to three times, to different hubs. A message ends once, an action is executed
// once, and the audit log has it once.
func TestF20Admin(t *testing.T) {
	t.Parallel()
	began := time.Now()
	shards := plan.Rounds(2, 6)
	var rounds, acts, wrong sample
	runShards(t, shards, func(t *testing.T, shard uint64) {
		t.Helper()
		r := adminRun{rng: plan.Rand(shard), rounds: &rounds, acts: &acts, wrong: &wrong, wrote: map[string]string{}}
		r.run(t, shard, plan.Rounds(2, 30))
	}, func() {
		plan.Add(t, hubtest.Result{
			Fault: "F20", What: "admins interrupt, reset and delete in the middle of messages and take-overs", Rounds: rounds.count(),
			Violations: rounds.violations, Seconds: time.Since(began).Seconds(),
			Figures: []hubtest.Figure{
				{Name: "actions, each sent up to 3 times", Value: strconv.Itoa(acts.count())},
				{Name: "answered p50", Value: roundDuration(acts.quantile(0.5))},
				{Name: "answered, most", Value: roundDuration(acts.quantile(1))},
				{Name: "missing or duplicate audit records", Value: strconv.Itoa(wrong.count()), Wanted: "0"},
			},
		})
	})
}

// adminRun is one cluster and its admin actions.
type adminRun struct {
	rng    *rand.Rand
	rounds *sample
	acts   *sample // until every request is answered
	wrong  *sample // one for every missing or unexpected audit record
	f      *hubtest.Cluster
	h      *hubtest.History

	mu    sync.Mutex        // guards the following
	wrote map[string]string // action and target by action id
}

func (r *adminRun) run(t *testing.T, shard uint64, rounds int) {
	t.Helper()
	redis := redistest.Standalone(t)
	r.f = hubtest.Start(t, hubtest.Options{Program: program, Hubs: 3, Store: redis.URL(), Args: workArgs})
	for part := 0; rounds > 0 && !t.Failed(); part++ {
		n := min(rounds, killsPerEpisode)
		rounds -= n
		r.h = plan.NewHistory(t, fmt.Sprintf("f20-%d-%d", shard, part))
		d := newDesktop(t, r.f, r.h, "tab", 3, func(int) string { return r.f.Balancer.URL() })
		d.messagesMayVanish = true
		for i := range n {
			name := fmt.Sprintf("%d-%d", part, i)
			if i%4 == 1 {
				r.deleteSession(t, name)
			} else {
				r.actOnSession(t, d, name)
			}
			r.rounds.add(0)
		}
		r.rounds.addViolations(r.f.Finish(t, r.h, d.tabs, hubtest.Rules{}))
		for _, tab := range d.tabs {
			tab.Close()
		}
	}
	r.checkAudit(t)
}

// actOnSession interrupts or resets a session during a workload.
func (r *adminRun) actOnSession(t *testing.T, d *desktop, name string) {
	t.Helper()
	s := d.startWorkload(t, r.rng)
	waitFor(t.Context(), time.Duration(r.rng.IntN(600))*time.Millisecond)
	what := []string{"interrupt", "reset"}[r.rng.IntN(2)]
	order := action{
		id: what + "-" + name, action: "session." + what, target: d.id,
		method: http.MethodPost, path: "/api/admin/sessions/" + string(d.id) + "/" + what,
	}
	rng := plan.Rand(r.rng.Uint64()) // actions and kills are decided concurrently
	r.killDuring(t, d, func() { r.sendAction(t, rng, order, 1+rng.IntN(3)) })
	r.waitEnded(t, s)
	// A repetition has no effect: the work that runs then is not touched.
	d.messages++
	id := wire.MessageID(fmt.Sprintf("after-%d", d.messages))
	if err := d.tabs[0].Send(t.Context(), id, "/nosteer\n/stream 20 40", streamWords(20)); err != nil {
		t.Fatal(err)
	}
	r.sendAction(t, r.rng, order, 1)
	if outcome, err := d.tabs[0].AwaitEnd(t.Context(), id); err != nil || outcome != wire.OutcomeCompleted {
		t.Errorf("%s sent twice: got %s ended as %q, error %v, want %q", order.id, id, outcome, err, wire.OutcomeCompleted)
	}
}

// killDuring runs do, and sometimes kills the owner at about the same time.
func (r *adminRun) killDuring(t *testing.T, d *desktop, do func()) {
	t.Helper()
	victim := d.owner()
	if victim == nil || !victim.Alive() || r.rng.IntN(3) > 0 {
		do()
		return
	}
	wait := time.Duration(r.rng.IntN(100)) * time.Millisecond
	var wg sync.WaitGroup
	wg.Go(do)
	waitFor(t.Context(), wait)
	d.h.AddFault("kill %s", victim.ID())
	victim.Kill(t)
	if r.rng.IntN(2) == 0 {
		victim.Start(t)
	}
	wg.Wait()
	if !victim.Alive() {
		victim.Start(t)
	}
}

// waitEnded waits until all messages of a workload have ended, and answers open questions.
func (r *adminRun) waitEnded(t *testing.T, s *workload) {
	t.Helper()
	tab := s.d.tabs[0]
	err := tab.WaitUntil(t.Context(), func() bool {
		for _, id := range s.all {
			if _, asked := s.question(tab); !tab.HasEnded(id) && (id != s.ask || !asked) {
				return false
			}
		}
		return true
	})
	if err != nil {
		t.Fatalf("workload %d of %s has no end: %v", s.n, s.d.id, err)
	}
	if p, asked := s.question(tab); asked {
		// An admin action may remove the question first.
		_, _ = tab.Client.Send(t.Context(), wire.UserPromptResponse{PromptID: p.ID, SelectedValues: []string{"a"}})
		if _, err := tab.AwaitEnd(t.Context(), s.ask); err != nil {
			t.Fatalf("%s has no end: %v", s.ask, err)
		}
	}
	s.sent.Wait()
}

// deleteSession deletes a session during a workload.
func (r *adminRun) deleteSession(t *testing.T, name string) {
	t.Helper()
	// Its log is deleted in the end, so it has a history of its own.
	h := plan.NewHistory(t, "f20-"+strings.ReplaceAll(t.Name(), "/", "-")+"-deleted-"+name)
	d := newDesktop(t, r.f, h, "gone", 2, func(int) string { return r.f.Balancer.URL() })
	d.messagesMayVanish = true
	s := d.startWorkload(t, r.rng)
	waitFor(t.Context(), time.Duration(r.rng.IntN(600))*time.Millisecond)
	rng := plan.Rand(r.rng.Uint64())
	r.killDuring(t, d, func() {
		r.sendAction(t, rng, action{
			id: "delete-" + name, action: "session.delete", target: d.id,
			method: http.MethodDelete, path: "/api/admin/sessions/" + string(d.id) + "?reason=because",
		}, 1+rng.IntN(3))
	})
	for _, tab := range d.tabs {
		select {
		case <-tab.Done():
		case <-t.Context().Done():
			t.Fatalf("tab %s of a deleted session is still open", tab.Name)
		}
	}
	s.sent.Wait()
	for _, hub := range r.f.RunningHubs() {
		err := tryGet(t, r.f, hub.URL+"/api/sessions/"+string(d.id), nil)
		if status, ok := errors.AsType[*hubtest.StatusError](err); !ok || status.Status != http.StatusNotFound && status.Status != http.StatusGone {
			t.Errorf("deleted %s at hub %s: got error %v, want status %d or %d", d.id, hub.Name, err, http.StatusNotFound, http.StatusGone)
		}
	}
	type end struct {
		source string
		id     wire.MessageID
	}
	ends := map[end]int{}
	for _, e := range h.Entries() {
		if e.Kind == hubtest.KindEvent && e.Event.IsEnd() {
			k := end{e.Source, e.Event.Message}
			if ends[k]++; ends[k] > 1 {
				t.Errorf("%s saw %s end twice", e.Source, e.Event.Message)
			}
		}
	}
}

// action is an admin action.
type action struct {
	id, action   string
	target       wire.SessionID
	method, path string
}

// record is an entry of the audit log.
type record struct {
	Seq    uint64 `json:"seq"`
	ID     string `json:"id"`
	Time   int64  `json:"time"`
	Action string `json:"action"`
	Target string `json:"target"`
	Result string `json:"result"`
}

// sendAction sends an action several times at about the same time, each to another hub first, and
// repeats it until every request reports success.
func (r *adminRun) sendAction(t *testing.T, rng *rand.Rand, d action, times int) {
	t.Helper()
	r.mu.Lock()
	r.wrote[d.id] = d.action + " " + string(d.target)
	r.mu.Unlock()
	first := rng.IntN(len(r.f.Hubs))
	began := time.Now()
	got := make([]record, times)
	var wg sync.WaitGroup
	for i := range times {
		late := time.Duration(rng.IntN(60)) * time.Millisecond
		wg.Go(func() {
			waitFor(t.Context(), late)
			var err error
			for try := 0; ; try++ {
				hub := r.f.Hubs[(first+i+try)%len(r.f.Hubs)]
				if got[i], err = requestAction(t, hub.URL, d); err == nil {
					return
				}
				status, ok := errors.AsType[*hubtest.StatusError](err)
				underway := ok && status.Status == http.StatusAccepted
				if ok && status.Status < 500 && !underway || plan.Full && try == 300 || t.Context().Err() != nil {
					t.Errorf("%s at hub %s: %v", d.id, hub.Name, err)
					return
				}
				waitFor(t.Context(), 50*time.Millisecond)
			}
		})
	}
	wg.Wait()
	r.acts.add(time.Since(began))
	for _, rec := range got {
		if rec != got[0] {
			t.Errorf("%s is answered with %+v and %+v, want the same answer", d.id, got[0], rec)
		}
	}
}

// requestAction requests an action of one hub.
func requestAction(t *testing.T, base string, d action) (record, error) {
	t.Helper()
	body := `{"reason":"because"}`
	if d.method == http.MethodDelete {
		body = ""
	}
	req, err := http.NewRequestWithContext(t.Context(), d.method, base+d.path, strings.NewReader(body))
	if err != nil {
		return record{}, err
	}
	req.Header.Set("Idempotency-Key", d.id)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	client := &http.Client{Timeout: 30 * time.Second}
	defer client.CloseIdleConnections()
	answer, err := client.Do(req)
	if err != nil {
		return record{}, err
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		return record{}, err
	}
	if answer.StatusCode != http.StatusOK {
		return record{}, &hubtest.StatusError{Status: answer.StatusCode, Body: string(b)}
	}
	var rec record
	return rec, json.Unmarshal(b, &rec)
}

// checkAudit compares the audit log with the actions: each action has a start and an end, once, and
// the records form one chain.
func (r *adminRun) checkAudit(t *testing.T) {
	t.Helper()
	var chain struct {
		OK      bool   `json:"ok"`
		Records uint64 `json:"records"`
	}
	if mustGet(t, r.f, r.f.Balancer.URL()+"/api/admin/audit/verify", &chain); !chain.OK {
		r.wrong.add(0)
		t.Errorf("the chain is %+v, want an intact one", chain)
	}
	found := map[string][]string{}
	for after := ""; ; {
		var page struct {
			Records []record `json:"records"`
			Next    string   `json:"next"`
		}
		mustGet(t, r.f, r.f.Balancer.URL()+"/api/admin/audit?limit=50&after="+after, &page)
		for _, rec := range page.Records {
			found[rec.ID] = append(found[rec.ID], rec.Result) // the newest first
			if want := r.wrote[rec.ID]; want != rec.Action+" "+rec.Target {
				r.wrong.add(0)
				t.Errorf("the audit log has %s of %s as %q, want %q", rec.Action, rec.Target, rec.ID, want)
			}
		}
		if after = page.Next; after == "" {
			break
		}
	}
	for id := range r.wrote {
		if got := strings.Join(found[id], " "); got != "done begun" {
			r.wrong.add(0)
			t.Errorf("the audit log has these records of %s: %q, want a start and an end", id, got)
		}
	}
}
