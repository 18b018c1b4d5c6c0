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

// randomUser sends random commands.
type randomUser struct {
	t    *testing.T
	r    *rand.Rand
	o    *agentHub
	d    *testDesktop
	cfg  hubConfig
	sent []session.Command // messages
	n    int
}

func (s *randomUser) id() wire.MessageID {
	s.n++
	return wire.MessageID(fmt.Sprintf("x%d", s.n))
}

func (s *randomUser) monitor() wire.MonitorID {
	return wire.MonitorID(fmt.Sprintf("monitor-%d", s.r.IntN(3)))
}

func (s *randomUser) window() wire.WindowID { return wire.WindowID(fmt.Sprintf("w%d", s.r.IntN(4))) }

// randomScript returns the directives of a turn.
func (s *randomUser) randomScript() string {
	w := s.window()
	steps := []string{
		"/say something", "/think about it", "/stream 8 400", "/sleep 3ms", "/nosteer", openWindowDirective(w), "/hang", "/fail invalid: enough",
		fmt.Sprintf(`/call window:update {"windowId":"%s","operation":"append","content":"."}`, w),
		fmt.Sprintf(`/call window:close {"windowId":"%s"}`, w), fmt.Sprintf(`/call window:lock {"windowId":"%s"}`, w),
		"/task default /say I am a task; /sleep 2ms", "/ask Which? | a | b", "/toast bread", setHookCall,
		`/call system:memorize {"content":"I like tea"}`, "/call system:list_reload_options {}",
	}
	lines := []string{"do this"}
	for range 1 + s.r.IntN(5) {
		lines = append(lines, steps[s.r.IntN(len(steps))])
	}
	return strings.Join(lines, "\n")
}

// doRandom does one random thing.
func (s *randomUser) doRandom() {
	s.t.Helper()
	m := s.monitor()
	switch k := s.r.IntN(100); {
	case k < 45:
		s.sendMessage(wire.UserMessage{MonitorID: m, Content: s.randomScript()})
	case k < 58:
		s.sendMessage(wire.WindowMessage{MonitorID: m, WindowID: s.window(), Content: s.randomScript()})
	case k < 66:
		s.sendMessage(wire.ComponentAction{MonitorID: m, WindowID: s.window(), Action: "go", ActionID: []string{"", "a1", "a2"}[s.r.IntN(3)]})
	case k < 72 && len(s.sent) > 0:
		deliver(s.t, s.d.handle, s.sent[s.r.IntN(len(s.sent))]) // a repetition
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
		deliverBarrier(s.t, s.d.handle)
		_, err := s.o.store.Claim(s.t.Context(), s.d.id, "a", time.Minute) // fences the present owner
		requireNoError(s.t, err)
	default:
		deliverBarrier(s.t, s.d.handle)
		s.o = s.o.restart(s.t, s.cfg)
		s.d = s.o.openDesktop(s.t, s.d.id)
	}
}

func (s *randomUser) sendMessage(data wire.ClientPayload) {
	s.t.Helper()
	c := command("conn", s.id(), data)
	s.sent = append(s.sent, c)
	deliver(s.t, s.d.handle, c)
}

// Random commands while owners change: each message is answered once and ends once, all replicas
// see the same, and nothing is left in the end.
func TestAgentChaos(t *testing.T) {
	t.Parallel()
	for _, agents := range []int{1, 5} {
		for name, open := range deployments() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				site := open(t)
				seed := uint64(time.Now().UnixNano())
				t.Logf("seed %d", seed)
				s := &randomUser{t: t, r: rand.New(rand.NewPCG(seed, 0)), cfg: hubConfig{
					logger: discardLogger(), limits: agentpool.Limits{Agents: agents},
					session: session.Config{Budget: policies.BudgetLimits{Concurrent: 2, ActionsPerMin: 20, OutputPerMin: 20_000}, AnswersPerMinute: -1},
				}}
				s.o = startAgentHub(t, site, s.cfg)
				s.d = s.o.newDesktop(t, "ses-1")
				for range 120 {
					s.doRandom()
					if s.r.IntN(4) == 0 {
						<-time.After(time.Duration(s.r.IntN(10)) * time.Millisecond)
					}
				}
				s.d.send(s.id(), wire.Interrupt{Queues: wire.QueuesDrop})
				s.d.waitIdle()
				s.checkIdle()
			})
		}
	}
}

// checkIdle checks what is stored when nothing runs any more.
func (s *randomUser) checkIdle() {
	t := s.t
	t.Helper()
	all := messageOutcomes(s.d.all())
	for _, c := range s.sent {
		if all[c.Message.ID] == nil {
			t.Errorf("%s was never answered: %+v", c.Message.ID, c.Message.Data)
		}
	}
	kept, err := s.o.store.Load(t.Context(), "ses-1")
	requireNoError(t, err)
	for _, name := range []string{"turns", "turns.prompt", "queue", "queue.said"} {
		if len(kept.Tables[name]) != 0 {
			t.Errorf("table %s holds %s at the end, want it empty", name, kept.Tables[name])
		}
	}
	checkNoTurnData(t, kept)
	for name, items := range kept.Lists {
		if strings.HasPrefix(name, "api:") {
			checkToolResults(t, name, items)
		}
	}
	now := s.d.snapshot()
	if len(now.Dialogs)+len(now.Prompts)+len(now.Queues) != 0 {
		t.Errorf("open at the end are dialogs %+v, prompts %+v and queues %+v, want none", now.Dialogs, now.Prompts, now.Queues)
	}
	for _, w := range now.Windows {
		if w.Lock != "" {
			t.Errorf("at the end %s is locked by %s, want no lock", w.WindowID, w.Lock)
		}
	}
	mirror := desktop.New("ses-1")
	for _, e := range readLog(t, s.o.deployment) {
		mirror.Apply(e)
	}
	if at, err := s.d.handle.Snapshot(t.Context(), nil); err != nil || desktop.HashOf(at) != mirror.Hash() {
		t.Errorf("folding the log gives another desktop state than the owner's, want the same hash (error of the snapshot: %v)", err)
	}
	for end := time.Now().Add(s.d.waitLimit); ; <-time.After(time.Millisecond) {
		use, err := s.o.limiter.Use(t.Context())
		requireNoError(t, err)
		if use.Held == 0 && use.Waiting == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("slots are still in use: %+v, want none held and none waiting", use)
		}
	}
}

// checkToolResults checks that a conversation can be continued: each tool call is followed by its
// one result.
func checkToolResults(t *testing.T, name string, items [][]byte) {
	t.Helper()
	var open []string
	for _, item := range items {
		var e providers.Entry
		requireNoError(t, json.Unmarshal(item, &e))
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
