package workflow

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/everdesk/everdesk/wire"
)

// maxLabel bounds the text of a task in a diagram, in characters.
const maxLabel = 60

// checkGraph reports the faults of todos as a graph: their number, duplicate ids, unknown
// dependencies and cycles.
func checkGraph(todos []draftTodo) error {
	var c checker
	c.graph(todos)
	return c.err()
}

func (c *checker) graph(todos []draftTodo) {
	if len(todos) == 0 {
		c.addFault("todos", "there are none")
	}
	if len(todos) > MaxTodos {
		c.addFault("todos", "there are %d, at most %d are allowed", len(todos), MaxTodos)
	}
	index := make(map[wire.TodoID]int, len(todos))
	for i, t := range todos {
		if t.ID == "" {
			continue // reported when it was decoded
		}
		if first, twice := index[t.ID]; twice {
			c.addFault(placeOf("todos", i)+".id", "%q is that of todos[%d]", t.ID, first)
			continue
		}
		index[t.ID] = i
	}
	for i, t := range todos {
		for _, id := range t.DependsOn {
			if _, ok := index[id]; !ok {
				c.addFault(placeOf("todos", i)+".depends_on", "there is no todo %q", id)
			}
		}
	}
	for _, circle := range cycles(todos, index) {
		if len(circle) == 2 {
			c.addFault("", "todo %s waits for itself", circle[0])
			continue
		}
		c.addFault("", "todos %s wait for each other", joinIDs(circle, " → "))
	}
}

// cycles returns the cycles in the dependencies, each with its first todo at both ends: one
// for each todo at which a cycle was found.
func cycles(todos []draftTodo, index map[wire.TodoID]int) [][]wire.TodoID {
	var found [][]wire.TodoID
	var way []wire.TodoID
	done := make(map[wire.TodoID]bool, len(index))
	var follow func(id wire.TodoID)
	follow = func(id wire.TodoID) {
		if at := slices.Index(way, id); at >= 0 {
			found = append(found, append(slices.Clone(way[at:]), id))
			return
		}
		i, ok := index[id]
		if !ok || done[id] {
			return
		}
		way = append(way, id)
		for _, next := range todos[i].DependsOn {
			follow(next)
		}
		way = way[:len(way)-1]
		done[id] = true
	}
	for _, t := range todos {
		follow(t.ID)
	}
	return found
}

func joinIDs(ids []wire.TodoID, between string) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = string(id)
	}
	return strings.Join(names, between)
}

// graphOf returns the dependencies of each todo.
func graphOf(todos []draftTodo) wire.Object[wire.TodoID, []wire.TodoID] {
	graph := make(wire.Object[wire.TodoID, []wire.TodoID], 0, len(todos))
	for _, t := range todos {
		graph = append(graph, wire.Member[wire.TodoID, []wire.TodoID]{Key: t.ID, Value: append([]wire.TodoID{}, t.DependsOn...)})
	}
	return graph
}

// mermaid returns the plan as a Mermaid diagram. Node names are generated, so that no text
// of a user or model is outside quotes.
func mermaid(todos []draftTodo) string {
	var b strings.Builder
	b.WriteString("graph LR")
	node := make(map[wire.TodoID]int, len(todos))
	for i, t := range todos {
		node[t.ID] = i + 1
		fmt.Fprintf(&b, "\n  t%d[\"%s\"]", i+1, mermaidLabel(t.Task))
	}
	for i, t := range todos {
		for _, id := range t.DependsOn {
			if from, ok := node[id]; ok {
				fmt.Fprintf(&b, "\n  t%d --> t%d", from, i+1)
			}
		}
	}
	return b.String()
}

// mermaidLabel escapes a text for the quotes of a Mermaid diagram: every character with a
// possible meaning becomes a numeric entity.
func mermaidLabel(s string) string {
	var b strings.Builder
	n := 0
	for _, r := range strings.Join(strings.Fields(oneLine(s)), " ") {
		if n++; n > maxLabel {
			b.WriteString("…")
			break
		}
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r), r == ' ', r == '.', r == ',', r == '-', r == '_':
			b.WriteRune(r)
		case unicode.Is(unicode.Cf, r):
			// Format characters are invisible, and some reverse the text direction.
		default:
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}

// estimate returns the duration of the plan if everything that can run in parallel does,
// and its cost.
func estimate(todos []draftTodo) (seconds, usd float64) {
	index := make(map[wire.TodoID]int, len(todos))
	for i, t := range todos {
		index[t.ID] = i
		usd += t.EstimatedCostUSD
	}
	seen := make([]bool, len(todos))
	ends := make([]float64, len(todos))
	var end func(i int) float64
	end = func(i int) float64 {
		if seen[i] {
			return ends[i] // 0 within a cycle
		}
		seen[i] = true
		begin := 0.0
		for _, id := range todos[i].DependsOn {
			if j, ok := index[id]; ok {
				begin = max(begin, end(j))
			}
		}
		ends[i] = begin + todos[i].EstimatedDurationSec
		return ends[i]
	}
	for i := range todos {
		seconds = max(seconds, end(i))
	}
	return seconds, usd
}
