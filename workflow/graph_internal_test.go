package workflow

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/wire"
)

func TestGraphOfAPlan(t *testing.T) {
	t.Parallel()
	todos := []draftTodo{
		{ID: "a", Task: `Say "hi"` + "\n  to #1 <b> `x` 리뷰", EstimatedDurationSec: 10, EstimatedCostUSD: 0.25},
		{ID: "b", Task: "B", EstimatedDurationSec: 30, EstimatedCostUSD: 0.5},
		{ID: "c", Task: strings.Repeat("c", maxLabel+1), DependsOn: []wire.TodoID{"a", "b"}, EstimatedDurationSec: 5},
	}
	want := "graph LR\n" +
		"  t1[\"Say #34;hi#34; to #35;1 #60;b#62; #96;x#96; 리뷰\"]\n" +
		"  t2[\"B\"]\n" +
		"  t3[\"" + strings.Repeat("c", maxLabel) + "…\"]\n" +
		"  t1 --> t3\n  t2 --> t3"
	if got := mermaid(todos); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if seconds, usd := estimate(todos); seconds != 35 || usd != 0.75 {
		t.Errorf("got %v s and %v $, want 35 and 0.75", seconds, usd)
	}
	graph := graphOf(todos)
	if none, ok := graph.Get("a"); !ok || none == nil || len(none) != 0 {
		t.Errorf("a depends on %v, want none", none)
	}
	if both, _ := graph.Get("c"); !slices.Equal(both, []wire.TodoID{"a", "b"}) {
		t.Errorf("c depends on %v, want both", both)
	}
}

func TestEstimateOfCyclicGraphEnds(t *testing.T) {
	t.Parallel()
	seconds, _ := estimate([]draftTodo{
		{ID: "a", DependsOn: []wire.TodoID{"b"}, EstimatedDurationSec: 1},
		{ID: "b", DependsOn: []wire.TodoID{"a", "x"}, EstimatedDurationSec: 1},
	})
	if seconds != 2 {
		t.Errorf("estimate of a cyclic graph is %v seconds, want 2", seconds)
	}
}

// someTodos generates plans whose todos have few distinct ids.
func someTodos() *rapid.Generator[[]draftTodo] {
	return rapid.Custom(func(t *rapid.T) []draftTodo {
		ids := rapid.SliceOfNDistinct(rapid.SampledFrom([]wire.TodoID{"a", "b", "c", "d", "e", "f", "g", "h"}), 1, 8, rapid.ID[wire.TodoID]).Draw(t, "ids")
		todos := make([]draftTodo, len(ids))
		for i, id := range ids {
			todos[i] = draftTodo{ID: id, Task: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "task"), Priority: rapid.IntRange(0, 1).Draw(t, "priority")}
			for _, before := range ids[:i] {
				if rapid.Bool().Draw(t, "depends") {
					todos[i].DependsOn = append(todos[i].DependsOn, before)
				}
			}
		}
		return rapid.Permutation(todos).Draw(t, "todos")
	})
}

func TestCyclesAreFoundAndNamed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		todos := someTodos().Draw(t, "plan")
		if err := checkGraph(todos); err != nil {
			t.Fatalf("a graph without cycles: %v", err)
		}
		// An edge against the order closes a cycle if there is a path.
		from, to := rapid.IntRange(0, len(todos)-1).Draw(t, "from"), rapid.IntRange(0, len(todos)-1).Draw(t, "to")
		way := reaches(todos, todos[to].ID, todos[from].ID)
		todos[from].DependsOn = append(todos[from].DependsOn, todos[to].ID)
		err := checkGraph(todos)
		if (err != nil) != way {
			t.Fatalf("with the edge from %s to %s: error %v, want one: %v", todos[from].ID, todos[to].ID, err, way)
		}
		if err != nil && (!strings.Contains(err.Error(), string(todos[from].ID)) || !strings.Contains(err.Error(), "wait")) {
			t.Fatalf("the error is %v, want the cycle of %s in it", err, todos[from].ID)
		}
	})
}

// reaches reports whether from depends on to, directly or indirectly.
func reaches(todos []draftTodo, from, to wire.TodoID) bool {
	if from == to {
		return true
	}
	at := slices.IndexFunc(todos, func(t draftTodo) bool { return t.ID == from })
	return slices.ContainsFunc(todos[at].DependsOn, func(id wire.TodoID) bool { return reaches(todos, id, to) })
}

// diagramLine matches the valid lines of a diagram.
var diagramLine = regexp.MustCompile(`^(graph LR|  t\d+\["(?:[\pL\pN\pM .,_…-]|#\d+;)*"\]|  t\d+ --> t\d+)$`)

func TestDiagramLinesAreEscaped(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		task := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.RuneFrom([]rune("\"`;#%\n\r\u2028\u202e[](){}<>&| -end")))).Draw(t, "task")
		all := strings.Split(mermaid([]draftTodo{{ID: "a", Task: task}, {ID: "b", Task: task, DependsOn: []wire.TodoID{"a"}}}), "\n")
		if len(all) != 4 {
			t.Fatalf("diagram %q has %d lines, want 4", all, len(all))
		}
		for _, l := range all {
			if !diagramLine.MatchString(l) {
				t.Fatalf("diagram has the line %q, want one that matches %s", l, diagramLine)
			}
		}
	})
}
