package broadcast_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/wire"
)

// say publishes at a time of its own.
func (b *bench) say(at time.Duration, p wire.ServerPayload) {
	b.t.Helper()
	events := b.src.commit(p)
	events[0].Time = epoch.Add(at)
	b.Publish(events)
}

// spoken sums up a frame of the desktop dialect.
func spoken(e wire.Event) string {
	switch p := e.Data.(type) {
	case wire.AgentThinking:
		return fmt.Sprintf("%s thinks %q", p.AgentID, p.Content)
	case wire.AgentResponse:
		return fmt.Sprintf("%s says %q %v", p.AgentID, p.Content, p.IsComplete)
	case wire.ConnectionStatus:
		return "hello " + string(p.SessionID)
	}
	return fmt.Sprintf("%T", e.Data)
}

func (c *tab) hears(want ...string) {
	c.t.Helper()
	for _, w := range want {
		if got := spoken(c.next()); got != w {
			c.t.Fatalf("got %s, want %s", got, w)
		}
	}
}

func TestDesktopHearsWholeTexts(t *testing.T) {
	t.Parallel()
	b := newBench(t, broadcast.Config{})
	b.src.state.Agents = []wire.AgentState{{Role: "a", Kind: wire.AgentMain, Status: wire.AgentStatusRunning, Text: "so 😀"}}
	c := b.attach(broadcast.TabConfig{Form: broadcast.FormDesktop, ResumeFrom: "1-1"})
	c.hears("hello ses-1", `a says "so 😀" false`)
	response := func(agent wire.AgentID, delta string, offset int) wire.AgentResponse {
		return wire.AgentResponse{AgentID: agent, Delta: delta, Offset: offset}
	}
	end := func(r wire.AgentResponse) wire.AgentResponse {
		r.IsComplete, r.Outcome = true, wire.OutcomeCompleted
		return r
	}
	ms := time.Millisecond
	b.say(0, response("a", " far", 5))
	c.hears(`a says "so 😀 far" false`)
	b.say(50*ms, response("a", ", so", 9)) // too soon after the last
	b.say(60*ms, wire.AgentThinking{AgentID: "b", Delta: "hm"})
	c.hears(`b thinks "hm"`)
	b.say(70*ms, wire.AgentThinking{AgentID: "b", Delta: "m", Offset: 2})
	b.say(80*ms, response("b", "well", 0)) // shows what was thought before
	c.hears(`b thinks "hmm"`, `b says "well" false`)
	b.say(199*ms, response("a", " go", 13))
	b.say(200*ms, response("a", "od", 16))
	c.hears(`a says "so 😀 far, so good" false`)
	b.say(210*ms, response("a", "!", 18))
	b.say(220*ms, wire.ToolProgress{AgentID: "a", ToolName: "a:b", Status: wire.ToolRunning})
	c.hears(`a says "so 😀 far, so good!" false`, "wire.ToolProgress")
	b.say(230*ms, response("a", "?", 18)) // instead of the mark
	b.say(240*ms, end(response("a", "", 19)))
	c.hears(`a says "so 😀 far, so good?" true`)
	b.say(250*ms, end(response("b", "", 4)))
	c.hears(`b says "well" true`)
	b.say(260*ms, response("a", "anew", 0)) // its text was dropped at the end
	c.hears(`a says "anew" false`)
	b.say(270*ms, response("x", "of which the beginning is not known", 7))
	b.say(280*ms, end(response("x", "", 40)))
	c.hears(`x says "" true`)
	b.say(290*ms, wire.MessageUpdated{Action: wire.RowCreated, Message: wire.UIRow{TS: 1, Type: wire.RowSay, Say: wire.SayText}})
	b.say(300*ms, response("x", "a😀b", 0))
	c.hears(`x says "a😀b" false`)
	b.say(600*ms, response("x", "c", 2)) // in the middle of a character
	c.hears(`x says "ac" false`)
}

// A tab that joins later is served from the same ring.
func TestDesktopTabsShareTheirText(t *testing.T) {
	t.Parallel()
	b := newBench(t, broadcast.Config{})
	first := b.attach(broadcast.TabConfig{Form: broadcast.FormDesktop})
	first.hears("hello ses-1")
	b.say(0, wire.AgentResponse{AgentID: "a", Delta: "one"})
	first.hears(`a says "one" false`)
	second := b.attach(broadcast.TabConfig{Form: broadcast.FormDesktop})
	second.hears("hello ses-1")
	b.say(time.Second, wire.AgentResponse{AgentID: "a", Delta: " two", Offset: 3})
	for _, c := range []*tab{first, second} {
		c.hears(`a says "one two" false`)
	}
	// Answers of one's own are in the dialect too.
	second.Send(wire.Event{Data: wire.CodeForbidden.Notice("")})
	second.hears("wire.Actions")
}
