package history_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// taskStore is a list of tasks and the content of its store table.
type taskStore struct {
	history.Tasks
	table map[string][]byte
}

func newTaskStore() *taskStore { return &taskStore{table: map[string][]byte{}} }

func (s *taskStore) keep(ops []store.Op) {
	for _, op := range ops {
		if op.Kind == store.OpSet {
			s.table[op.Field] = op.Values[0]
		} else {
			delete(s.table, op.Field)
		}
	}
}

// add creates a task with a cost and subtasks, which need not exist.
func (s *taskStore) add(n int, parent wire.TaskID, cost float64, children ...wire.TaskID) wire.TaskID {
	id := wire.TaskID(fmt.Sprintf("t%d", n))
	s.keep(s.Upsert(id, func(i *history.Item) {
		i.TS, i.Task, i.MonitorID = wire.Millis(1000+n), fmt.Sprintf("task %d", n), "monitor-0"
		i.ParentTaskID, i.TotalCost, i.ChildIDs = parent, cost, children
	}))
	return id
}

func taskIDs(found []history.FoundTask) string {
	var out []string
	for _, f := range found {
		out = append(out, string(f.ID))
	}
	return strings.Join(out, " ")
}

// same fails unless the store table matches the list.
func (s *taskStore) same(t interface{ Fatalf(string, ...any) }) {
	again, err := history.LoadTasks(s.table)
	if err != nil {
		t.Fatalf("%v", err)
	}
	was, _ := s.Find(history.TaskQuery{})
	is, _ := again.Find(history.TaskQuery{})
	if diff := cmp.Diff(was, is); diff != "" {
		t.Fatalf("the stored list differs, want the same (-memory +stored):\n%s", diff)
	}
}

func TestTasksBeginEmpty(t *testing.T) {
	t.Parallel()
	s := newTaskStore()
	if _, ok := s.Get("t1"); ok || s.Len() != 0 {
		t.Errorf("a new store has %d tasks, t1: %v, want none", s.Len(), ok)
	}
	if found, more := s.Find(history.TaskQuery{Text: "x"}); len(found) != 0 || found == nil || more {
		t.Errorf("a search in a new store finds %v, more %v, want an empty list", found, more)
	}
	if ops := append(s.Delete("t1"), s.Change("t1", func(*history.Item) {})...); len(ops) != 0 {
		t.Errorf("changes of no task make the ops %v, want none", ops)
	}
}

// Fields that a change does not touch stay; fields it clears are empty.
func TestUpsertMerges(t *testing.T) {
	t.Parallel()
	s := newTaskStore()
	s.add(1, "", 1)
	s.keep(s.Upsert("t1", func(i *history.Item) { i.MarkDelegated("t2") }))
	s.add(2, "t1", 2)
	s.keep(s.Upsert("t1", func(i *history.Item) { i.SetUsage(providers.Usage{Input: 3, Output: 4, USD: 0.5}) }))
	i, _ := s.Get("t1")
	if i.Status != history.TaskDelegated || i.AwaitingChildID != "t2" || i.DelegatedToID != "t2" || i.TokensIn != 3 || i.TotalCost != 0.5 || i.Task != "task 1" {
		t.Errorf("a delegated task is %+v, want it to wait for t2 with its own text, tokens and cost", i)
	}
	s.keep(s.Upsert("t1", func(i *history.Item) { i.MarkReturned("t2", "", "done that") }))
	i, _ = s.Get("t1")
	if i.Status != history.TaskActive || i.AwaitingChildID != "" || i.CompletedByChildID != "t2" || i.CompletionResultSummary != "done that" || len(i.ChildIDs) != 1 {
		t.Errorf("after the result the task is %+v, want it active, completed by t2 with its summary", i)
	}
	s.keep(s.Upsert("t1", func(i *history.Item) { i.MarkEnded(providers.Failed, "my own") }))
	i, _ = s.Get("t1")
	if i.Status != history.TaskCompleted || i.State() != "failed" || i.CompletionResultSummary != "my own" || i.CompletedByChildID != "t2" {
		t.Errorf("a failed task is %+v, want it completed as failed with its own summary", i)
	}
	if strings.Contains(string(s.table["t1"]), "awaitingChildId") {
		t.Errorf("the task is stored as %s, want it without awaitingChildId", s.table["t1"])
	}
	s.same(t)
}

// A task that waits for several subtasks is delegated until the last has returned.
func TestSeveralSubtasks(t *testing.T) {
	t.Parallel()
	s := newTaskStore()
	s.add(1, "", 0)
	s.keep(s.Upsert("t1", func(i *history.Item) { i.MarkDelegated("t2"); i.MarkDelegated("t3"); i.MarkDelegated("t3") }))
	s.keep(s.Upsert("t1", func(i *history.Item) { i.MarkReturned("t3", "t2", "c") }))
	if i, _ := s.Get("t1"); i.Status != history.TaskDelegated || i.AwaitingChildID != "t2" || len(i.ChildIDs) != 2 {
		t.Errorf("after one of two results the task is %+v, want it to wait for t2", i)
	}
	s.keep(s.Upsert("t1", func(i *history.Item) { i.MarkReturned("t2", "", "b") }))
	if i, _ := s.Get("t1"); i.Status != history.TaskActive || i.CompletedByChildID != "t2" {
		t.Errorf("after both results the task is %+v, want it active, completed by t2", i)
	}
}

// Every item has a root, even after its parents were dropped.
func TestRootsOfTasks(t *testing.T) {
	t.Parallel()
	s := newTaskStore()
	a := s.add(1, "", 0)
	b := s.add(2, a, 0)
	c := s.add(3, b, 0)
	for _, id := range []wire.TaskID{a, b, c} {
		if i, _ := s.Get(id); i.RootTaskID != a {
			t.Errorf("the root of %s is %s, want %s", id, i.RootTaskID, a)
		}
	}
	if i, _ := s.Get(s.add(4, "t99", 0)); i.RootTaskID != "t99" {
		t.Errorf("a task of an unknown parent is %+v, want the root t99", i)
	}
	if i, _ := s.Get(s.add(5, "t5", 0)); i.RootTaskID != "t5" {
		t.Errorf("a task that is its own parent is %+v, want the root t5", i)
	}
}

func TestTasksAreFew(t *testing.T) {
	t.Parallel()
	s := newTaskStore()
	for n := range history.MaxTasks + 20 {
		s.add(n+1, "", 0)
	}
	if _, ok := s.Get("t20"); ok || s.Len() != history.MaxTasks || len(s.table) != history.MaxTasks {
		t.Errorf("%d tasks in memory, %d stored, want %d, without t20", s.Len(), len(s.table), history.MaxTasks)
	}
	s.keep(s.Upsert("t600", func(i *history.Item) {
		i.TS, i.Task, i.CompletionResultSummary = 9999, strings.Repeat("가", 5000), strings.Repeat("b", 5000)
		for n := range 500 {
			i.MarkDelegated(wire.TaskID(fmt.Sprintf("t%d", 1000+n)))
		}
	}))
	i, _ := s.Get("t600")
	if len(i.Task) > 4000 || len(i.CompletionResultSummary) > 600 || len(i.ChildIDs) != 100 || i.ChildIDs[99] != "t1499" {
		t.Errorf("the task has a text of %d bytes, a summary of %d and %d children, want at most 4000, 600 and the newest 100", len(i.Task), len(i.CompletionResultSummary), len(i.ChildIDs))
	}
	s.same(t)
}

func TestFindTasks(t *testing.T) {
	t.Parallel()
	s := newTaskStore()
	for n, task := range []string{"Write a Poem", "시를 써 주세요", "count files", "한글 처리", "write tests"} {
		id := s.add(n+1, "", 0)
		s.keep(s.Upsert(id, func(i *history.Item) {
			i.Task = task
			if n == 2 {
				i.MarkEnded(providers.Completed, "There are 12 FILES, 열두 개")
			}
			if n == 4 {
				i.MonitorID = "monitor-1"
				i.MarkEnded(providers.Interrupted, "")
			}
		}))
	}
	for name, c := range map[string]struct {
		q    history.TaskQuery
		want string
		more bool
	}{
		"all, the newest first":     {history.TaskQuery{}, "t5 t4 t3 t2 t1", false},
		"a word":                    {history.TaskQuery{Text: "WRITE"}, "t5 t1", false},
		"two words":                 {history.TaskQuery{Text: " poem  write"}, "t1", false},
		"what came of it":           {history.TaskQuery{Text: "12 files"}, "t3", false},
		"Korean":                    {history.TaskQuery{Text: "시를"}, "t2", false},
		"Korean in the result":      {history.TaskQuery{Text: "열두"}, "t3", false},
		"Korean in pieces":          {history.TaskQuery{Text: "\u1112\u1161\u11ab\u1100\u1173\u11af"}, "t4", false},
		"nothing":                   {history.TaskQuery{Text: "nothing"}, "", false},
		"active":                    {history.TaskQuery{State: "active"}, "t4 t2 t1", false},
		"completed":                 {history.TaskQuery{State: "completed"}, "t3", false},
		"interrupted":               {history.TaskQuery{State: "interrupted"}, "t5", false},
		"a monitor":                 {history.TaskQuery{Monitor: "monitor-1"}, "t5", false},
		"a page":                    {history.TaskQuery{Limit: 2}, "t5 t4", true},
		"the next":                  {history.TaskQuery{Limit: 2, Before: "t4"}, "t3 t2", true},
		"the last":                  {history.TaskQuery{Limit: 2, Before: "t2"}, "t1", false},
		"behind one that is gone":   {history.TaskQuery{Before: "t40", Limit: 1}, "t5", true},
		"the last page is full":     {history.TaskQuery{Limit: 1, Before: "t2"}, "t1", false},
		"before what is no task id": {history.TaskQuery{Before: "x"}, "", false},
	} {
		if found, more := s.Find(c.q); taskIDs(found) != c.want || more != c.more {
			t.Errorf("%s: %s, more %v, want %s, more %v", name, taskIDs(found), more, c.want, c.more)
		}
	}
}

func TestCostsOfTasks(t *testing.T) {
	t.Parallel()
	s := newTaskStore()
	s.add(1, "", 1)                     // no subtasks
	s.add(2, "", 1, "t1")               // one subtask
	s.add(3, "", 1, "t1", "t2")         // nested subtasks; t1 is in two branches
	s.add(4, "", 1, "t5")               // a cycle
	s.add(5, "t4", 2, "t4", "t5")       // part of the cycle
	s.add(6, "", 1, "t98", "t1", "t99") // some subtasks are missing
	s.add(7, "", 0, "t1")               // no cost of its own
	for id, want := range map[wire.TaskID]history.Costs{
		"t1": {Own: 1, Total: 1}, "t2": {Own: 1, Children: 1, Total: 2}, "t3": {Own: 1, Children: 3, Total: 4},
		"t4": {Own: 1, Children: 2, Total: 3}, "t5": {Own: 2, Children: 1, Total: 3},
		"t6": {Own: 1, Children: 1, Total: 2}, "t7": {Own: 0, Children: 1, Total: 1}, "t99": {},
	} {
		if got := s.Costs(id); got != want {
			t.Errorf("%s: %+v, want %+v", id, got, want)
		}
	}
	// The traversal ends although the number of paths is exponential.
	for n := range 60 {
		next := wire.TaskID(fmt.Sprintf("t%d", 102+n))
		s.add(101+n, "", 1, next, next)
	}
	if s.Costs("t101").Total < 60 {
		t.Errorf("the costs of t101 are %v in total, want 60 or more", s.Costs("t101").Total)
	}
}

func TestDeleteTasks(t *testing.T) {
	t.Parallel()
	s := newTaskStore()
	a := s.add(1, "", 0)
	b := s.add(2, a, 0)
	s.add(3, b, 0)
	d := s.add(4, "", 0)
	s.keep(s.Upsert(d, func(i *history.Item) { i.MarkDelegated("t5") }))
	e := s.add(5, d, 0)
	s.keep(s.Upsert(a, func(i *history.Item) { i.ParentTaskID = "t3" })) // a cycle
	s.keep(s.Delete(a, a, "t77"))
	if found, _ := s.Find(history.TaskQuery{}); taskIDs(found) != "t5 t4" {
		t.Errorf("after the deletion the tasks are %s, want t5 t4", taskIDs(found))
	}
	// No task waits for a deleted one.
	s.keep(s.Delete(e))
	if i, _ := s.Get(d); i.Status != history.TaskActive || i.AwaitingChildID != "" {
		t.Errorf("the task whose child was deleted is %+v, want it active without a child", i)
	}
	s.same(t)
}

// A rewind deletes the tasks of its monitor whose row is removed, and their subtasks.
func TestRewindTasks(t *testing.T) {
	t.Parallel()
	s := newTaskStore()
	for n := range 6 {
		s.add(n+1, "", 0)
	}
	s.keep(s.Upsert("t6", func(i *history.Item) { i.ParentTaskID, i.TS = "t4", 1 }))
	s.keep(s.Upsert("t5", func(i *history.Item) { i.MonitorID = "monitor-1" }))
	s.keep(s.Rewind("monitor-0", 1004))
	if found, _ := s.Find(history.TaskQuery{}); taskIDs(found) != "t5 t3 t2 t1" {
		t.Errorf("after the rewind the tasks are %s, want t5 t3 t2 t1", taskIDs(found))
	}
	s.same(t)
}

func TestTasksThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, value := range []string{``, `[]`, `{"id":"t2"}`, `{"id":7}`} {
		if _, err := history.LoadTasks(map[string][]byte{"t1": []byte(value)}); err == nil {
			t.Errorf("%q was restored, want an error", value)
		}
	}
}

func endRow(t *testing.T, ts wire.Millis, agent wire.AgentID, message wire.MessageID, end history.TurnEnd) wire.UIRow {
	t.Helper()
	text, err := json.Marshal(end)
	if err != nil {
		t.Fatal(err)
	}
	return wire.UIRow{Say: wire.SayAPIReqFinished, TS: ts, AgentID: agent, MessageID: message, MonitorID: "monitor-0", Text: string(text)}
}

func TestRebuildTasks(t *testing.T) {
	t.Parallel()
	l := history.RebuildTasks([]wire.UIRow{
		endRow(t, 5, "main-old", "m0", history.TurnEnd{Outcome: providers.Completed, DurationMS: 2}), // a row without a task id
		{Say: wire.SayUserFeedback, TS: 10, MessageID: "m1", Text: "do it", MonitorID: "monitor-0"},
		{Say: wire.SaySubtaskResult, TS: 12, AgentID: "task-m1-1", Text: "did a part"},
		endRow(t, 13, "task-m1-1", "", history.TurnEnd{
			Outcome: providers.Interrupted, TaskID: "t3", ParentTaskID: "t2", Task: "a part", CostUSD: 0.25, Provider: "demo", DurationMS: 2,
		}),
		{Say: wire.SayText, TS: 14, AgentID: "main-m1", Text: "all is done"},
		endRow(t, 15, "main-m1", "m1", history.TurnEnd{Outcome: providers.Completed, TaskID: "t2", InputTokens: 7, CostUSD: 1}),
		{Say: wire.SayAPIReqFinished, TS: 16, Text: "not JSON"},
		{Say: wire.SayUserFeedback, TS: 17, MessageID: "m2", Text: "that is not done"},
	})
	found, _ := l.Find(history.TaskQuery{})
	want := []history.FoundTask{{
		Item: history.Item{
			ID: "t3", RootTaskID: "t2", ParentTaskID: "t2", Number: 3, TS: 11, Task: "a part", TotalCost: 0.25, APIConfigName: "demo",
			Status: history.TaskCompleted, Outcome: providers.Interrupted, CompletionResultSummary: "did a part",
			MonitorID: "monitor-0", AgentID: "task-m1-1",
		}, Costs: history.Costs{Own: 0.25, Total: 0.25},
	}, {
		Item: history.Item{
			ID: "t2", RootTaskID: "t2", Number: 2, TS: 10, Task: "do it", TokensIn: 7, TotalCost: 1,
			Status: history.TaskCompleted, Outcome: providers.Completed, DelegatedToID: "t3", ChildIDs: []wire.TaskID{"t3"},
			CompletedByChildID: "t3", CompletionResultSummary: "all is done", MonitorID: "monitor-0", AgentID: "main-m1", MessageID: "m1",
		}, Costs: history.Costs{Own: 1, Children: 0.25, Total: 1.25},
	}, {
		Item: history.Item{
			ID: "r5", RootTaskID: "r5", TS: 3, Status: history.TaskCompleted, Outcome: providers.Completed,
			MonitorID: "monitor-0", AgentID: "main-old", MessageID: "m0",
		},
	}}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// After any operations the store table matches, every item has a root, and no task waits
// for a deleted one.
func TestTasksAreKept(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := newTaskStore()
		some := func() wire.TaskID {
			return wire.TaskID(fmt.Sprintf("t%d", rapid.IntRange(1, 9).Draw(t, "task")))
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0, 1:
				s.add(rapid.IntRange(1, 9).Draw(t, "n"), "", 1)
			case 2:
				parent, child := some(), some()
				if _, ok := s.Get(parent); ok {
					s.keep(s.Upsert(child, func(i *history.Item) { i.ParentTaskID = parent }))
					s.keep(s.Change(parent, func(i *history.Item) { i.MarkDelegated(child) }))
				}
			case 3:
				s.keep(s.Delete(some()))
			case 4:
				s.keep(s.Rewind("monitor-0", wire.Millis(1000+rapid.IntRange(1, 9).Draw(t, "to"))))
			}
			s.same(t)
		}
		all := slices.Collect(maps.Keys(s.table))
		for _, id := range all {
			i, _ := s.Get(wire.TaskID(id))
			if i.RootTaskID == "" || i.AwaitingChildID != "" && s.table[string(i.AwaitingChildID)] == nil {
				t.Fatalf("the task %+v has no root or waits for a task that does not exist, want neither", i)
			}
			s.Costs(i.ID)
		}
	})
}
