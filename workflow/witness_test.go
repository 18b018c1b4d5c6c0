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

// doubts are the todos of which nobody knows how far they came, until somebody has
// said that they may run again.
type doubts struct {
	doubtful map[wire.TodoID]bool
	about    map[wire.RequestID]wire.TodoID // what questions whether todos may run are about
	read     int                            // events that were looked at
}

func newDoubts() doubts {
	return doubts{doubtful: map[wire.TodoID]bool{}, about: map[wire.RequestID]wire.TodoID{}}
}

// doubt notes that a job ended and nobody knows how.
func (c *chaos) doubt(j workflow.Job) {
	if plan, _ := c.flow.Plan(); j.Todo != "" && j.Plan == plan && c.flow.Active() {
		c.doubtful[j.Todo] = true
	}
}

// survives reports whether a job goes on without the owner that began it.
func (c *chaos) survives(job string) bool {
	if !c.oneIn(4, "dead") {
		return true
	}
	c.doubt(c.jobs[job])
	return false
}

// wanted notes that somebody wants a todo to run again, or those that one waits for.
func (c *chaos) wanted(id wire.TodoID) {
	delete(c.doubtful, id)
	for _, d := range c.fold.todo(id).DependsOn {
		c.wanted(d)
	}
}

// checkDoubts reads on in the events: what is in doubt does not begin unasked.
func (c *chaos) checkDoubts() {
	d := &c.doubts
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
				c.t.Fatalf("nobody knows how far %s came, and it begins unasked:\n%s", e.TodoID, c.log())
			}
		}
	}
}

// silent reports whether an order changes nothing that can be seen at once: an
// instruction that is thought about, and the end of a plan of which nothing is left
// but what a model thinks.
func (c *chaos) silent(m wire.ClientPayload) bool {
	switch m := m.(type) {
	case wire.ControlResume:
		texts := !slices.ContainsFunc(m.Modifications, func(m json.RawMessage) bool { return m[0] != '"' })
		return texts && !c.flow.Paused() && !slices.ContainsFunc(c.openAsks(), func(e wire.ServerPayload) bool {
			_, review := e.(wire.HITLPlanReview)
			return review
		})
	case wire.ControlCancel:
		return len(c.fold.open) == 0 && !slices.ContainsFunc(c.fold.todos, func(t wire.Todo) bool {
			return !over(t.Status) && t.Status != wire.TodoStatusFailed
		})
	}
	return false
}

func (c *chaos) openAsks() []wire.ServerPayload {
	var out []wire.ServerPayload
	for id := range c.fold.open {
		out = append(out, c.asking(id))
	}
	return out
}

// names reports whether one of the events after n names a message.
func (r *rig) names(n int, id wire.MessageID) bool {
	return slices.ContainsFunc(r.events[n:], func(e wire.ServerPayload) bool { return wire.MessageOf(e) == id })
}

// try does something to a flow and says what came of it. Nothing of that is kept: its
// owner dies within the step.
func (c *chaos) try(f *workflow.Flow, do func(*workflow.Flow)) []string {
	c.lost = &[]string{}
	defer func() { c.lost = nil }()
	do(f)
	return *c.lost
}

// killed lets something happen within which the owner dies. One that came just now and
// goes on with what was committed would have done the same.
func (c *chaos) killed() {
	next := workflow.New(c.cfg, c.rig, c.rig)
	if err := next.Restore(maps.Clone(c.kept)); err != nil {
		c.t.Fatalf("%v", err)
	}
	if did := c.try(next, func(f *workflow.Flow) { f.Recover(func(string) bool { return true }) }); len(did) > 0 {
		c.t.Fatalf("an owner that finds everything as it was does %q", did)
	}
	do := c.anything()
	if d := cmp.Diff(c.try(c.flow, do), c.try(next, do)); d != "" {
		c.t.Fatalf("who was there (-) does otherwise than who came just now (+): %s", d)
	}
	c.crash(func(string) bool { return true })
}

// anything is something that happens to a flow.
func (c *chaos) anything() func(*workflow.Flow) {
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
