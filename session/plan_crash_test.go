package session_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// milestones are the states of a plan, by what is in the log when it gets there.
func milestones() map[string]func(wire.ServerPayload) bool {
	layer := func(l wire.Layer) func(wire.ServerPayload) bool {
		return func(p wire.ServerPayload) bool { s, is := p.(wire.LayerStart); return is && s.Layer == l }
	}
	return map[string]func(wire.ServerPayload) bool{
		"cognitive": layer(wire.LayerCognitive),
		"planning":  layer(wire.LayerPlanning),
		"review":    func(p wire.ServerPayload) bool { _, is := p.(wire.HITLPlanReview); return is },
		"approved":  func(p wire.ServerPayload) bool { _, is := p.(wire.PlanApproved); return is },
		"started":   func(p wire.ServerPayload) bool { s, is := p.(wire.TodoStarted); return is && s.TodoID == "two" },
		"completed": func(p wire.ServerPayload) bool { s, is := p.(wire.TodoCompleted); return is && s.TodoID == "one" },
		"failed":    func(p wire.ServerPayload) bool { _, is := p.(wire.TodoFailed); return is },
		"input":     func(p wire.ServerPayload) bool { _, is := p.(wire.HITLInputRequest); return is },
		"approval":  func(p wire.ServerPayload) bool { _, is := p.(wire.HITLApprovalRequest); return is },
		"response":  layer(wire.LayerResponse),
		"complete":  func(p wire.ServerPayload) bool { _, is := p.(wire.PlanComplete); return is },
	}
}

// A hub crashes in whatever state a plan is in. The next one goes on with it, and no
// todo that was done is done again.
func TestPlanOutlivesACrash(t *testing.T) {
	t.Parallel()
	for state, there := range milestones() {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			cfg := planConfig(hubConfig{})
			o := agentHub(t, onFiles(t), cfg)
			d := o.newDesktop(t, "ses-1")
			d.begin("m1", allOfIt)
			d.drive(there)
			o = o.again(t, cfg)
			d = o.enter(t, "ses-1")
			d.drive(isEnd)
			d.wellDone()
		})
	}
}

// The same in every state of one plan, on Redis.
func TestPlanOutlivesManyCrashes(t *testing.T) {
	t.Parallel()
	cfg := planConfig(hubConfig{})
	o := agentHub(t, onRedis(t), cfg)
	d := o.newDesktop(t, "ses-1")
	d.begin("m1", allOfIt)
	for _, state := range []string{"planning", "review", "started", "failed", "approval", "response"} {
		d.drive(milestones()[state])
		o = o.again(t, cfg)
		d = o.enter(t, "ses-1")
	}
	d.drive(isEnd)
	d.wellDone()
}

// A todo whose tool may or may not have run is not run again unasked.
func TestPlanAsksBeforeItRunsATodoAgain(t *testing.T) {
	t.Parallel()
	for _, yes := range []bool{true, false} {
		t.Run(strconv.FormatBool(yes), func(t *testing.T) {
			t.Parallel()
			cfg := planConfig(hubConfig{})
			o := agentHub(t, onFiles(t), cfg)
			d := o.newDesktop(t, "ses-1")
			d.appWindow(first)
			d.send("", wire.AppProtocolReady{WindowID: "app"})
			d.approve(d.plan(`{"id":"one","tool":"app","task":` + strconv.Quote(command+"\n/say done") + `}`))
			q := when(t, d.diary, any1[wire.AppProtocolRequest])
			o = o.again(t, cfg)
			d = o.enter(t, "ses-1")
			again := when(t, d.diary, any1[wire.HITLApprovalRequest])
			if again.TodoID != "one" || !strings.Contains(again.Reason, "window:app_command may or may not have run") {
				t.Errorf("it asks %+v", again)
			}
			action := wire.TodoSkip
			if yes {
				action = wire.TodoApprove
			}
			d.send("a1", wire.HITLApprovalResponse{RequestID: again.RequestID, Action: action})
			if yes {
				q = when(t, d.diary, func(r wire.AppProtocolRequest) bool { return r.RequestID != q.RequestID })
				d.answer("conn", q, wire.AppCommandResponse{Result: json.RawMessage(`"moved"`)})
			}
			d.ends("m1")
			started := len(find[wire.TodoStarted](d.all()))
			end := when(t, d.diary, any1[wire.PlanComplete])
			if yes && (started != 2 || end.Status != "success") || !yes && (started != 1 || end.Status != "partial") {
				t.Errorf("it began %d times and ended as %s", started, end.Status)
			}
		})
	}
}

// A hub is emptied in the middle of a plan: another one goes on with it. Meanwhile
// owner and follower show the same.
func TestPlanIsHandedOver(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			cfg := planConfig(hubConfig{})
			a := agentHub(t, s, cfg)
			cfg.replica = "b"
			b := agentHub(t, s, cfg)
			d := a.newDesktop(t, "ses-1")
			far := b.enter(t, "ses-1")
			seen := newSights()
			stop := seen.watch(t, map[string]*session.Handle{"owner": d.handle, "follower": far.handle})
			d.begin("m1", allOfIt)
			far.drive(milestones()["completed"])
			a.Drain(t.Context())
			far.drive(isEnd)
			stop()
			far.wellDone()
			if now := far.snapshot(); now.Owner != "b" || now.Plan.Status != wire.PlanCompleted {
				t.Errorf("the owner is %s, the plan %+v", now.Owner, now.Plan)
			}
			seen.compare(t, history(t, s))
		})
	}
}

// sights are the states that were seen, by position and by who saw them.
type sights struct {
	mu sync.Mutex
	by map[wire.Position]map[string]string
}

func newSights() *sights { return &sights{by: map[wire.Position]map[string]string{}} }

// watch looks at a session through rooms until stop is called.
func (s *sights) watch(t *testing.T, handles map[string]*session.Handle) (stop func()) {
	t.Helper()
	over := make(chan struct{})
	var wg sync.WaitGroup
	for who, r := range handles {
		wg.Go(func() {
			for {
				if now, err := r.Snapshot(t.Context(), nil); err == nil { // else it is handed over
					s.see(who, now)
				}
				select {
				case <-over:
					return
				case <-time.After(2 * time.Millisecond):
				}
			}
		})
	}
	return func() {
		close(over)
		wg.Wait()
	}
}

func (s *sights) see(who string, now wire.SessionState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by[now.LastMessageID] == nil {
		s.by[now.LastMessageID] = map[string]string{}
	}
	s.by[now.LastMessageID][who] = desktop.HashOf(now)
}

// compare checks them against who reads the log from its beginning.
func (s *sights) compare(t *testing.T, log []wire.Event) {
	t.Helper()
	mirror, compared := desktop.New("ses-1"), 0
	for _, e := range log {
		mirror.Apply(e)
		for who, hash := range s.by[e.At] {
			if compared++; hash != mirror.Hash() {
				t.Errorf("at %v the %s sees something else", e.At, who)
			}
		}
	}
	if compared < 5 {
		t.Errorf("only %d states were compared", compared)
	}
}

// Redis forgets everything while a plan waits for its review, or works.
func TestRedisForgetsAPlan(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"review", "started"} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			server := redistest.Standalone(t)
			s := onServer(t, server)
			cfg := planConfig(hubConfig{logger: silence()})
			o := agentHub(t, s, cfg)
			d := o.newDesktop(t, "ses-1")
			tab := watch(t, d.handle, "conn")
			d.begin("m1", strings.ReplaceAll(allOfIt, "/say 2", `/sleep 200ms\n/say 2`))
			d.drive(milestones()[state])
			before := settled(t, d.handle)
			ok(t, server.Client(t).FlushAll(t.Context()).Err())
			state := next(t, tab, func(s wire.SessionState) bool { return s.LastMessageID.Epoch > before.Epoch })
			for _, q := range state.HITLRequests {
				d.reply(q.(wire.ServerPayload)) //nolint:forcetypeassert // they are events
			}
			d = o.enter(t, "ses-1")
			d.drive(isEnd)
			end := when(t, d.diary, any1[wire.PlanComplete])
			if end.Status != "success" || end.Statistics.Completed != 5 {
				t.Errorf("it ends with %+v", end)
			}
		})
	}
}
