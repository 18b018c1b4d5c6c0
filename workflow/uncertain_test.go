package workflow_test

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workflow"
)

// uncertainTodos are the todos whose progress is unknown, until a user approves that they run again.
type uncertainTodos struct {
	doubtful map[wire.TodoID]bool
	about    map[wire.RequestID]wire.TodoID // what questions whether todos may run are about
	read     int                            // events that were looked at
}

func newUncertainTodos() uncertainTodos {
	return uncertainTodos{doubtful: map[wire.TodoID]bool{}, about: map[wire.RequestID]wire.TodoID{}}
}

// addUncertain records that a job ended with an unknown result.
func (c *randomRun) addUncertain(j workflow.Job) {
	if plan, _ := c.flow.Plan(); j.Todo != "" && j.Plan == plan && c.flow.Active() {
		c.doubtful[j.Todo] = true
	}
}

// survives reports whether a job continues after its owner has crashed.
func (c *randomRun) survives(job string) bool {
	if !c.oneIn(4, "dead") {
		return true
	}
	c.addUncertain(c.jobs[job])
	return false
}

// clearUncertain records that a user wants a todo, or the todos it depends on, to run again.
func (c *randomRun) clearUncertain(id wire.TodoID) {
	delete(c.doubtful, id)
	for _, d := range c.fold.todo(id).DependsOn {
		c.clearUncertain(d)
	}
}

// checkUncertain checks new events: a todo whose progress is unknown does not start without approval.
func (c *randomRun) checkUncertain() {
	d := &c.uncertainTodos
	for ; d.read < len(c.events); d.read++ {
		switch e := c.events[d.read].(type) {
		case wire.LayerStart:
			if e.Layer == wire.LayerCognitive {
				clear(d.doubtful)
			}
		case wire.PlanModified:
			for id := range d.doubtful {
				if !slices.ContainsFunc(e.UpdatedTodos, func(t wire.Todo) bool { return t.ID == id }) {
					delete(d.doubtful, id) // what is called so next is something else
				}
			}
		case wire.HITLApprovalRequest:
			d.about[e.RequestID] = e.TodoID
		case wire.HITLClosed:
			if e.Reason == wire.ClosedAnswered && e.Action == string(wire.TodoApprove) {
				delete(d.doubtful, d.about[e.RequestID])
			}
		case wire.TodoStarted:
			if d.doubtful[e.TodoID] {
				c.t.Fatalf("the progress of %s is unknown, and it starts without approval:\n%s", e.TodoID, c.log())
			}
		}
	}
}

// hasNoVisibleEffect reports whether an order has no event at once: an instruction that a model
// processes first, and the end of a plan of which only a model's call is running.
func (c *randomRun) hasNoVisibleEffect(m wire.ClientPayload) bool {
	switch m := m.(type) {
	case wire.ControlResume:
		texts := !slices.ContainsFunc(m.Modifications, func(m json.RawMessage) bool { return m[0] != '"' })
		return texts && !c.flow.Paused() && !slices.ContainsFunc(c.openAsks(), func(e wire.ServerPayload) bool {
			_, review := e.(wire.HITLPlanReview)
			return review
		})
	case wire.ControlCancel:
		return len(c.fold.open) == 0 && !slices.ContainsFunc(c.fold.todos, func(t wire.Todo) bool {
			return !hasEnded(t.Status) && t.Status != wire.TodoStatusFailed
		})
	}
	return false
}

func (c *randomRun) openAsks() []wire.ServerPayload {
	var out []wire.ServerPayload
	for id := range c.fold.open {
		out = append(out, c.questionEvent(id))
	}
	return out
}

// namesMessage reports whether an event after the first n names a message.
func (r *rig) namesMessage(n int, id wire.MessageID) bool {
	return slices.ContainsFunc(r.events[n:], func(e wire.ServerPayload) bool { return wire.MessageOf(e) == id })
}

// dryRun applies do to a flow and returns its effects. Nothing is committed: the owner crashes within
// the step.
func (c *randomRun) dryRun(f *workflow.Flow, do func(*workflow.Flow)) []string {
	c.lost = &[]string{}
	defer func() { c.lost = nil }()
	do(f)
	return *c.lost
}

// crashDuringEvent applies a random event during which the owner crashes. A flow restored from the
// committed fields must have the same effects.
func (c *randomRun) crashDuringEvent() {
	next := workflow.New(c.cfg, c.rig, c.rig)
	if err := next.Restore(maps.Clone(c.committed)); err != nil {
		c.t.Fatalf("%v", err)
	}
	if did := c.dryRun(next, func(f *workflow.Flow) { f.Recover(func(string) bool { return true }) }); len(did) > 0 {
		c.t.Fatalf("a restored flow has effects without an event: %q", did)
	}
	do := c.randomEvent()
	if d := cmp.Diff(c.dryRun(c.flow, do), c.dryRun(next, do)); d != "" {
		c.t.Fatalf("effects of the old flow (-) differ from those of the restored one (+): %s", d)
	}
	c.crash(func(string) bool { return true })
}

// randomEvent returns a random event for a flow.
func (c *randomRun) randomEvent() func(*workflow.Flow) {
	j, busy := c.anyJob()
	switch what := rapid.IntRange(0, 9).Draw(c.t, "what comes to nothing"); {
	case busy && what < 3:
		w := c.outcome(j)
		return func(f *workflow.Flow) { f.HandleJobResult(w) }
	case busy && what == 3:
		return func(f *workflow.Flow) { f.Progress(j.Name, wire.TodoProgress{ProgressPercentage: 70}) }
	case busy && what == 4:
		return func(f *workflow.Flow) {
			f.Ask(j.Name, wire.HITLInputRequest{Field: "why", Question: "?", InputType: wire.AnswerText})
		}
	case what < 7 && len(c.fold.open) > 0:
		m := c.reply(rapid.SampledFrom(slices.Sorted(maps.Keys(c.fold.open))).Draw(c.t, "request"))
		return func(f *workflow.Flow) { f.Answer("con-1", m) }
	case what == 7:
		return func(f *workflow.Flow) { f.Interrupted("con-1") }
	case what == 8:
		return func(f *workflow.Flow) { f.Reset("") }
	}
	m := c.anyOrder()
	return func(f *workflow.Flow) { f.Control("con-1", m) }
}
