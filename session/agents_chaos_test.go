package session_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// storm is somebody who does whatever comes to mind.
type storm struct {
	t    *testing.T
	r    *rand.Rand
	o    *office
	d    *testDesktop
	cfg  hubConfig
	sent []session.Command // messages
	n    int
}

func (s *storm) id() wire.MessageID {
	s.n++
	return wire.MessageID(fmt.Sprintf("x%d", s.n))
}

func (s *storm) monitor() wire.MonitorID {
	return wire.MonitorID(fmt.Sprintf("monitor-%d", s.r.IntN(3)))
}
func (s *storm) window() wire.WindowID { return wire.WindowID(fmt.Sprintf("w%d", s.r.IntN(4))) }

// script is what a turn does.
func (s *storm) script() string {
	w := s.window()
	steps := []string{
		"/say something", "/think about it", "/stream 8 400", "/sleep 3ms", "/nosteer", opening(w), "/hang", "/fail invalid: enough",
		fmt.Sprintf(`/call window:update {"windowId":"%s","operation":"append","content":"."}`, w),
		fmt.Sprintf(`/call window:close {"windowId":"%s"}`, w), fmt.Sprintf(`/call window:lock {"windowId":"%s"}`, w),
		"/task default /say I am a task; /sleep 2ms", "/ask Which? | a | b", "/toast bread", hook,
		`/call system:memorize {"content":"I like tea"}`, "/call system:list_reload_options {}",
	}
	lines := []string{"do this"}
	for range 1 + s.r.IntN(5) {
		lines = append(lines, steps[s.r.IntN(len(steps))])
	}
	return strings.Join(lines, "\n")
}

// act does one thing.
func (s *storm) act() {
	s.t.Helper()
	m := s.monitor()
	switch k := s.r.IntN(100); {
	case k < 45:
		s.message(wire.UserMessage{MonitorID: m, Content: s.script()})
	case k < 58:
		s.message(wire.WindowMessage{MonitorID: m, WindowID: s.window(), Content: s.script()})
	case k < 66:
		s.message(wire.ComponentAction{MonitorID: m, WindowID: s.window(), Action: "go", ActionID: []string{"", "a1", "a2"}[s.r.IntN(3)]})
	case k < 72 && len(s.sent) > 0:
		deliver(s.t, s.d.handle, s.sent[s.r.IntN(len(s.sent))]) // again
	case k < 78:
		s.d.send(s.id(), wire.Emit{MonitorID: m, Actions: []wire.Action{window(s.window())}})
	case k < 86:
		i := wire.Interrupt{
			Scope: []wire.InterruptScope{wire.ScopeSession, wire.ScopeMonitor, wire.ScopeAgent}[s.r.IntN(3)], MonitorID: m,
			AgentID: "window-w1", Queues: []wire.InterruptQueues{wire.QueuesKeep, wire.QueuesDrop}[s.r.IntN(2)],
		}
		s.d.send(s.id(), i)
	case k < 90:
		s.d.send(s.id(), wire.UserInteractions{MonitorID: m, Interactions: []wire.UserInteraction{{Type: wire.DidCloseWindow, WindowID: s.window()}}})
	case k < 92:
		s.d.send(s.id(), wire.RemoveMonitor{MonitorID: m})
	case k < 93:
		s.d.send(s.id(), wire.Reset{})
	case k < 96:
		for _, p := range s.d.snapshot().Prompts {
			s.d.send(s.id(), wire.UserPromptResponse{PromptID: p.ID, SelectedValues: []string{"a"}})
		}
		for _, q := range s.d.snapshot().Dialogs {
			s.d.send(s.id(), wire.DialogFeedback{DialogID: q.DialogID, Confirmed: s.r.IntN(2) == 0})
		}
	case k < 98:
		settled(s.t, s.d.handle)
		_, err := s.o.store.Claim(s.t.Context(), s.d.id, "a", time.Minute) // the lease there is is worth nothing now
		ok(s.t, err)
	default:
		settled(s.t, s.d.handle)
		s.o = s.o.again(s.t, s.cfg)
		s.d = s.o.enter(s.t, s.d.id)
	}
}

func (s *storm) message(data wire.ClientPayload) {
	s.t.Helper()
	c := says("conn", s.id(), data)
	s.sent = append(s.sent, c)
	deliver(s.t, s.d.handle, c)
}

// Whatever comes in whatever order, while owners change: each message is answered
// once and ends once, everybody sees the same, and nothing is left when all is
// done.
func TestAgentChaos(t *testing.T) {
	t.Parallel()
	for _, agents := range []int{1, 5} {
		for name, open := range stores() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				site := open(t)
				seed := uint64(time.Now().UnixNano())
				t.Logf("seed %d", seed)
				s := &storm{t: t, r: rand.New(rand.NewPCG(seed, 0)), cfg: hubConfig{
					logger: silence(), limits: agentpool.Limits{Agents: agents},
					session: session.Config{Budget: policies.BudgetLimits{Concurrent: 2, ActionsPerMin: 20, OutputPerMin: 20_000}, AnswersPerMinute: -1},
				}}
				s.o = agentHub(t, site, s.cfg)
				s.d = s.o.newDesktop(t, "ses-1")
				for range 120 {
					s.act()
					if s.r.IntN(4) == 0 {
						<-time.After(time.Duration(s.r.IntN(10)) * time.Millisecond)
					}
				}
				s.d.send(s.id(), wire.Interrupt{Queues: wire.QueuesDrop})
				s.d.rest()
				s.calm()
			})
		}
	}
}

// calm checks what is left when nothing runs any more.
func (s *storm) calm() {
	t := s.t
	t.Helper()
	all := fates(s.d.all())
	for _, c := range s.sent {
		if all[c.Message.ID] == nil {
			t.Errorf("%s was never answered: %+v", c.Message.ID, c.Message.Data)
		}
	}
	kept, err := s.o.store.Load(t.Context(), "ses-1")
	ok(t, err)
	for _, name := range []string{"turns", "turns.prompt", "queue", "queue.said"} {
		if len(kept.Tables[name]) != 0 {
			t.Errorf("left is %s: %s", name, kept.Tables[name])
		}
	}
	noParts(t, kept)
	for name, items := range kept.Lists {
		if strings.HasPrefix(name, "api:") {
			whole(t, name, items)
		}
	}
	now := s.d.snapshot()
	if len(now.Dialogs)+len(now.Prompts)+len(now.Queues) != 0 {
		t.Errorf("left are %+v %+v %+v", now.Dialogs, now.Prompts, now.Queues)
	}
	for _, w := range now.Windows {
		if w.Lock != "" {
			t.Errorf("%s is locked by %s", w.WindowID, w.Lock)
		}
	}
	mirror := desktop.New("ses-1")
	for _, e := range history(t, s.o.site) {
		mirror.Apply(e)
	}
	if at, err := s.d.handle.Snapshot(t.Context(), nil); err != nil || desktop.HashOf(at) != mirror.Hash() {
		t.Errorf("the log says something else than the owner: %v", err)
	}
	for end := time.Now().Add(s.d.patience); ; <-time.After(time.Millisecond) {
		use, err := s.o.limiter.Use(t.Context())
		ok(t, err)
		if use.Held == 0 && use.Waiting == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("slots are left: %+v", use)
		}
	}
}

// whole checks that a conversation can be gone on with: each call of a tool has
// one result, which follows it.
func whole(t *testing.T, name string, items [][]byte) {
	t.Helper()
	var open []string
	for _, item := range items {
		var e providers.Entry
		ok(t, json.Unmarshal(item, &e))
		for _, b := range e.Blocks {
			switch b.Kind {
			case providers.BlockToolCall:
				open = append(open, b.Call)
			case providers.BlockToolResult:
				i := slices.Index(open, b.Call)
				if i < 0 {
					t.Errorf("%s has a result of %s, which was not called", name, b.Call)
					continue
				}
				open = slices.Delete(open, i, i+1)
			}
		}
	}
	if len(open) > 0 {
		t.Errorf("%s has calls without results: %v", name, open)
	}
}
