package policies_test

import (
	"fmt"
	"time"

	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/wire"
)

// A queue has one bounded line per key.
func ExampleQueue() {
	q := policies.NewQueue[string](2)
	for _, text := range []string{"one", "two", "three"} {
		position, ok := q.Push("monitor-0", text)
		fmt.Println(text, position, ok)
	}
	next, _ := q.Pop("monitor-0")
	fmt.Println("next:", next, "left:", q.Len("monitor-0"))
	// Output:
	// one 1 true
	// two 2 true
	// three 0 false
	// next: one left: 1
}

// A background monitor has a limited number of actions per minute.
func ExampleMonitorBudget() {
	b := policies.NewMonitorBudget(policies.BudgetLimits{ActionsPerMin: 3})
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	fmt.Println(b.Action("monitor-1", now, 2).Allowed)
	v := b.Action("monitor-1", now.Add(10*time.Second), 2)
	fmt.Println(v.Allowed, v.Kind, v.Until.Sub(now))
	// Output:
	// true
	// false actions 1m0s
}

// The timeline lists the user's actions since the last turn of the main agent.
func ExampleFormatTimeline() {
	var entries []policies.TimelineEntry
	for _, i := range []wire.UserInteraction{
		{Type: wire.DidFocusWindow, WindowID: "notes"},
		{Type: wire.DidMoveWindow, WindowID: "notes", Bounds: &wire.Bounds{X: 1, Y: 2, W: 300, H: 200}},
		{Type: wire.DidMoveWindow, WindowID: "notes", Bounds: &wire.Bounds{X: 5, Y: 2, W: 300, H: 200}},
		{Type: wire.DidCloseWindow, WindowID: "mail"},
	} {
		if e, ok := policies.UserEntry(i); ok {
			entries = policies.FoldTimeline(entries, e)
		}
	}
	fmt.Println(policies.FormatTimeline(entries))
	// Output:
	// <timeline>
	// <ui:move>notes {x:5,y:2,w:300,h:200}</ui:move>
	// <ui:close>mail</ui:close>
	// </timeline>
}

// Text of a user cannot imitate the tags of a prompt.
func ExampleContent() {
	fmt.Println(policies.Content("a <b>bold</b> text with <timeline>"))
	// Output: a <b>bold</b> text with &lt;timeline>
}

// A window that an agent of a window opens shares that agent.
func ExampleWindowConnection() {
	c := policies.NewWindowConnection()
	mail := policies.Key{Monitor: "monitor-0", Window: "mail"}
	reply := policies.Key{Monitor: "monitor-0", Window: "reply"}
	fmt.Println(c.Connect(mail, reply), c.AgentKey(mail) == c.AgentKey(reply))
	fmt.Println(c.Close(mail).Last, c.Close(reply).Last)
	// Output:
	// true true
	// false true
}

// The actions of a message are offered again for a similar message.
func ExampleReloadCache() {
	c := policies.NewReloadCache()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	said := policies.Trigger{Type: policies.TriggerMain, Text: "open my notes please"}
	c.Record(now, said, []wire.Action{wire.WindowCreate{WindowID: "notes", Title: "Notes"}}, nil)
	for _, o := range c.Options(now.Add(time.Minute), said) {
		fmt.Println(o.Label, o.Similarity, o.Actions, o.Exact)
	}
	// Output: open my notes please 1 1 true
}
