package workflow

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

const (
	// maxChanges bounds the modifications in one message, maxInstruction the length of a
	// textual one in characters.
	maxChanges     = 100
	maxInstruction = 4000
)

// applyChanges applies the modifications of a user to a plan, in order. Objects are applied
// directly: {action: add, remove or update, todo_id, and the fields of a todo}. Texts are
// returned as instructions for the planning model. Todos in frozen have begun and cannot be
// changed. The elements of old are not modified.
func applyChanges(old []draftTodo, frozen map[wire.TodoID]bool, mods []json.RawMessage, tools []string) (next []draftTodo, instructions []string, refused *Refusal) {
	if len(mods) > maxChanges {
		return nil, nil, refuseChange("modifications", "there are more than "+strconv.Itoa(maxChanges))
	}
	next = slices.Clone(old)
	for i, raw := range mods {
		at := placeOf("modifications", i)
		var text string
		if json.Unmarshal(raw, &text) == nil && !absent(raw) {
			text = strings.TrimSpace(printable(text))
			if text == "" || len([]rune(text)) > maxInstruction {
				return nil, nil, refuseChange(at, "an instruction has 1 to "+strconv.Itoa(maxInstruction)+" characters")
			}
			instructions = append(instructions, text)
			continue
		}
		if next, refused = applyChange(next, frozen, at, raw, tools); refused != nil {
			return nil, nil, refused
		}
	}
	if err := checkGraph(next); err != nil {
		return nil, nil, refuseChange("modifications", err.Error())
	}
	return next, instructions, nil
}

func refuseChange(field, reason string) *Refusal {
	return &Refusal{Code: wire.CodeInvalidMessage, Reason: reason, Field: field}
}

func applyChange(todos []draftTodo, frozen map[wire.TodoID]bool, at string, raw json.RawMessage, tools []string) ([]draftTodo, *Refusal) {
	var c checker
	var action wire.PlanEdit
	var id wire.TodoID
	fields := c.object(at, raw)
	if fields == nil {
		return nil, refuseChange(at, "want a text or an object, got "+quoteValue(raw))
	}
	action = wire.PlanEdit(c.text(at+".action", fields["action"], maxField))
	if !absent(fields["todo_id"]) {
		id = c.todoID(at+".todo_id", fields["todo_id"])
	} else if action == wire.PlanAdd {
		id = newTodoID(todos)
	} else {
		c.addFault(at+".todo_id", "it is missing")
	}
	if c.count() > 0 {
		return nil, c.refusal(at)
	}
	delete(fields, "action")
	delete(fields, "todo_id")
	known := slices.IndexFunc(todos, func(t draftTodo) bool { return t.ID == id })
	switch {
	case action != wire.PlanAdd && action != wire.PlanRemove && action != wire.PlanUpdate:
		return nil, refuseChange(at+".action", "want add, remove or update, got "+strconv.Quote(string(action)))
	case action == wire.PlanAdd && known >= 0:
		return nil, refuseChange(at+".todo_id", "there is a todo "+strconv.Quote(string(id))+" already")
	case action != wire.PlanAdd && known < 0:
		return nil, refuseChange(at+".todo_id", "there is no todo "+strconv.Quote(string(id)))
	case frozen[id]:
		return nil, &Refusal{Code: wire.CodeSessionInvalidState, Field: at + ".todo_id", Reason: "todo " + strconv.Quote(string(id)) + " has begun and cannot be changed"}
	case action == wire.PlanRemove:
		return removeTodo(todos, known), nil
	}
	t := draftTodo{ID: id}
	if known >= 0 {
		t = todos[known]
	}
	c.each(at, fields, func(at, name string, raw json.RawMessage) bool {
		return c.todoField(at, name, raw, tools, &t)
	})
	if t.Task == "" && c.count() == 0 {
		c.addFault(at+".task", "it is missing")
	}
	if c.count() > 0 {
		return nil, c.refusal(at)
	}
	if known < 0 {
		return append(todos, t), nil
	}
	todos[known] = t
	return todos, nil
}

// refusal returns the faults of the modification at a place as a refusal.
func (c *checker) refusal(at string) *Refusal {
	if c.count() == 1 {
		return refuseChange(c.faults.list[0].place, c.faults.list[0].text)
	}
	return refuseChange(at, c.faults.Error())
}

// newTodoID returns an unused id for a todo without one.
func newTodoID(todos []draftTodo) wire.TodoID {
	for n := len(todos) + 1; ; n++ {
		id := wire.TodoID("todo_" + strconv.Itoa(n))
		if !slices.ContainsFunc(todos, func(t draftTodo) bool { return t.ID == id }) {
			return id
		}
	}
}

// removeTodo removes the todo at index i. Todos that depended on it now depend on its
// dependencies, which preserves the order of the others.
func removeTodo(todos []draftTodo, i int) []draftTodo {
	gone := todos[i]
	todos = slices.Delete(todos, i, i+1)
	for j, t := range todos {
		if !slices.Contains(t.DependsOn, gone.ID) {
			continue
		}
		todos[j].DependsOn = filterIDs(t.DependsOn, func(id wire.TodoID) bool { return id != gone.ID })
		for _, id := range gone.DependsOn {
			if !slices.Contains(todos[j].DependsOn, id) {
				todos[j].DependsOn = append(todos[j].DependsOn, id)
			}
		}
	}
	return todos
}

// dropUnknown removes dependencies on todos that do not exist.
func dropUnknown(todos []draftTodo) []draftTodo {
	there := make(map[wire.TodoID]bool, len(todos))
	for _, t := range todos {
		there[t.ID] = true
	}
	for i, t := range todos {
		todos[i].DependsOn = filterIDs(t.DependsOn, func(id wire.TodoID) bool { return there[id] })
	}
	return todos
}

// filterIDs returns the ids for which keep holds. It copies the slice if it removes any.
func filterIDs(ids []wire.TodoID, stays func(wire.TodoID) bool) []wire.TodoID {
	if !slices.ContainsFunc(ids, func(id wire.TodoID) bool { return !stays(id) }) {
		return ids
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id wire.TodoID) bool { return !stays(id) })
}

// mergePlan merges the plan that a model made from an old one: frozen todos stay unchanged,
// the others are as the model wrote them. The result may exceed the maximum number of
// todos; checkGraph reports that.
func mergePlan(old, next []draftTodo, frozen map[wire.TodoID]bool) []draftTodo {
	before := make(map[wire.TodoID]draftTodo, len(frozen))
	asked := make(map[wire.TodoID]bool, len(next))
	for _, t := range next {
		asked[t.ID] = true
	}
	var merged []draftTodo
	for _, t := range old {
		if !frozen[t.ID] {
			continue
		}
		before[t.ID] = t
		if !asked[t.ID] {
			merged = append(merged, t)
		}
	}
	for _, t := range next {
		if kept, ok := before[t.ID]; ok {
			t = kept
		}
		merged = append(merged, t)
	}
	merged = dropUnknown(merged)
	if len(cycles(merged, indexOf(merged))) == 0 {
		return merged
	}
	// A skipped todo may still name dependencies, and one of these may now depend on the
	// skipped todo. A frozen todo no longer waits, so its other dependencies are dropped.
	for i, t := range merged {
		if _, ok := before[t.ID]; ok {
			merged[i].DependsOn = filterIDs(t.DependsOn, func(id wire.TodoID) bool { return frozen[id] })
		}
	}
	return merged
}

// diff returns the changes from old to next: additions and updates in the order of next,
// then removals.
func diff(old, next []draftTodo) []wire.PlanChange {
	before, after := indexOf(old), indexOf(next)
	changes := []wire.PlanChange{}
	for _, t := range next {
		i, ok := before[t.ID]
		switch {
		case !ok:
			changes = append(changes, wire.PlanChange{Action: wire.PlanAdd, TodoID: t.ID, Task: t.Task})
		case !equalTodos(old[i], t):
			changes = append(changes, wire.PlanChange{Action: wire.PlanUpdate, TodoID: t.ID, Task: t.Task})
		}
	}
	for _, t := range old {
		if _, ok := after[t.ID]; !ok {
			changes = append(changes, wire.PlanChange{Action: wire.PlanRemove, TodoID: t.ID})
		}
	}
	return changes
}

// equalTodos reports whether two todos are equal. Empty and nil lists are equal.
func equalTodos(a, b draftTodo) bool {
	plain := func(t draftTodo) draftTodo {
		if len(t.DependsOn) == 0 {
			t.DependsOn = nil
		}
		if len(t.Inputs) == 0 {
			t.Inputs = nil
		}
		return t
	}
	return reflect.DeepEqual(plain(a), plain(b))
}

func indexOf(todos []draftTodo) map[wire.TodoID]int {
	index := make(map[wire.TodoID]int, len(todos))
	for i, t := range todos {
		index[t.ID] = i
	}
	return index
}
