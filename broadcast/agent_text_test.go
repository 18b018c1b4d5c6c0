package broadcast_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

// say publishes an event with the given time.
func (b *bench) say(at time.Duration, p wire.ServerPayload) {
	b.t.Helper()
	events := b.src.commit(p)
	events[0].Time = epoch.Add(at)
	b.Publish(events)
}

// formatFrame formats a frame of the desktop dialect.
func formatFrame(e wire.Event) string {
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
		if got := formatFrame(c.next()); got != w {
			c.t.Fatalf("got %s, want %s", got, w)
		}
	}
}

func TestDesktopGetsWholeTexts(t *testing.T) {
	t.Parallel()
	b := newTestCenter(t, broadcast.Config{})
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
	c.hears(`x says "of which the beginning is not kno" true`)
	b.say(290*ms, wire.MessageUpdated{Action: wire.RowCreated, Message: wire.UIRow{TS: 1, Type: wire.RowSay, Say: wire.SayText}})
	b.say(300*ms, response("x", "a😀b", 0))
	c.hears(`x says "a😀b" false`)
	b.say(600*ms, response("x", "c", 2)) // in the middle of a character
	c.hears(`x says "ac" false`)
}

// A desktop that falls off the ring gets a snapshot: pages of the log do not have the earlier text of
// a running turn.
func TestSlowDesktopGetsSnapshot(t *testing.T) {
	t.Parallel()
	d := &testDesktop{memory: &memory{}, state: desktop.New(session)}
	center := broadcast.NewCenter(broadcast.Config{RingEvents: 64}, session, wire.Position{}, d)
	defer center.Wait()
	defer center.Close(wire.CloseGoingAway, "")
	b := &bench{center, d.memory, t}
	server, client := tcpPair(t)
	shrinkBuffers(t, server, client)
	slow := b.attachTo(server, client, broadcast.TabConfig{Form: broadcast.FormDesktop})
	slow.hears("hello ses-1")
	const piece, pieces = "0123456789012345678901234567890123456789", 800
	for i := range pieces {
		d.show(center, wire.AgentResponse{AgentID: "a", Delta: piece, Offset: i * len(piece)})
	}
	greetings, whole := 0, strings.Repeat(piece, pieces)
	for said := ""; said != whole; {
		switch p := slow.next().Data.(type) {
		case wire.ConnectionStatus:
			greetings++
		case wire.AgentResponse:
			said = p.Content
		}
	}
	if greetings == 0 {
		t.Error("the tab never fell behind the ring")
	}
	d.show(center, wire.AgentResponse{AgentID: "a", Offset: len(whole), IsComplete: true, Outcome: wire.OutcomeCompleted})
	for {
		e := slow.next()
		if p, ok := e.Data.(wire.AgentResponse); ok && p.IsComplete {
			if p.Content != whole {
				t.Errorf("the final text has %d bytes, want %d", len(p.Content), len(whole))
			}
			return
		}
	}
}

// A session_state in the log is sent like a snapshot, and the texts of agents in it are known then.
func TestDesktopGetsStateInLog(t *testing.T) {
	t.Parallel()
	b := newTestCenter(t, broadcast.Config{})
	c := b.attach(broadcast.TabConfig{Form: broadcast.FormDesktop})
	c.hears("hello ses-1")
	b.say(0, wire.AgentResponse{AgentID: "a", Delta: "what was lost"})
	c.hears(`a says "what was lost" false`)
	b.show(wire.SessionState{
		Mode: wire.StateSnapshot, Status: wire.SessionIdle, HeartbeatMS: 1, LastMessageID: b.Head(),
		Agents: []wire.AgentState{{Role: "a", Kind: wire.AgentMain, Status: wire.AgentStatusRunning, Text: "what"}},
	})
	c.hears("hello ses-1", `a says "what" false`)
	b.say(time.Minute, wire.AgentResponse{AgentID: "a", Delta: " else", Offset: 4})
	c.hears(`a says "what else" false`)
}

// Texts are published while the snapshot with their beginning is being sent.
func TestDesktopTextDuringSnapshot(t *testing.T) {
	t.Parallel()
	src := &blocked{&memory{}, make(chan struct{}), make(chan struct{})}
	center := broadcast.NewCenter(broadcast.Config{}, session, wire.Position{}, src)
	defer center.Wait()
	defer center.Close(wire.CloseGoingAway, "")
	b := &bench{center, src.memory, t}
	b.show(wire.AgentResponse{AgentID: "a", Delta: "so 😀"})
	src.state.Agents = []wire.AgentState{{Role: "a", Kind: wire.AgentMain, Status: wire.AgentStatusRunning, Text: "so 😀 far"}}
	src.at = wire.Position{Epoch: 1, Seq: 2}
	go func() {
		<-src.asked
		b.say(time.Second, wire.AgentResponse{AgentID: "a", Delta: " far", Offset: 5}) // in the snapshot too
		b.say(2*time.Second, wire.AgentResponse{AgentID: "a", Delta: ", so", Offset: 9})
		close(src.gate)
	}()
	c := b.attach(broadcast.TabConfig{Form: broadcast.FormDesktop})
	c.hears("hello ses-1", `a says "so 😀 far" false`)
	b.say(time.Minute, wire.AgentResponse{AgentID: "a", IsComplete: true, Offset: 13, Outcome: wire.OutcomeCompleted})
	c.hears(`a says "so 😀 far, so" true`)
}

// Only the beginning of a text that is too long is sent.
func TestDesktopLongTextsAreTruncated(t *testing.T) {
	t.Parallel()
	b := newTestCenter(t, broadcast.Config{})
	c := b.attach(broadcast.TabConfig{Form: broadcast.FormDesktop})
	c.hears("hello ses-1")
	long := strings.Repeat("é", 1<<19-1) + "x" // one byte is left
	b.say(0, wire.AgentResponse{AgentID: "a", Delta: long})
	b.say(time.Millisecond, wire.AgentResponse{AgentID: "a", Delta: "é and more", Offset: 1 << 19})
	b.say(2*time.Millisecond, wire.AgentResponse{AgentID: "a", Delta: "!", Offset: 1<<19 + 10})
	b.say(3*time.Millisecond, wire.AgentResponse{AgentID: "a", IsComplete: true, Offset: 1<<19 + 11, Outcome: wire.OutcomeCompleted})
	c.hears(fmt.Sprintf("a says %q false", long), fmt.Sprintf("a says %q true", long))
}

// The last text of an agent is sent even if no event follows, to the tabs of its monitor.
func TestDesktopGetsLastText(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newTestCenter(t, broadcast.Config{})
		attach := func(monitors ...wire.MonitorID) *tab {
			server, client := pipe()
			c := b.attachTo(server, client, broadcast.TabConfig{Form: broadcast.FormDesktop, Monitors: monitors})
			c.hears("hello ses-1")
			return c
		}
		all, one := attach(), attach("m-1")
		say := func(delta string, offset int) {
			b.say(time.Since(epoch), wire.AgentResponse{AgentID: "a", MonitorID: "m-0", Delta: delta, Offset: offset})
		}
		say("so", 0)
		all.hears(`a says "so" false`)
		time.Sleep(50 * time.Millisecond)
		say(" far", 2)
		// The text belongs to another monitor, and only its tabs get it.
		b.say(time.Since(epoch), wire.ToolProgress{AgentID: "a", MonitorID: "m-1", ToolName: "a:b", Status: wire.ToolRunning})
		all.hears("wire.ToolProgress")
		one.hears("wire.ToolProgress")
		start := time.Now()
		all.hears(`a says "so far" false`)
		if took := time.Since(start); took != 200*time.Millisecond {
			t.Errorf("time until the text was sent: got %v, want 200ms", took)
		}
		// While more text follows, it is not sent twice.
		for i := range 8 {
			time.Sleep(50 * time.Millisecond)
			say("!", 6+i)
		}
		all.hears(`a says "so far!!!!" false`, `a says "so far!!!!!!!!" false`)
		b.show(wire.ErrorNotice{Code: wire.CodeForbidden})
		one.hears("wire.Actions")
	})
}

// A tab that joins later is served from the same ring.
func TestDesktopTabsShareTheirText(t *testing.T) {
	t.Parallel()
	b := newTestCenter(t, broadcast.Config{})
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
	// Answers for one connection are in the dialect too.
	second.Send(wire.Event{Data: wire.CodeForbidden.Notice("")})
	second.hears("wire.Actions")
}

// Tabs of both forms of monitor names get the same events, each with its own names.
func TestDesktopTabsNumberMonitors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newTestCenter(t, broadcast.Config{})
		want := map[broadcast.Form]string{broadcast.FormDesktop: "monitor-1", broadcast.FormNumbered: "1"}
		tabs := map[broadcast.Form]*tab{}
		for form := range want {
			server, client := pipe()
			tabs[form] = b.attachTo(server, client, broadcast.TabConfig{Form: form, Monitors: []wire.MonitorID{"monitor-1"}})
			tabs[form].hears("hello ses-1")
		}
		text := ""
		for _, delta := range []string{"so", " far"} { // the second is sent late
			b.say(0, wire.AgentResponse{AgentID: "a", MonitorID: "monitor-1", Delta: delta, Offset: len(text)})
			text += delta
			for form, monitor := range want {
				e, ok := tabs[form].next().Data.(wire.AgentResponse)
				if !ok || e.Content != text || string(e.MonitorID) != monitor {
					t.Errorf("form %v gets %+v, want %q on %s", form, e, text, monitor)
				}
			}
			synctest.Wait()
		}
		// Answers for one connection have the same form.
		for form, monitor := range want {
			tabs[form].Send(wire.Event{Data: wire.MessageQueued{MessageID: "m", Position: 1, MonitorID: "monitor-1"}})
			if e, ok := tabs[form].next().Data.(wire.MessageQueued); !ok || string(e.MonitorID) != monitor {
				t.Errorf("form %v is answered %+v, want one on %s", form, e, monitor)
			}
		}
	})
}
