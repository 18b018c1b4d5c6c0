package workflow

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/wire"
)

func raws(texts ...string) []json.RawMessage {
	all := make([]json.RawMessage, len(texts))
	for i, s := range texts {
		all[i] = json.RawMessage(s)
	}
	return all
}

func planABC() []draftTodo {
	return []draftTodo{
		{ID: "a", Task: "A"},
		{ID: "b", Task: "B", Tool: "writer", DependsOn: []wire.TodoID{"a"}},
		{ID: "c", Task: "C", DependsOn: []wire.TodoID{"a", "b"}},
	}
}

func TestChange(t *testing.T) {
	t.Parallel()
	old := planABC()
	next, instructions, refused := applyChanges(old, map[wire.TodoID]bool{"a": true}, raws(
		`{"action":"remove","todo_id":"b"}`,
		`" make it short "`,
		`{"action":"add","todo_id":"d","task":"D","depends_on":["c","e"]}`,
		`{"action":"add","task":"no name","priority":3}`,
		`{"action":"add","todo_id":"e","task":"E","tool":"collector"}`,
		`{"action":"update","todo_id":"c","task":"C2","depends_on":["e"],"tool":null}`,
	), someTools)
	if refused != nil {
		t.Fatalf("change is refused with %+v, want it made", refused)
	}
	want := []draftTodo{
		{ID: "a", Task: "A"},
		{ID: "c", Task: "C2", DependsOn: []wire.TodoID{"e"}},
		{ID: "d", Task: "D", DependsOn: []wire.TodoID{"c", "e"}},
		{ID: "todo_4", Task: "no name", Priority: 3},
		{ID: "e", Task: "E", Tool: "collector"},
	}
	if !slices.EqualFunc(next, want, equalTodos) {
		t.Errorf("got  %s\nwant %s", compact(next), compact(want))
	}
	if !slices.Equal(instructions, []string{"make it short"}) {
		t.Errorf("instructions are %q, want [make it short]", instructions)
	}
	if !reflect.DeepEqual(old, planABC()) {
		t.Errorf("the old plan was modified to %s, want it unchanged", compact(old))
	}
	changes := []wire.PlanChange{
		{Action: wire.PlanUpdate, TodoID: "c", Task: "C2"},
		{Action: wire.PlanAdd, TodoID: "d", Task: "D"},
		{Action: wire.PlanAdd, TodoID: "todo_4", Task: "no name"},
		{Action: wire.PlanAdd, TodoID: "e", Task: "E"},
		{Action: wire.PlanRemove, TodoID: "b"},
	}
	if got := diff(old, next); !slices.Equal(got, changes) {
		t.Errorf("got  %+v\nwant %+v", got, changes)
	}
	if got := diff(old, old); got == nil || len(got) > 0 {
		t.Errorf("diff of equal plans is %v, want none", got)
	}
}

func TestChangeRefuses(t *testing.T) {
	t.Parallel()
	const bad, state = wire.CodeInvalidMessage, wire.CodeSessionInvalidState
	for mod, want := range map[string]Refusal{
		`7`:                                 {bad, "want a text or an object, got 7", "modifications[0]"},
		`null`:                              {bad, "want a text or an object, got null", "modifications[0]"},
		`" "`:                               {bad, "an instruction has 1 to 4000 characters", "modifications[0]"},
		`{"action":"drop","todo_id":"b"}`:   {bad, `want add, remove or update, got "drop"`, "modifications[0].action"},
		`{"todo_id":"b"}`:                   {bad, `want add, remove or update, got ""`, "modifications[0].action"},
		`{"action":"remove"}`:               {bad, "it is missing", "modifications[0].todo_id"},
		`{"action":"remove","todo_id":"x"}`: {bad, `there is no todo "x"`, "modifications[0].todo_id"},
		`{"action":"update","todo_id":"x"}`: {bad, `there is no todo "x"`, "modifications[0].todo_id"},
		`{"action":"add","todo_id":"b","task":"x"}`:                  {bad, `there is a todo "b" already`, "modifications[0].todo_id"},
		`{"action":"add","todo_id":"d"}`:                             {bad, "it is missing", "modifications[0].task"},
		`{"action":"add","todo_id":"d\n","task":"x"}`:                {bad, `"d\n" is no id: want at most 64 letters, digits, '_' and '-'`, "modifications[0].todo_id"},
		`{"action":"update","todo_id":"b","colour":1}`:               {bad, "there is no such field", "modifications[0].colour"},
		`{"action":"update","todo_id":"b","id":"z"}`:                 {bad, "there is no such field", "modifications[0].id"},
		`{"action":"update","todo_id":"b","tool":"x"}`:               {bad, `there is no tool "x", the tools are collector, writer`, "modifications[0].tool"},
		`{"action":"update","todo_id":"b","task":"","priority":"x"}`: {bad, `modifications[0].priority: want a number, got "x"; modifications[0].task: it is empty`, "modifications[0]"},
		`{"action":"update","todo_id":"b","depends_on":["c"]}`:       {bad, "todos b → c → b wait for each other", "modifications"},
		`{"action":"update","todo_id":"b","depends_on":["x"]}`:       {bad, `todos[1].depends_on: there is no todo "x"`, "modifications"},
		`{"action":"update","todo_id":"a","task":"x"}`:               {state, `todo "a" has begun and cannot be changed`, "modifications[0].todo_id"},
		`{"action":"remove","todo_id":"a"}`:                          {state, `todo "a" has begun and cannot be changed`, "modifications[0].todo_id"},
	} {
		next, _, refused := applyChanges(planABC(), map[wire.TodoID]bool{"a": true}, raws(mod), someTools)
		if refused == nil || *refused != want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", mod, refused, want)
		}
		if next != nil {
			t.Errorf("%s: a refused change returned the plan %s, want none", mod, compact(next))
		}
	}
	if _, _, refused := applyChanges(planABC(), nil, make([]json.RawMessage, maxChanges+1), nil); refused == nil || refused.Field != "modifications" {
		t.Errorf("too many todos: refused with %+v, want a refusal of modifications", refused)
	}
	all := raws(`{"action":"remove","todo_id":"a"}`, `{"action":"remove","todo_id":"b"}`, `{"action":"remove","todo_id":"c"}`)
	if _, _, refused := applyChanges(planABC(), nil, all, nil); refused == nil || refused.Reason != "todos: there are none" {
		t.Errorf(`an empty plan: refused with %+v, want "todos: there are none"`, refused)
	}
}

func TestDependentsOfRemovedTodoKeepTheirOrder(t *testing.T) {
	t.Parallel()
	old := append(planABC(), draftTodo{ID: "d", Task: "D", DependsOn: []wire.TodoID{"b"}})
	next, _, refused := applyChanges(old, nil, raws(`{"action":"remove","todo_id":"b"}`), nil)
	if refused != nil {
		t.Fatalf("change is refused with %+v, want it made", refused)
	}
	want := []draftTodo{{ID: "a", Task: "A"}, {ID: "c", Task: "C", DependsOn: []wire.TodoID{"a"}}, {ID: "d", Task: "D", DependsOn: []wire.TodoID{"a"}}}
	if !slices.EqualFunc(next, want, equalTodos) {
		t.Errorf("got  %s\nwant %s", compact(next), compact(want))
	}
	if !slices.Equal(old[3].DependsOn, []wire.TodoID{"b"}) {
		t.Errorf("the old plan was modified to %s, want it unchanged", compact(old))
	}
}

// modOf returns the modification that makes a change.
func modOf(c wire.PlanChange, next []draftTodo) json.RawMessage {
	fields := map[string]any{"action": c.Action, "todo_id": c.TodoID}
	if c.Action != wire.PlanRemove {
		t := next[indexOf(next)[c.TodoID]]
		fields["task"], fields["depends_on"], fields["priority"] = t.Task, t.DependsOn, t.Priority
	}
	return compact(fields)
}

func TestDiffProducesNextPlan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		old, next := someTodos().Draw(t, "old"), someTodos().Draw(t, "next")
		// Removals come last: a removal also removes dependencies of other todos, which must
		// have been set before.
		var mods []json.RawMessage
		for _, c := range diff(old, next) {
			mods = append(mods, modOf(c, next))
		}
		got, _, refused := applyChanges(old, nil, mods, nil)
		if refused != nil {
			t.Fatalf("change is refused with %+v, want it made", refused)
		}
		byID := func(a, b draftTodo) int { return strings.Compare(string(a.ID), string(b.ID)) }
		if !slices.EqualFunc(slices.SortedFunc(slices.Values(got), byID), slices.SortedFunc(slices.Values(next), byID), equalTodos) {
			t.Fatalf("got  %s\nwant %s", compact(got), compact(next))
		}
		if again := diff(got, next); len(again) > 0 {
			t.Fatalf("the diff after all changes is %v, want none", again)
		}
	})
}

func TestMergeKeepsFrozenTodos(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		old, next := someTodos().Draw(t, "old"), someTodos().Draw(t, "next")
		frozen := make(map[wire.TodoID]bool)
		loose := make(map[wire.TodoID]bool) // skipped before what they wait for
		for _, todo := range old {
			if !rapid.Bool().Draw(t, "frozen") {
				continue
			}
			frozen[todo.ID] = true
		}
		for _, todo := range old {
			if frozen[todo.ID] && slices.ContainsFunc(todo.DependsOn, func(id wire.TodoID) bool { return !frozen[id] }) {
				loose[todo.ID] = true
			}
		}
		before := compact([][]draftTodo{old, next})
		got := mergePlan(old, next, frozen)
		if string(compact([][]draftTodo{old, next})) != string(before) {
			t.Fatal("mergePlan modified its arguments, want them unchanged")
		}
		if err := checkGraph(got); err != nil {
			t.Fatal(err)
		}
		index, was, asked := indexOf(got), indexOf(old), indexOf(next)
		for id := range frozen {
			i, ok := index[id]
			if !ok {
				t.Fatalf("frozen todo %s is missing, want it kept", id)
			}
			is, before := got[i], old[was[id]]
			if loose[id] {
				is.DependsOn, before.DependsOn = nil, nil
			}
			if !equalTodos(is, before) {
				t.Fatalf("got  %s\nwant %s", compact(is), compact(before))
			}
		}
		for id, i := range asked {
			if !frozen[id] && !equalTodos(got[index[id]], next[i]) {
				t.Fatalf("todo %s is %s, want %s", id, compact(got[index[id]]), compact(next[i]))
			}
		}
		want := maps.Clone(frozen)
		for id := range asked {
			want[id] = true
		}
		if len(got) != len(want) {
			t.Fatalf("merged plan is %s, want todos %v", compact(got), want)
		}
	})
}

func FuzzChange(f *testing.F) {
	f.Add(`[{"action":"add","todo_id":"d","task":"D","depends_on":["c"]},"shorter",{"action":"remove","todo_id":"b"}]`)
	f.Add(`[{"action":"update","todo_id":"c","inputs":[{"field":"f","question":"q","input_type":"confirm"}]}]`)
	f.Fuzz(func(t *testing.T, text string) {
		var mods []json.RawMessage
		if json.Unmarshal([]byte(text), &mods) != nil {
			return
		}
		next, _, refused := applyChanges(planABC(), map[wire.TodoID]bool{"a": true}, mods, someTools)
		if refused != nil {
			if refused.Reason == "" || refused.Field == "" {
				t.Errorf("a refusal is %+v, want a reason and a field", refused)
			}
			return
		}
		if err := checkGraph(next); err != nil {
			t.Error(err)
		}
		if i, ok := indexOf(next)["a"]; !ok || !equalTodos(next[i], planABC()[0]) {
			t.Errorf("frozen todo a was changed, want it unchanged: %s", compact(next))
		}
		if _, err := readDraft(string(compact(draft{next})), someTools); err != nil {
			t.Errorf("the changed plan is invalid: %v", err)
		}
	})
}
