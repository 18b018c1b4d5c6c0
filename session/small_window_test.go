package session_test

import (
	"fmt"
	"testing"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/fakemodel"
	"github.com/everdesk/everdesk/providers/openai"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// Ten ordinary turns fit into a context window of 8,192 tokens without a summary.
func TestTenTurnsInASmallContextWindow(t *testing.T) {
	t.Parallel()
	s := fakemodel.New()
	s.Window = 8192
	t.Cleanup(s.Close)
	p, err := openai.New(openai.Config{Name: "ollama", Model: "small", BaseURL: "http://model/v1", HTTP: s.Pipe()})
	requireNoError(t, err)
	d := startAgentHub(t, newFileDeployment(t), hubConfig{
		otherProviders: []providers.Provider{p}, session: session.Config{Window: 8192, CondenseAt: 80},
	}).newDesktop(t, "ses-1")
	d.send("", wire.SetProvider{Provider: "ollama"})
	for i := range 10 {
		id := wire.MessageID(fmt.Sprint("m", i))
		d.sendText(firstMonitor, id, fmt.Sprintf("Please show me the plan for day %d in a window, with the times and the places.\n"+
			"/call window_create {\"windowId\":\"day\",\"title\":\"Day %d\",\"content\":{\"renderer\":\"markdown\",\"content\":\"9:00 breakfast, 10:00 museum, 13:00 lunch by the river, 15:00 walk\"}}\n"+
			"/say The plan for that day is in the window; tell me when the times do not suit you.", i, i))
		if e := d.waitTurnEnd(id); e.Outcome != wire.OutcomeCompleted {
			t.Fatalf("turn %d ended with %+v, want it completed", i, e)
		}
	}
	for _, r := range d.snapshot().RecentMessages {
		if r.Say == wire.SayCondenseContext || r.Say == wire.SaySlidingWindowTruncation {
			t.Errorf("there is a row %s, want ten turns without a summary", r.Say)
		}
	}
	t.Logf("after ten turns the conversation has %d of 8192 tokens", d.snapshot().Monitors[0].Context.Tokens)
}
