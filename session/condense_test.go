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

// modelHub is what a hub is made with whose sessions can have that model.
func modelHub(t *testing.T, s *fakemodel.Server) hubConfig {
	t.Helper()
	t.Cleanup(s.Close)
	p, err := anthropic.New(anthropic.Config{BaseURL: "http://model", HTTP: s.Pipe()})
	ok(t, err)
	return hubConfig{others: []providers.Provider{p}, session: session.Config{Window: 1_000_000}}
}

// asked is what a model was asked last, message by message.
func asked(t *testing.T, s *fakemodel.Server) (messages []string) {
	t.Helper()
	all := s.Requests()
	var body struct {
		Messages []struct {
			Role    string
			Content []struct{ Text string }
		}
	}
	ok(t, json.Unmarshal(all[len(all)-1].Body, &body))
	for _, m := range body.Messages {
		said := []string{m.Role}
		for _, c := range m.Content {
			said = append(said, c.Text)
		}
		messages = append(messages, strings.Join(said, "|"))
	}
	return messages
}

// told waits for a row of a kind.
func (d *testDesktop) told(say wire.Say) wire.UIRow {
	d.t.Helper()
	return when(d.t, d.diary, func(m wire.MessageUpdated) bool { return m.Message.Say == say }).Message
}

// A conversation is summed up: the model goes on from the summary alone.
func TestCondense(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fakemodel.New()
			d := agentHub(t, open(t), modelHub(t, s)).newDesktop(t, "ses-1")
			d.send("", wire.SetProvider{Provider: anthropic.Name})
			d.send("c0", wire.Condense{})
			if r := when(t, d.diary, about[wire.MessageRejected]("c0")); r.Code != wire.CodeSessionInvalidState {
				t.Errorf("an empty conversation: %+v", r)
			}
			d.say(first, "m1", "/say one")
			d.ends("m1")
			d.say(first, "m2", "/say two")
			d.ends("m2")
			d.send("c1", wire.Condense{})
			row := d.told(wire.SayCondenseContext)
			if c := row.ContextCondense; c.Summary != "All of it in short: 4 messages." || c.CondenseID == "" || c.NewContextTokens >= c.PrevContextTokens {
				t.Errorf("the row has %+v", c)
			}
			d.send("c2", wire.Condense{})
			if r := when(t, d.diary, about[wire.MessageRejected]("c2")); r.Code != wire.CodeSessionInvalidState || !strings.Contains(r.Reason, "a moment ago") {
				t.Errorf("right after it: %+v", r)
			}
			d.say(first, "m3", "/say three")
			d.ends("m3")
			got := asked(t, s)
			want := "user|Summary of the conversation so far:\n\nAll of it in short: 4 messages.|"
			if len(got) != 1 || !strings.HasPrefix(got[0], want) || !strings.HasSuffix(got[0], "/say three") || strings.Contains(got[0], "/say two") {
				t.Errorf("the model was asked %q", got)
			}
			use := d.snapshot().Monitors[0].Context
			if use == nil || use.Tokens == 0 || use.Window != 1_000_000 || use.Condensing {
				t.Errorf("the context is %+v", use)
			}
			// Who goes back to before it has all of it again.
			d.send("r1", wire.Rewind{TS: row.TS})
			when(t, d.diary, any1[wire.HistoryRewound])
			d.say(first, "m4", "/say four")
			d.ends("m4")
			if got := asked(t, s); len(got) != 5 || got[1] != "assistant|one" || got[3] != "assistant|two" || !strings.HasSuffix(got[4], "/say four") {
				t.Errorf("after the rewind the model was asked %q", got)
			}
			d.rest()
		})
	}
}

// A hub dies while a model sums up. The next owner has it summed up again, and what
// was said meanwhile is answered then.
func TestCondenseOutlivesACrash(t *testing.T) {
	t.Parallel()
	s := fakemodel.New()
	o := agentHub(t, onFiles(t), modelHub(t, s))
	d := o.newDesktop(t, "ses-1")
	d.send("", wire.SetProvider{Provider: anthropic.Name})
	d.say(first, "m1", "/say one")
	d.ends("m1")
	began := make(chan struct{})
	s.Next(func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
	})
	d.send("c1", wire.Condense{})
	<-began
	if _, is := d.ask("m2", wire.UserMessage{Content: "/say two"}).(wire.MessageQueued); !is {
		t.Error("a message does not wait until it is summed up")
	}
	if use := d.snapshot().Monitors[0].Context; use == nil || !use.Condensing {
		t.Errorf("the context is %+v", use)
	}
	d = o.again(t, modelHub(t, s)).enter(t, "ses-1")
	if c := d.told(wire.SayCondenseContext).ContextCondense; c.Summary != "All of it in short: 2 messages." {
		t.Errorf("the row has %+v", c)
	}
	d.ends("m2")
	if got := asked(t, s); len(got) != 1 || !strings.HasSuffix(got[0], "/say two") {
		t.Errorf("the model was asked %q", got)
	}
	d.rest()
}

// What cannot be summed up stays as it was.
func TestCondenseThatFails(t *testing.T) {
	t.Parallel()
	s := fakemodel.New()
	d := agentHub(t, onFiles(t), modelHub(t, s)).newDesktop(t, "ses-1")
	d.send("", wire.SetProvider{Provider: anthropic.Name})
	d.say(first, "m1", "/say one")
	d.ends("m1")
	s.Next(fakemodel.Status(http.StatusUnauthorized, `{"type":"error","error":{"type":"authentication_error","message":"no"}}`))
	d.send("c1", wire.Condense{})
	if row := d.told(wire.SayCondenseContextError); !strings.Contains(row.Text, "auth") {
		t.Errorf("the row is %+v", row)
	}
	d.say(first, "m2", "/say two")
	d.ends("m2")
	if got := asked(t, s); len(got) != 3 || !strings.HasSuffix(got[0], "/say one") || got[1] != "assistant|one" {
		t.Errorf("the model was asked %q", got)
	}
	d.rest()
}

// A model says that there is too much to read: the turn goes on without the older
// half, and people see that.
func TestTooMuchToRead(t *testing.T) {
	t.Parallel()
	s := fakemodel.New()
	d := agentHub(t, onFiles(t), modelHub(t, s)).newDesktop(t, "ses-1")
	d.send("", wire.SetProvider{Provider: anthropic.Name})
	for _, id := range []wire.MessageID{"m1", "m2", "m3"} {
		d.say(first, id, "/say answer to "+string(id))
		d.ends(id)
	}
	s.Next(fakemodel.Status(http.StatusBadRequest, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`))
	d.say(first, "m4", "/say done")
	if e := d.ends("m4"); e.Outcome != wire.OutcomeCompleted || d.said("m4") != "done" {
		t.Errorf("it said %q and ended with %+v", d.said("m4"), e)
	}
	if c := d.told(wire.SaySlidingWindowTruncation).ContextTruncation; c == nil || c.MessagesRemoved != 2 || c.TruncationID == "" {
		t.Errorf("the row has %+v", c)
	}
	if got := asked(t, s); len(got) != 5 || !strings.Contains(got[0], "left out") || got[1] != "assistant|answer to m2" {
		t.Errorf("the model was asked %q", got)
	}
	d.rest()
}

// A conversation that fills its window is summed up without anybody asking.
func TestCondenseByItself(t *testing.T) {
	t.Parallel()
	o := agentHub(t, onFiles(t), hubConfig{session: session.Config{Window: 100_000, CondenseAt: 50}})
	d := o.newDesktop(t, "ses-1")
	d.say(first, "m1", "/usage 49000 500")
	d.ends("m1")
	d.say(first, "m2", "/usage 50000 500")
	d.ends("m2")
	if c := d.told(wire.SayCondenseContext).ContextCondense; c.PrevContextTokens != 50_500 || !strings.Contains(c.Summary, "The demo sums up 4 messages") {
		t.Errorf("the row has %+v", c)
	}
	d.say(first, "m3", "/recall")
	d.ends("m3")
	if got := d.said("m3"); !strings.HasPrefix(got, "Summary of the conversation so far:") {
		t.Errorf("after it the demo remembers %q", got)
	}
	d.rest()
}
