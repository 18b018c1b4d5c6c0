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
	// maxChanges is how many modifications come at once at most, and maxInstruction
	// how long a text among them is, in characters.
	maxChanges     = 100
	maxInstruction = 4000
)

// change makes the modifications of a person to a plan. Objects are made at once, in
// their order: {action: add, remove or update, todo_id, and the fields of a todo}.
// Texts are instructions for who planned, and come back as they are. What frozen
// says has begun already, and stays. Nothing of old is written to.
func change(old []draftTodo, frozen map[wire.TodoID]bool, mods []json.RawMessage, tools []string) (next []draftTodo, instructions []string, refused *Refusal) {
	if len(mods) > maxChanges {
		return nil, nil, badChange("modifications", "there are more than "+strconv.Itoa(maxChanges))
	}
	next = slices.Clone(old)
	for i, raw := range mods {
		at := placeOf("modifications", i)
		var text string
		if json.Unmarshal(raw, &text) == nil && !absent(raw) {
			text = strings.TrimSpace(printable(text))
			if text == "" || len([]rune(text)) > maxInstruction {
				return nil, nil, badChange(at, "an instruction has 1 to "+strconv.Itoa(maxInstruction)+" characters")
			}
			instructions = append(instructions, text)
			continue
		}
		if next, refused = changeOne(next, frozen, at, raw, tools); refused != nil {
			return nil, nil, refused
		}
	}
	if err := checkGraph(next); err != nil {
		return nil, nil, badChange("modifications", err.Error())
	}
	return next, instructions, nil
}

func badChange(field, reason string) *Refusal {
	return &Refusal{Code: wire.CodeInvalidMessage, Reason: reason, Field: field}
}

func changeOne(todos []draftTodo, frozen map[wire.TodoID]bool, at string, raw json.RawMessage, tools []string) ([]draftTodo, *Refusal) {
	var c checker
	var action wire.PlanEdit
	var id wire.TodoID
	fields := c.object(at, raw)
	if fields == nil {
		return nil, badChange(at, "want a text or an object, got "+shown(raw))
	}
	action = wire.PlanEdit(c.text(at+".action", fields["action"], maxField))
	if !absent(fields["todo_id"]) {
		id = c.todoID(at+".todo_id", fields["todo_id"])
	} else if action == wire.PlanAdd {
		id = unused(todos)
	} else {
		c.wrong(at+".todo_id", "it is missing")
	}
	if c.count() > 0 {
		return nil, c.refusal(at)
	}
	delete(fields, "action")
	delete(fields, "todo_id")
	known := slices.IndexFunc(todos, func(t draftTodo) bool { return t.ID == id })
	switch {
	case action != wire.PlanAdd && action != wire.PlanRemove && action != wire.PlanUpdate:
		return nil, badChange(at+".action", "want add, remove or update, got "+strconv.Quote(string(action)))
	case action == wire.PlanAdd && known >= 0:
		return nil, badChange(at+".todo_id", "there is a todo "+strconv.Quote(string(id))+" already")
	case action != wire.PlanAdd && known < 0:
		return nil, badChange(at+".todo_id", "there is no todo "+strconv.Quote(string(id)))
	case frozen[id]:
		return nil, &Refusal{Code: wire.CodeSessionInvalidState, Field: at + ".todo_id", Reason: "todo " + strconv.Quote(string(id)) + " has begun and cannot be changed"}
	case action == wire.PlanRemove:
		return without(todos, known), nil
	}
	t := draftTodo{ID: id}
	if known >= 0 {
		t = todos[known]
	}
	c.each(at, fields, func(at, name string, raw json.RawMessage) bool {
		return c.todoField(at, name, raw, tools, &t)
	})
	if t.Task == "" && c.count() == 0 {
		c.wrong(at+".task", "it is missing")
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

// refusal is what is wrong with the modification at a place.
func (c *checker) refusal(at string) *Refusal {
	if c.count() == 1 {
		return badChange(c.faults.list[0].place, c.faults.list[0].text)
	}
	return badChange(at, c.faults.Error())
}

// unused is an id for a todo that was given none.
func unused(todos []draftTodo) wire.TodoID {
	for n := len(todos) + 1; ; n++ {
		id := wire.TodoID("todo_" + strconv.Itoa(n))
		if !slices.ContainsFunc(todos, func(t draftTodo) bool { return t.ID == id }) {
			return id
		}
	}
}

// without has no more todo at i. Who waited for it waits for what that waited for:
// the order of the others stays.
func without(todos []draftTodo, i int) []draftTodo {
	gone := todos[i]
	todos = slices.Delete(todos, i, i+1)
	for j, t := range todos {
		if !slices.Contains(t.DependsOn, gone.ID) {
			continue
		}
		todos[j].DependsOn = kept(t.DependsOn, func(id wire.TodoID) bool { return id != gone.ID })
		for _, id := range gone.DependsOn {
			if !slices.Contains(todos[j].DependsOn, id) {
				todos[j].DependsOn = append(todos[j].DependsOn, id)
			}
		}
	}
	return todos
}

// known are todos that wait only for todos that are there.
func known(todos []draftTodo) []draftTodo {
	there := make(map[wire.TodoID]bool, len(todos))
	for _, t := range todos {
		there[t.ID] = true
	}
	for i, t := range todos {
		todos[i].DependsOn = kept(t.DependsOn, func(id wire.TodoID) bool { return there[id] })
	}
	return todos
}

// kept is a copy of ids, if not all of them stay.
func kept(ids []wire.TodoID, stays func(wire.TodoID) bool) []wire.TodoID {
	if !slices.ContainsFunc(ids, func(id wire.TodoID) bool { return !stays(id) }) {
		return ids
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id wire.TodoID) bool { return !stays(id) })
}

// merge is the plan that a model made of an old one: what is frozen is kept as it
// is, the rest is as the model wants it. There may be more todos than a plan can
// have; checkGraph says so.
func merge(old, next []draftTodo, frozen map[wire.TodoID]bool) []draftTodo {
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
	merged = known(merged)
	if len(circles(merged, indexOf(merged))) == 0 {
		return merged
	}
	// What was skipped may still name what it would have waited for, and that may
	// wait for what was skipped now. It waits for nothing any more.
	for i, t := range merged {
		if _, ok := before[t.ID]; ok {
			merged[i].DependsOn = kept(t.DependsOn, func(id wire.TodoID) bool { return frozen[id] })
		}
	}
	return merged
}

// diff is what makes next of old: what is new and otherwise in the order of next,
// then what is gone.
func diff(old, next []draftTodo) []wire.PlanChange {
	before, after := indexOf(old), indexOf(next)
	changes := []wire.PlanChange{}
	for _, t := range next {
		i, ok := before[t.ID]
		switch {
		case !ok:
			changes = append(changes, wire.PlanChange{Action: wire.PlanAdd, TodoID: t.ID, Task: t.Task})
		case !same(old[i], t):
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

// same reports whether two todos are the same work. Empty lists are no lists.
func same(a, b draftTodo) bool {
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
