package contextpool_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/approval"
	"github.com/everdesk/everdesk/modes"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// someModes are the modes of a user; err is the error of reading them.
type someModes struct {
	set modes.Set
	err error
}

func (s *someModes) FindMode(name string) (modes.Mode, error) {
	if s.err != nil {
		return modes.Mode{}, s.err
	}
	m, ok := s.set.Find(name)
	if !ok {
		return modes.Mode{}, modes.ErrNotFound
	}
	return m, nil
}

func (s *someModes) DefaultApproval() wire.AutoApproval {
	if s.set.Approval == nil {
		return wire.AutoApproval{}
	}
	return *s.set.Approval
}

// newModeRig returns a rig whose user has modes besides those of the hub.
func newModeRig(t *testing.T, more ...modes.Mode) (*rig, *someModes) {
	t.Helper()
	r := newRig(t)
	user := &someModes{set: modes.Set{Modes: append(modes.Shipped(), more...)}}
	r.cfg.Modes = user
	r.hire()
	r.step(func() { r.pool.Recover() })
	r.runner.slots = 4
	return r, user
}

func (r *rig) setMode(mode string) {
	r.t.Helper()
	r.step(func() {
		if err := r.pool.SetMode(mode, first, "c1", "s1"); err != nil {
			r.t.Fatalf("choose the mode %q: %v", mode, err)
		}
	})
}

// modeOf returns the id of the mode of a run.
func modeOf(r agentpool.Run) string {
	if r.Mode == nil {
		return ""
	}
	return r.Mode.ID
}

func TestTurnsKeepTheModeTheyBeganWith(t *testing.T) {
	t.Parallel()
	r, user := newModeRig(t)
	r.step(func() { r.pool.SetInstructions("Short.", "c1", "s0") })
	r.setMode("ask")
	wantEqual(t, r.desktop.Mode(), wire.AgentMode{ID: "ask", Name: "Ask", ToolProfile: modes.ToolsRead})
	run := r.direct("m1")
	wantEqual(t, modeOf(run)+" "+run.Mode.Tools+" "+run.Instructions, "ask read Short.")
	r.setMode("code")
	r.step(func() { r.pool.SetInstructions("Long.", "c1", "s2") })
	user.set.Modes[2].Tools = modes.ToolsAll // of ask
	r.crash()
	again := r.run(mainM1)
	wantEqual(t, modeOf(again)+" "+again.Mode.Tools+" "+again.Instructions, "ask read Short.")
	r.began(again)
	r.user("m2")
	r.wantStory("m2", "ephemeral by ephemeral-monitor-0-m2") // the running turn has another mode
	wantEqual(t, modeOf(r.run("ephemeral-monitor-0-m2")), "code")
	r.ended(again)
	run = r.direct("m3")
	wantEqual(t, modeOf(run)+" "+run.Instructions, "code Long.")
	r.ended(run)
	r.setMode("")
	wantEqual(t, modeOf(r.direct("m4")), "")
	wantEqual(t, r.desktop.Mode().ID, "")
}

func TestTasksAndWindowsWorkInTheModeAndSummariesDoNot(t *testing.T) {
	t.Parallel()
	r, _ := newModeRig(t)
	r.setMode("ask")
	run := r.leader("c1")
	r.setMode("code")
	var result string
	r.hand(run, "c1", &result)
	wantEqual(t, modeOf(r.run("task-m1-1")), "ask") // that of its parent
	r.ended(r.run("task-m1-1"))
	r.ended(run)
	r.open(first, "w")
	r.toWindow("m2", "w")
	wantEqual(t, modeOf(r.run("window-w")), "code")
	r.step(func() {
		if err := r.pool.Condense(first); err != nil {
			t.Fatal(err)
		}
	})
	for _, o := range r.runner.runs {
		if o.Turn == "" || strings.HasPrefix(string(o.Turn), "condense-") {
			wantEqual(t, modeOf(o), "")
		}
	}
}

func TestTaskModeSwitchedIsEmittedWhenTheModeOfTurnsChanges(t *testing.T) {
	t.Parallel()
	r, _ := newModeRig(t)
	var got []string
	turn := func(id string) {
		r.ended(r.direct(id))
		got = nil
		for _, e := range all[wire.TaskModeSwitched](r) {
			got = append(got, string(e.TaskID)+" "+e.Mode)
		}
	}
	turn("m1")
	wantEqual(t, got, nil)
	r.setMode("ask")
	turn("m2")
	turn("m3")
	r.crash()
	turn("m4")
	wantEqual(t, got, []string{"t2 ask"})
	r.setMode("")
	turn("m5")
	wantEqual(t, got, []string{"t2 ask", "t5 "})
	wantEqual(t, r.item("t3").Mode, "ask")
	wantEqual(t, r.item("t5").Mode, "main")
}

// The session keeps a copy of its mode: it never gets more tools because the mode cannot be found.
func TestAModeThatIsGoneStaysInItsSessions(t *testing.T) {
	t.Parallel()
	r, user := newModeRig(t, modes.Mode{ID: "mine", Name: "Mine", Tools: modes.ToolsRead, Instructions: "one"})
	r.setMode("Mine")
	user.set.Modes[4].Instructions = "two"
	run := r.direct("m1")
	wantEqual(t, run.Mode.Instructions, "two")
	r.ended(run)
	user.set.Modes[4].Tools = modes.ToolsShow
	run = r.direct("m2")
	wantEqual(t, r.desktop.Mode().ToolProfile, modes.ToolsShow) // a change is published
	r.ended(run)
	for _, gone := range []func(){
		func() { user.set.Modes = modes.Shipped() },
		func() { user.err = errors.New("the store is down") },
	} {
		gone()
		r.crash()
		run = r.direct("m" + r.nextID())
		wantEqual(t, modeOf(run)+" "+run.Mode.Tools, "mine show")
		r.ended(run)
	}
	r.step(func() {
		if err := r.pool.SetMode("ask", first, "c1", "s9"); !errors.Is(err, user.err) {
			t.Errorf("got error %v, want %v", err, user.err)
		}
	})
	user.err = nil
	r.step(func() {
		if err := r.pool.SetMode("mine", first, "c1", "s9"); !errors.Is(err, modes.ErrNotFound) {
			t.Errorf("got error %v, want %v", err, modes.ErrNotFound)
		}
	})
	wantEqual(t, r.desktop.Mode().ID, "mine")
}

// nextID returns a text that differs each time.
func (r *rig) nextID() string { r.seq++; return strings.Repeat("x", int(r.seq%1000)+1) }

func TestTheModelOfAModeCountsUntilAnotherIsChosen(t *testing.T) {
	t.Parallel()
	r, user := newModeRig(t, modes.Mode{ID: "mine", Name: "Mine", Tools: modes.ToolsAll, Model: "My model"})
	r.runner.named = map[string]string{"My model": "other"}
	provider := func(id string) string {
		run := r.direct(id)
		r.ended(run)
		return run.Provider
	}
	r.setMode("mine")
	wantEqual(t, r.desktop.Provider(), "other")
	wantEqual(t, provider("m1"), "other")
	r.step(func() { r.pool.SetProvider("demo") })
	wantEqual(t, provider("m2"), "demo") // the last choice counts
	r.setMode("mine")
	wantEqual(t, provider("m3"), "other")
	r.runner.named = nil // the profile is deleted
	wantEqual(t, provider("m4")+" "+r.desktop.Provider(), "demo demo")
	wantEqual(t, provider("m5"), "demo")
	wantEqual(t, r.errorRows(), []string{`The mode "Mine" names the model profile "My model", which does not exist. The default is used.`})
	wantEqual(t, r.desktop.Mode().ModelMissing, true)
	r.runner.named = map[string]string{"My model": "other"}
	wantEqual(t, provider("m6"), "other")
	wantEqual(t, r.desktop.Mode().ModelMissing, false)
	user.set.Modes[4].Model = "never was"
	r.setMode("mine")
	wantEqual(t, len(r.errorRows()), 2)
	wantEqual(t, provider("m7"), "demo")
}

// errorRows returns the texts of the rows with errors.
func (r *rig) errorRows() []string {
	var texts []string
	for _, row := range r.archive[first] {
		if row.Say == wire.SayError {
			texts = append(texts, row.Text)
		}
	}
	return texts
}

func TestATodoMayNameAMode(t *testing.T) {
	t.Parallel()
	r, _ := newModeRig(t, modes.Mode{ID: "mine", Name: "Mine", Tools: modes.ToolsAll, Model: "other"})
	r.setMode("ask")
	j := todoJob("a")
	j.Mode = "mine"
	run := r.work(j)
	wantEqual(t, modeOf(run)+" "+run.Mode.Tools+" "+run.Provider, "mine all other")
	wantEqual(t, last[wire.TaskModeSwitched](r).Mode, "mine")
	r.crash()
	run = r.run("task-a")
	wantEqual(t, modeOf(run)+" "+run.Provider, "mine other")
	r.ended(run)
	r.worked = nil

	j = todoJob("b")
	j.Mode, j.Guest = "mine", true
	wantEqual(t, r.work(j).Mode.Tools, modes.ToolsRead) // a guest cannot widen the owner's choice

	j = todoJob("c")
	j.Mode = "gone"
	r.step(func() { r.pool.StartJob(j) })
	if len(r.worked) != 1 || r.worked[0].Outcome != providers.Failed || !strings.Contains(r.worked[0].Reason, "there is no such mode") {
		t.Errorf("got %+v, want one failed job without the mode", r.worked)
	}
}

func TestAModeHasItsOwnApprovalRules(t *testing.T) {
	t.Parallel()
	rules := wire.AutoApproval{AutoApprovalEnabled: true, AlwaysAllowWrite: true, AllowedMaxRequests: 1}
	r, _ := newModeRig(t, modes.Mode{ID: "mine", Name: "Mine", Tools: modes.ToolsAll, Approval: &rules})
	write := providers.ToolCall{ID: "c1", Name: "Write", Input: []byte(`{"path":"a.txt"}`)}
	verdict := func(run agentpool.Run) (v approval.Verdict) {
		r.step(func() { v, _, _ = r.pool.Questions.DecideApproval(callerOf(run), write) })
		return v
	}
	run := r.direct("m1")
	wantEqual(t, verdict(run), approval.AskUser)
	r.ended(run)
	r.setMode("mine")
	wantEqual(t, r.desktop.Mode().OwnRules, true)
	run = r.direct("m2")
	wantEqual(t, verdict(run), approval.Approve)
	r.setMode("ask")
	r.crash()
	run = r.run("main-monitor-0-m2")
	r.began(run)
	wantEqual(t, verdict(run), approval.Approve) // the turn keeps the rules of its mode
	r.handleReport(agentpool.ModelUsage{RunRef: agentpool.RunRef{Run: run.ID}, Usage: providers.Usage{Input: 1}})
	r.step(func() {
		if _, over := r.pool.Questions.ExceedsLimit(callerOf(run)); !over {
			t.Error("one request more is within the limit of the mode, want it to exceed that")
		}
	})
	r.ended(run)
	run = r.direct("m3")
	wantEqual(t, verdict(run), approval.Deny) // ask changes nothing, also in programs that ask first
	write.Name = "Read"
	wantEqual(t, verdict(run), approval.AskUser)
}

func TestASessionWithoutRulesFollowsTheDefaultOfItsUser(t *testing.T) {
	t.Parallel()
	r, user := newModeRig(t)
	write := providers.ToolCall{ID: "c1", Name: "Write", Input: []byte(`{"path":"a.txt"}`)}
	run := r.direct("m1")
	verdict := func() (v approval.Verdict) {
		r.step(func() { v, _, _ = r.pool.Questions.DecideApproval(callerOf(run), write) })
		return v
	}
	set := func(rules *wire.AutoApproval) {
		r.step(func() { r.pool.Questions.SetApproval(rules, "c1", "s1") })
	}
	wantEqual(t, verdict(), approval.AskUser)
	user.set.Approval = &wire.AutoApproval{AutoApprovalEnabled: true, AlwaysAllowWrite: true}
	wantEqual(t, verdict(), approval.Approve)
	set(&wire.AutoApproval{})
	wantEqual(t, verdict(), approval.AskUser)
	set(nil)
	wantEqual(t, verdict(), approval.Approve)
	user.set.Approval = nil
	wantEqual(t, verdict(), approval.AskUser)
}
