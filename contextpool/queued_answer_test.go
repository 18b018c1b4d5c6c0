package contextpool_test

import (
	"testing"

	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// The oldest suitable queued message answers the agent's question in words, once, also after a
// takeover.
func TestWhatWaitsIsAnAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runner.steers = false
	run := r.direct("m1")
	r.step(func() {
		r.pool.Messages.HandleUserMessage(contextpool.Message{ID: "picture", Monitor: first, Text: "look", Images: []providers.Image{{MediaType: "image/png", Data: []byte("p")}}})
	})
	r.step(func() {
		r.pool.Messages.HandleUserMessage(contextpool.Message{ID: "guest", Monitor: first, Text: "hi", Guest: true})
	})
	r.user("m2")
	r.user("m3")
	waited := func(c string, q contextpool.Inquiry, prompt wire.PromptID) (m contextpool.Message, ok bool) {
		caller := callerOf(run)
		caller.Agent = wire.AgentID(c)
		r.step(func() {
			r.pool.Questions.AskUser(callerOf(run), q)
			m, ok = r.pool.Messages.QueuedAnswer(caller, prompt)
		})
		return m, ok
	}
	if _, ok := waited(mainM1, contextpool.Inquiry{Dialog: "d"}, "p"); ok {
		t.Error("got a queued answer to a question without text, want none")
	}
	words := contextpool.Inquiry{Prompt: &wire.Prompt{ID: "p", Title: "What?"}}
	if _, ok := waited("unknown", words, "p"); ok {
		t.Error("got a queued answer for another agent, want none")
	}
	m, ok := waited(mainM1, words, "p")
	if !ok || m.ID != "m2" || m.Text != "text of m2" {
		t.Fatalf("the answer is %+v, %v, want the text of m2", m, ok)
	}
	r.step(func() {
		r.pool.Messages.AnswerByQueued(m, "What?")
		r.pool.Questions.CloseQuestion("", "p", contextpool.Reply{Reason: wire.ClosedAnswered, Response: wire.AnswerMessage, Text: m.Text})
	})
	row, _ := r.desktop.Rows().UserRow("m2")
	if row.ProgressStatus == nil || row.ProgressStatus.Text != "Answers: What?" {
		t.Errorf(`the row of m2 is %+v, want the status "Answers: What?"`, row)
	}
	r.crash()
	r.wantStory("m2", "queued at 3; steered by main-monitor-0-m1")
	wantEqual(t, len(r.kept.tables["queue"]), 3)
	run = r.run(mainM1)
	r.began(run)
	r.ended(run)
	r.wantStory("m3", "queued at 4")
	r.wantStory("m2", "queued at 3; steered by main-monitor-0-m1; completed")
}
