package workflow_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workflow"
)

// randomRun is a rig with random events, and the invariants that hold after each of them.
type randomRun struct {
	*rig
	t              *rapid.T
	sent           int
	open           map[wire.MessageID]bool   // messages that are worked off
	asked          map[wire.RequestID]string // questions of jobs that are not answered
	checkedAnswers int                       // number of answers to jobs that were checked
	shut           int                       // and ends of messages
	uncertainTodos
}

// draw returns one of several values at random.
func draw[V any](c *randomRun, what string, values ...V) V {
	return rapid.SampledFrom(values).Draw(c.t, what)
}

// oneIn returns true with probability 1/n.
func (c *randomRun) oneIn(n int, what string) bool { return rapid.IntRange(1, n).Draw(c.t, what) == 1 }

func (c *randomRun) newID() wire.MessageID {
	c.sent++
	return wire.MessageID(fmt.Sprintf("m%d", c.sent))
}

// graph returns a random plan as a model writes it.
func (c *randomRun) graph() string {
	n := rapid.IntRange(1, 6).Draw(c.t, "todos")
	var todos []map[string]any
	for i := range n {
		todos = append(todos, c.anyTodo(i, i))
	}
	data, _ := json.Marshal(map[string]any{"todos": todos})
	return string(data)
}

// anyTodo returns the i-th todo, which depends on some of the previous ones.
func (c *randomRun) anyTodo(i, before int) map[string]any {
	t := map[string]any{"id": fmt.Sprintf("t%d", i), "task": draw(c, "task", "dig", "sow", "reap")}
	var deps []string
	for d := range before {
		if c.oneIn(3, "depends") {
			deps = append(deps, fmt.Sprintf("t%d", d))
		}
	}
	t["depends_on"] = deps
	t["priority"] = rapid.IntRange(0, 2).Draw(c.t, "priority")
	t["max_retries"] = rapid.IntRange(0, 2).Draw(c.t, "retries")
	switch rapid.IntRange(0, 9).Draw(c.t, "special") {
	case 0:
		t["requires_approval"] = true
	case 1:
		t["estimated_cost_usd"] = 1
	case 2:
		t["tool"] = "shell"
	case 3, 4:
		t["inputs"] = []map[string]any{
			{"field": "when", "question": "When?", "input_type": "date", "required": c.oneIn(2, "required")},
			{"field": "much", "question": "How much?", "input_type": "number", "min": 1, "default_value": 3, "required": true},
		}
	}
	return t
}

// anyJob returns a random running job.
func (c *randomRun) anyJob() (workflow.Job, bool) {
	names := slices.Sorted(maps.Keys(c.jobs))
	if len(names) == 0 {
		return workflow.Job{}, false
	}
	return c.jobs[rapid.SampledFrom(names).Draw(c.t, "job")], true
}

// output returns a valid output of an agent for a job.
func (c *randomRun) output(j workflow.Job) string {
	switch {
	case j.Todo != "":
		return draw(c, "result", `{"n":1}`, "some text", "")
	case strings.Contains(j.Name, "/cognitive"):
		return draw(c, "insight", `{"intent":{}}`, "what?", `{"intent":{},"clarification":{"question":"which?","required":true}}`,
			`{"intent":{},"clarification":{"question":"which?"}}`)
	case strings.Contains(j.Name, "/planning"):
		return c.graph()
	}
	return draw(c, "response", `{"text":"done"}`, "done", "")
}

// end ends a job with a random result.
func (c *randomRun) end(j workflow.Job) {
	w := c.outcome(j)
	if w.Unsure != "" {
		c.addUncertain(j)
	}
	c.endJob(w)
}

// outcome returns a random result of a job.
func (c *randomRun) outcome(j workflow.Job) workflow.JobResult {
	w := workflow.JobResult{Job: j.Name, Outcome: providers.Completed, Usage: providers.Usage{Input: 1, USD: 0.5}}
	kind := rapid.IntRange(0, 11).Draw(c.t, "end")
	if _, ok := c.stopped[j.Name]; ok {
		kind = rapid.IntRange(8, 12).Draw(c.t, "end of what was stopped")
	}
	switch kind {
	case 7:
		w.Outcome, w.Reason = providers.Failed, "broken"
		w.Failure = draw(c, "class", providers.Overloaded, providers.Auth, providers.Class(""))
	case 8:
		w.Outcome, w.Reason = providers.Failed, "it broke"
	case 9, 10:
		w.Outcome, w.Reason = providers.Interrupted, "stopped"
	case 11:
		w.Outcome, w.Unsure = draw(c, "outcome", providers.Failed, providers.Interrupted), draw(c, "unsure", "http:post", "work")
	default:
		w.Text = c.output(j)
		if j.Todo == "" && c.oneIn(6, "nonsense") {
			w.Text = draw(c, "text", "no", `{"todos":[]}`, `{"todos":[{"id":"t0","task":"x","depends_on":["t0"]}]}`)
		}
	}
	return w
}

// value returns a random, often valid, answer to a question.
func (c *randomRun) value() json.RawMessage {
	return draw(c, "value", json.RawMessage(`"2026-02-06"`), json.RawMessage(`3`), json.RawMessage(`null`), json.RawMessage(`{}`))
}

// reply returns an answer whose type may fit the question.
func (c *randomRun) reply(id wire.RequestID) wire.ClientPayload {
	m := c.newID()
	plan := wire.HITLPlanResponse{
		RequestID: id, Action: draw(c, "action", wire.PlanApprove, wire.PlanApprove, wire.PlanModify, "maybe"), MessageID: m,
		Instruction: draw(c, "instruction", "other", ""),
	}
	if c.oneIn(15, "reject") {
		plan.Action = wire.PlanReject
	}
	todo := wire.HITLApprovalResponse{
		RequestID: id, Action: draw(c, "todo", wire.TodoApprove, wire.TodoApprove, wire.TodoSkip, "perhaps"), MessageID: m,
	}
	if c.oneIn(15, "reject") {
		todo.Action = wire.TodoReject
	}
	switch e := c.questionEvent(id).(type) {
	case wire.HITLPlanReview:
		return plan
	case wire.HITLApprovalRequest:
		return todo
	case wire.HITLInputRequest:
		return wire.HITLInputResponse{RequestID: id, Field: e.Field, Value: c.value(), MessageID: m}
	case wire.HITLClarification:
		return wire.HITLClarificationResponse{RequestID: id, Value: c.value(), MessageID: m}
	}
	return draw[wire.ClientPayload](c, "kind", plan, todo)
}

// questionEvent returns the last event that opened a question.
func (c *randomRun) questionEvent(id wire.RequestID) wire.ServerPayload {
	for _, e := range slices.Backward(c.events) {
		switch e := e.(type) {
		case wire.HITLPlanReview:
			if e.RequestID == id {
				return e
			}
		case wire.HITLApprovalRequest:
			if e.RequestID == id {
				return e
			}
		case wire.HITLInputRequest:
			if e.RequestID == id {
				return e
			}
		case wire.HITLClarification:
			if e.RequestID == id {
				return e
			}
		}
	}
	return nil
}

// answerOne answers an open, closed or unknown question, sometimes twice.
func (c *randomRun) answerOne() {
	ids := slices.Sorted(maps.Keys(c.fold.open))
	if len(ids) == 0 || c.oneIn(8, "late") {
		ids = append(slices.Sorted(maps.Keys(c.fold.closed)), "hitl_0", "hitl_9999", "x")
	}
	id := rapid.SampledFrom(ids).Draw(c.t, "request")
	m, open, n := c.reply(id), c.fold.open[id], len(c.events)
	refused := c.answer(m)
	switch {
	case refused == nil && !open:
		c.t.Fatalf("an answer to question %s was accepted, want a refusal: it is not open", id)
	case refused == nil && (c.fold.open[id] || !c.namesMessage(n, wire.MessageOf(m))):
		c.t.Fatalf("question %s is answered, and still open or no event names the answer, want it closed by an event that does", id)
	case refused != nil && c.fold.closed[id] && refused.Code != wire.CodeHITLRequestExpired:
		c.t.Fatalf("an answer to closed question %s: %+v, want code %s", id, refused, wire.CodeHITLRequestExpired)
	case refused != nil && open != c.fold.open[id]:
		c.t.Fatalf("the answer to question %s is refused, and the question is closed, want it still open", id)
	}
	if refused == nil && c.oneIn(3, "twice") {
		c.refused(c.answer(m), wire.CodeHITLRequestExpired, "request_id")
	}
}

// anyOrder returns a random, possibly invalid, order.
func (c *randomRun) anyOrder() wire.ClientPayload {
	id := c.newID()
	todo := wire.TodoID(fmt.Sprintf("t%d", rapid.IntRange(0, 6).Draw(c.t, "todo")))
	switch rapid.IntRange(0, 12).Draw(c.t, "order") {
	case 0, 1:
		return wire.ControlPause{Reason: "wait", MessageID: id}
	case 2, 3, 4:
		return wire.ControlResume{MessageID: id}
	case 5, 6, 7:
		return wire.ControlResume{Modifications: c.modifications(), MessageID: id}
	case 8, 9:
		return wire.ControlRetry{TodoID: todo, MessageID: id}
	case 10, 11:
		return wire.ControlSkip{TodoID: todo, MessageID: id}
	default:
		if c.oneIn(3, "cancel") {
			return wire.ControlCancel{MessageID: id}
		}
		return wire.ControlPause{MessageID: id}
	}
}

// randomOrder sends an order, which must either be executed and have an event, or be refused.
func (c *randomRun) randomOrder() {
	m := c.anyOrder()
	id := wire.MessageOf(m)
	before, n, silent := c.flow.Active(), len(c.events), c.hasNoVisibleEffect(m)
	switch refused := c.control(m); {
	case refused != nil && len(c.events) > n:
		c.t.Fatalf("%+v is refused and has the events %s, want none", m, c.since(n))
	case refused == nil && !silent && !c.namesMessage(n, id):
		c.t.Fatalf("%T %+v is accepted and no event names it, want one:\n%s", m, m, c.since(n))
	case refused == nil:
		if retry, ok := m.(wire.ControlRetry); ok {
			c.clearUncertain(retry.TodoID)
		}
	}
	if !before && c.flow.Active() {
		c.open[id] = true
	} else if !before && len(c.closed) > c.shut {
		c.open[id] = true // it went on and ended at once
	}
}

// modifications returns random changes of a plan, some of them invalid.
func (c *randomRun) modifications() []json.RawMessage {
	var mods []json.RawMessage
	for range rapid.IntRange(1, 2).Draw(c.t, "modifications") {
		i := rapid.IntRange(0, 6).Draw(c.t, "todo")
		var m any
		switch rapid.IntRange(0, 4).Draw(c.t, "modification") {
		case 0:
			m = "do it otherwise"
		case 1:
			m = map[string]any{"action": "remove", "todo_id": fmt.Sprintf("t%d", i)}
		case 2:
			m = map[string]any{"action": "update", "todo_id": fmt.Sprintf("t%d", i), "task": draw(c, "task", "dig", "rest")}
		default:
			t := c.anyTodo(i, 3)
			t["action"], t["todo_id"] = draw(c, "action", "add", "update"), t["id"]
			delete(t, "id")
			m = t
		}
		data, _ := json.Marshal(m)
		mods = append(mods, data)
	}
	return mods
}

// agentCall lets the agent of a todo ask a question or report progress.
func (c *randomRun) agentCall() {
	j, ok := c.anyJob()
	if !ok {
		return
	}
	if c.oneIn(2, "progress") {
		c.step(func() { c.flow.Progress(j.Name, wire.TodoProgress{ProgressPercentage: 50, CurrentStep: "half"}) })
		return
	}
	q := wire.HITLInputRequest{Field: draw(c, "field", "when", "who"), Question: "?", InputType: wire.AnswerDate, Required: c.oneIn(2, "required")}
	c.step(func() {
		id, _, refused := c.flow.Ask(j.Name, q)
		if _, stopped := c.stopped[j.Name]; refused == nil && (stopped || j.Todo == "") {
			c.t.Fatalf("the question of job %s was accepted, want a refusal: it is stopped or has no todo", j.Name)
		}
		if id != "" {
			c.asked[id] = j.Name
		}
	})
}

// check verifies the invariants after every step.
func (c *randomRun) check() {
	if d := diffTodos(c.fold.todos, c.todos()); d != "" {
		c.t.Fatalf("folded events (-) differ from the flow (+), want the same: %s", d)
	}
	c.checkUncertain()
	for ; c.shut < len(c.closed); c.shut++ {
		if m := c.closed[c.shut].Message; !c.open[m] {
			c.t.Fatalf("message %s ends and was not open, want an open one", m)
		} else {
			delete(c.open, m)
		}
	}
	for ; c.checkedAnswers < len(c.answers); c.checkedAnswers++ {
		if a := c.answers[c.checkedAnswers]; c.asked[a.Request] == "" {
			c.t.Fatalf("question %s is answered and was not asked, want one that was asked", a.Request)
		} else {
			delete(c.asked, a.Request)
		}
	}
	active := c.flow.Active()
	if len(c.open) > 1 || active != (len(c.open) == 1) || active == c.fold.ended || c.flow.Paused() != c.fold.paused {
		c.t.Fatalf("active %v, paused %v, open messages: %v, want one message while active, and the states that the events say", active, c.flow.Paused(), c.open)
	}
	plan, _ := c.flow.Plan()
	busy := slices.ContainsFunc(slices.Collect(maps.Values(c.jobs)), func(j workflow.Job) bool { return j.Plan == plan })
	if active && !c.flow.Paused() && !busy && len(c.fold.open) == 0 && c.flow.Due().IsZero() {
		c.t.Fatalf("the flow is stuck, want jobs, questions or a timer:\n%s", c.log())
	}
	if c.flow.Working() && (!active || !busy && c.flow.Due().IsZero()) {
		c.t.Fatalf("the flow works without jobs and timers, want one of them")
	}
}

func (c *randomRun) todos() []wire.Todo {
	if plan, _ := c.flow.Plan(); plan == "" {
		return nil
	}
	if todos := c.flow.Todos(); len(todos) > 0 {
		return todos
	}
	return nil
}

// randomStep applies one random event.
func (c *randomRun) randomStep() {
	switch what := rapid.IntRange(0, 30).Draw(c.t, "what"); {
	case !c.flow.Active() && what < 20:
		id := c.newID()
		c.step(func() {
			if _, refused := c.flow.Begin(workflow.Request{Message: id, Monitor: "monitor-0", Text: "do it"}); refused != nil {
				c.t.Fatalf("the plan is refused with %+v, want it begun", refused)
			}
			c.open[id] = true
		})
	case what < 8:
		if j, ok := c.anyJob(); ok {
			c.end(j)
		}
	case what < 12:
		c.crash(c.survives)
	case what < 18:
		c.answerOne()
	case what < 23:
		c.randomOrder()
	case what < 25:
		c.agentCall()
	case what < 27:
		c.advance(time.Duration(draw(c, "seconds", 0, 1, 2, 30, 200, 400)) * time.Second)
	case what < 29:
		c.crashDuringEvent()
	case what < 30:
		c.step(func() { c.flow.Interrupted("con-1") })
		for _, name := range slices.Sorted(maps.Keys(c.jobs)) {
			c.stopped[name] = "interrupted"
		}
	default:
		if c.oneIn(5, "reset") {
			clear(c.jobs)
			c.step(func() { c.flow.Reset("") })
		}
	}
}

// finish ends all jobs and answers all questions until the flow is idle.
func (c *randomRun) finish() {
	for range 2000 {
		switch j, ok := c.anyJob(); {
		case ok && c.oneIn(3, "well"):
			c.end(j)
		case ok:
			c.completeJob(j.Name, c.output(j))
		case !c.flow.Active():
			return
		case c.flow.Paused():
			c.must(c.control(wire.ControlResume{}))
		case len(c.fold.open) > 0 && c.oneIn(2, "answer"):
			c.answerOne()
		default:
			c.advance(max(c.flow.Due().Sub(c.now), 0))
		}
		c.check()
	}
	c.t.Fatalf("the flow does not end, want an end:\n%s", c.log())
}

// With random events in random order: every todo ends once, no todo starts before its dependencies have
// completed or after it has completed, the number of running todos is within the limit, every message
// ends once, every question is closed once, and the folded events equal the state of the flow. A crash
// of the owner at any moment changes none of that.
func TestRandomRuns(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := &randomRun{t: t, open: map[wire.MessageID]bool{}, asked: map[wire.RequestID]string{}, uncertainTodos: newUncertainTodos()}
		c.rig = newRigWith(t, workflow.Config{
			Session: "ses-1", Parallel: rapid.IntRange(1, 3).Draw(t, "parallel"), Tools: []string{"shell"},
		})
		for range rapid.SampledFrom([]int{60, 20, 150}).Draw(t, "steps") {
			c.randomStep()
			c.check()
		}
		c.finish()
		if len(c.open)+len(c.asked)+len(c.fold.open) > 0 {
			t.Fatalf("left at the end: messages %v, questions %v, open questions %v; want none", c.open, c.asked, c.fold.open)
		}
	})
}
