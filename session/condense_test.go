package session_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/anthropic"
	"github.com/everdesk/everdesk/providers/fakemodel"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// modelHub is the config of a hub whose sessions can use the fake model.
func modelHub(t *testing.T, s *fakemodel.Server) hubConfig {
	t.Helper()
	t.Cleanup(s.Close)
	p, err := anthropic.New(anthropic.Config{BaseURL: "http://model", HTTP: s.Pipe()})
	requireNoError(t, err)
	return hubConfig{otherProviders: []providers.Provider{p}, session: session.Config{Window: 1_000_000}}
}

// lastModelRequest returns the messages of the last request to a model.
func lastModelRequest(t *testing.T, s *fakemodel.Server) (messages []string) {
	t.Helper()
	all := s.Requests()
	var body struct {
		Messages []struct {
			Role    string
			Content []struct{ Text string }
		}
	}
	requireNoError(t, json.Unmarshal(all[len(all)-1].Body, &body))
	for _, m := range body.Messages {
		said := []string{m.Role}
		for _, c := range m.Content {
			said = append(said, c.Text)
		}
		messages = append(messages, strings.Join(said, "|"))
	}
	return messages
}

// waitRow waits for a row of a kind.
func (d *testDesktop) waitRow(say wire.Say) wire.UIRow {
	d.t.Helper()
	return waitEvent(d.t, d.eventLog, func(m wire.MessageUpdated) bool { return m.Message.Say == say }).Message
}

// A conversation is condensed: the model continues from the summary only.
func TestCondense(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fakemodel.New()
			d := startAgentHub(t, open(t), modelHub(t, s)).newDesktop(t, "ses-1")
			d.send("", wire.SetProvider{Provider: anthropic.Name})
			d.send("c0", wire.Condense{})
			if r := waitEvent(t, d.eventLog, isAbout[wire.MessageRejected]("c0")); r.Code != wire.CodeSessionInvalidState {
				t.Errorf("condensing an empty conversation is answered with %+v, want code %s", r, wire.CodeSessionInvalidState)
			}
			d.sendText(firstMonitor, "m1", "/say one")
			d.waitTurnEnd("m1")
			d.sendText(firstMonitor, "m2", "/say two")
			d.waitTurnEnd("m2")
			d.send("c1", wire.Condense{})
			row := d.waitRow(wire.SayCondenseContext)
			if c := row.ContextCondense; c.Summary != "All of it in short: 4 messages." || c.CondenseID == "" || c.NewContextTokens >= c.PrevContextTokens {
				t.Errorf("the row has %+v, want a summary of 4 messages with an id and fewer tokens than before", c)
			}
			d.send("c2", wire.Condense{})
			if r := waitEvent(t, d.eventLog, isAbout[wire.MessageRejected]("c2")); r.Code != wire.CodeSessionInvalidState || r.ReasonCode != wire.ReasonCondensedRecently {
				t.Errorf("right after it: got %+v, want the code %s", r, wire.ReasonCondensedRecently)
			}
			d.sendText(firstMonitor, "m3", "/say three")
			d.waitTurnEnd("m3")
			got := lastModelRequest(t, s)
			want := "user|Summary of the conversation so far:\n\nAll of it in short: 4 messages.|"
			if len(got) != 1 || !strings.HasPrefix(got[0], want) || !strings.HasSuffix(got[0], "/say three") || strings.Contains(got[0], "/say two") {
				t.Errorf("the model was asked %q, want one message that begins with %q and ends with /say three", got, want)
			}
			use := d.snapshot().Monitors[0].Context
			if use == nil || use.Tokens == 0 || use.Window != 1_000_000 || use.Condensing {
				t.Errorf("the context is %+v, want some tokens of 1000000, not condensing", use)
			}
			// A rewind to before the summary restores the whole conversation.
			d.send("r1", wire.Rewind{TS: row.TS})
			waitEvent(t, d.eventLog, anyOf[wire.HistoryRewound])
			d.sendText(firstMonitor, "m4", "/say four")
			d.waitTurnEnd("m4")
			if got := lastModelRequest(t, s); len(got) != 5 || got[1] != "assistant|one" || got[3] != "assistant|two" || !strings.HasSuffix(got[4], "/say four") {
				t.Errorf("after the rewind the model was asked %q, want 5 messages with both turns before it, the last one /say four", got)
			}
			d.waitIdle()
		})
	}
}

// A hub dies while a model condenses. The next owner condenses again, and messages of the meantime
// are answered after it.
func TestCondenseSurvivesACrash(t *testing.T) {
	t.Parallel()
	s := fakemodel.New()
	o := startAgentHub(t, newFileDeployment(t), modelHub(t, s))
	d := o.newDesktop(t, "ses-1")
	d.send("", wire.SetProvider{Provider: anthropic.Name})
	d.sendText(firstMonitor, "m1", "/say one")
	d.waitTurnEnd("m1")
	began := make(chan struct{})
	s.Next(func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
	})
	d.send("c1", wire.Condense{})
	<-began
	if _, is := d.sendAndWait("m2", wire.UserMessage{Content: "/say two"}).(wire.MessageQueued); !is {
		t.Error("got another reply than MESSAGE_QUEUED during a summary, want it")
	}
	if use := d.snapshot().Monitors[0].Context; use == nil || !use.Condensing {
		t.Errorf("the context is %+v, want it condensing", use)
	}
	d = o.restart(t, modelHub(t, s)).openDesktop(t, "ses-1")
	if c := d.waitRow(wire.SayCondenseContext).ContextCondense; c.Summary != "All of it in short: 2 messages." {
		t.Errorf("the row has %+v, want a summary of 2 messages", c)
	}
	d.waitTurnEnd("m2")
	if got := lastModelRequest(t, s); len(got) != 1 || !strings.HasSuffix(got[0], "/say two") {
		t.Errorf("the model was asked %q, want one message that ends with /say two", got)
	}
	d.waitIdle()
}

// A conversation that cannot be condensed stays as it was.
func TestCondenseThatFails(t *testing.T) {
	t.Parallel()
	s := fakemodel.New()
	d := startAgentHub(t, newFileDeployment(t), modelHub(t, s)).newDesktop(t, "ses-1")
	d.send("", wire.SetProvider{Provider: anthropic.Name})
	d.sendText(firstMonitor, "m1", "/say one")
	d.waitTurnEnd("m1")
	s.Next(fakemodel.Status(http.StatusUnauthorized, `{"type":"error","error":{"type":"authentication_error","message":"no"}}`))
	d.send("c1", wire.Condense{})
	if row := d.waitRow(wire.SayCondenseContextError); !strings.Contains(row.Text, "auth") {
		t.Errorf("the row is %+v, want an error of authentication", row)
	}
	d.sendText(firstMonitor, "m2", "/say two")
	d.waitTurnEnd("m2")
	if got := lastModelRequest(t, s); len(got) != 3 || !strings.HasSuffix(got[0], "/say one") || got[1] != "assistant|one" {
		t.Errorf("the model was asked %q, want 3 messages, the first two unchanged", got)
	}
	d.waitIdle()
}

// A model reports that its context is too long: the turn continues without the older half, which is
// visible to people.
func TestContextTooLong(t *testing.T) {
	t.Parallel()
	s := fakemodel.New()
	d := startAgentHub(t, newFileDeployment(t), modelHub(t, s)).newDesktop(t, "ses-1")
	d.send("", wire.SetProvider{Provider: anthropic.Name})
	for _, id := range []wire.MessageID{"m1", "m2", "m3"} {
		d.sendText(firstMonitor, id, "/say answer to "+string(id))
		d.waitTurnEnd(id)
	}
	s.Next(fakemodel.Status(http.StatusBadRequest, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`))
	d.sendText(firstMonitor, "m4", "/say done")
	if e := d.waitTurnEnd("m4"); e.Outcome != wire.OutcomeCompleted || d.turnText("m4") != "done" {
		t.Errorf(`it said %q and ended with %+v, want "done" and %s`, d.turnText("m4"), e, wire.OutcomeCompleted)
	}
	if c := d.waitRow(wire.SaySlidingWindowTruncation).ContextTruncation; c == nil || c.MessagesRemoved != 2 || c.TruncationID == "" {
		t.Errorf("the row has %+v, want an id and 2 removed messages", c)
	}
	if got := lastModelRequest(t, s); len(got) != 5 || !strings.Contains(got[0], "left out") || got[1] != "assistant|answer to m2" {
		t.Errorf("the model was asked %q, want 5 messages, the first saying what was left out, then the answer to m2", got)
	}
	d.waitIdle()
}

// A conversation that fills the context window is condensed automatically.
func TestAutomaticCondense(t *testing.T) {
	t.Parallel()
	o := startAgentHub(t, newFileDeployment(t), hubConfig{session: session.Config{Window: 100_000, CondenseAt: 50}})
	d := o.newDesktop(t, "ses-1")
	d.sendText(firstMonitor, "m1", "/usage 49000 500")
	d.waitTurnEnd("m1")
	d.sendText(firstMonitor, "m2", "/usage 50000 500")
	d.waitTurnEnd("m2")
	if c := d.waitRow(wire.SayCondenseContext).ContextCondense; c.PrevContextTokens != 50_500 || !strings.Contains(c.Summary, "The demo sums up 4 messages") {
		t.Errorf("the row has %+v, want a summary of 4 messages that had 50500 tokens", c)
	}
	d.sendText(firstMonitor, "m3", "/recall")
	d.waitTurnEnd("m3")
	if got := d.turnText("m3"); !strings.HasPrefix(got, "Summary of the conversation so far:") {
		t.Errorf("after it the demo remembers %q, want the summary first", got)
	}
	d.waitIdle()
}
