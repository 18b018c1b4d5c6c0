package workflow

import (
	"bytes"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// todoList is the todos of a plan, in the order of the plan.
type todoList []*todo

// find returns the todo with the id, or nil.
func (l todoList) find(id wire.TodoID) *todo {
	for _, t := range l {
		if t.Draft.ID == id {
			return t
		}
	}
	return nil
}

// ready reports whether a todo waits only for a free slot.
func (l todoList) ready(t *todo) bool { return t.Status == wire.TodoPending && l.dependenciesDone(t) }

// dependenciesDone reports whether all dependencies of a todo are done.
func (l todoList) dependenciesDone(t *todo) bool {
	return !slices.ContainsFunc(t.Draft.DependsOn, func(id wire.TodoID) bool {
		d := l.find(id)
		return d != nil && !d.isDone()
	})
}

// failedCauses returns the failed todos that block a todo.
func (l todoList) failedCauses(t *todo) []*todo {
	var out []*todo
	seen := map[*todo]bool{t: true}
	for queue := []*todo{t}; len(queue) > 0; queue = queue[1:] {
		for _, id := range queue[0].Draft.DependsOn {
			d := l.find(id)
			if d == nil || seen[d] {
				continue
			}
			seen[d] = true
			if d.Status == wire.TodoStatusFailed {
				out = append(out, d)
			} else {
				queue = append(queue, d)
			}
		}
	}
	return out
}

// completed returns the ids of the completed todos.
func (l todoList) completed() []wire.TodoID {
	out := []wire.TodoID{}
	for _, t := range l {
		if t.Status == wire.TodoStatusCompleted {
			out = append(out, t.Draft.ID)
		}
	}
	return out
}

// drafts returns the todos as they were planned.
func (l todoList) drafts() []draftTodo {
	out := make([]draftTodo, 0, len(l))
	for _, t := range l {
		out = append(out, t.Draft)
	}
	return out
}

// frozen returns the ids of todos that can no longer be changed.
func (l todoList) frozen() map[wire.TodoID]bool {
	out := map[wire.TodoID]bool{}
	for _, t := range l {
		if t.frozen() {
			out[t.Draft.ID] = true
		}
	}
	return out
}

// body returns the plan for the client.
func (l todoList) body() wire.PlanBody {
	drafts := l.drafts()
	b := wire.PlanBody{Todos: make([]wire.Todo, 0, len(l)), DependencyGraph: graphOf(drafts), MermaidDiagram: mermaid(drafts)}
	b.EstimatedDurationSec, b.EstimatedCostUSD = estimate(drafts)
	for _, t := range l {
		b.Todos = append(b.Todos, t.wire())
	}
	return b
}

// tally counts todos by status.
type tally struct {
	total, completed, running, pending, failed, blocked, skipped int
}

func (l todoList) count() tally {
	c := tally{total: len(l)}
	for _, t := range l {
		switch t.Status {
		case wire.TodoStatusCompleted:
			c.completed++
		case wire.TodoInProgress:
			c.running++
		case wire.TodoStatusFailed:
			c.failed++
		case wire.TodoBlocked:
			c.blocked++
		case wire.TodoSkipped:
			c.skipped++
		case wire.TodoPending, wire.TodoNeedsInput, wire.TodoNeedsApproval:
			c.pending++
		}
	}
	return c
}

// results returns the results of the matching todos that are done.
func (l todoList) results(which func(*todo) bool) []todoResult {
	var out []todoResult
	for _, t := range l {
		if t.isDone() && which(t) {
			out = append(out, todoResult{ID: t.Draft.ID, Task: t.Draft.Task, Status: t.Status, Result: t.Result})
		}
	}
	return out
}

// partialResults returns the results of a plan without an answer. The event holds at most
// maxData bytes of them; the rest is in the events of the todos.
func (l todoList) partialResults() *wire.PartialResults {
	var data bytes.Buffer
	data.WriteByte('{')
	for _, t := range l {
		if t.Status != wire.TodoStatusCompleted || data.Len()+len(t.Result) > maxData {
			continue
		}
		if data.Len() > 1 {
			data.WriteByte(',')
		}
		data.Write(compact(t.Draft.ID))
		data.WriteByte(':')
		data.Write(t.Result)
	}
	data.WriteByte('}')
	return &wire.PartialResults{CompletedTodos: l.completed(), AvailableData: data.Bytes()}
}

// fallbackAnswer builds an answer from the todos' results, without a model.
func (l todoList) fallbackAnswer() string {
	var b strings.Builder
	b.WriteString("The plan was carried out.\n")
	for _, t := range l {
		b.WriteString("\n- " + oneLine(t.Draft.Task) + ": ")
		if t.Status == wire.TodoSkipped {
			b.WriteString("skipped")
		} else {
			b.WriteString(truncateBytes(string(t.Result), maxStep))
		}
	}
	return b.String()
}
