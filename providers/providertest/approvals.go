package providertest

import (
	"encoding/json"

	"github.com/everdesk/everdesk/providers"
)

func approvalChecks() []check {
	return []check{
		{"what is approved is told to the backend", approvalAllowed},
		{"what is denied is told to the backend, with the reason", approvalDenied},
		{"a second answer changes nothing", approvalTwice},
		{"an interrupt withdraws the question", approvalInterrupted},
		{"closing withdraws the question", approvalClosed},
		{"a steered message leaves the question open", approvalSteered},
	}
}

// command is the call that approval is asked for.
var command = providers.ToolCall{Name: "Bash", Input: json.RawMessage(`{"command":"touch a"}`)}

// asked waits for the next question and returns its id.
func (t *testSession) asked() (id string) {
	t.Helper()
	t.until("approval is asked for", func(all []providers.Event) bool {
		for _, e := range all {
			if e.Kind != providers.EventApproval {
				continue
			}
			id = e.Approval
			if e.Tool.Name == "" || !json.Valid(e.Tool.Input) {
				t.Errorf("the question is about %+v, want a tool and its input", e.Tool)
			}
		}
		return id != ""
	})
	return id
}

// withdrawn fails the check unless the question was withdrawn, once.
func (t *testSession) withdrawn(id string) {
	t.Helper()
	all, _ := t.ear.eventsSoFar()
	n := 0
	for _, e := range all {
		if e.Kind == providers.EventApprovalGone && e.Approval == id {
			n++
		}
	}
	if n != 1 {
		t.Errorf("question %s is withdrawn %d times, want once: %s", id, n, outline(all))
	}
}

func approvalAllowed(r *rig) {
	t := r.open()
	t.begin("m-1", Ask(command), Say("and on"))
	t.ok(t.Answer(t.ctx, t.asked(), providers.Decision{Allow: true}))
	t.has("what it said", t.end("m-1", providers.Completed), "approved", "and on")
}

func approvalDenied(r *rig) {
	t := r.open()
	t.begin("m-1", Ask(command), Say("and on"))
	t.ok(t.Answer(t.ctx, t.asked(), providers.Decision{Reason: "not today"}))
	got := t.end("m-1", providers.Completed)
	t.has("what it said", got, "denied", "and on")
	t.lacks("what it said", got, "approved")
}

func approvalTwice(r *rig) {
	t := r.open()
	t.begin("m-1", Ask(command), Hang())
	id := t.asked()
	t.ok(t.Answer(t.ctx, id, providers.Decision{Reason: "no"}))
	t.ok(t.Answer(t.ctx, id, providers.Decision{Allow: true}))
	t.saying("m-1", "denied")
	t.ok(t.Interrupt(t.ctx))
	t.lacks("what it said", t.end("m-1", providers.Interrupted), "approved")
	t.turn("m-2", Say("still here"))
}

func approvalInterrupted(r *rig) {
	t := r.open()
	t.begin("m-1", Ask(command), Say("and on"))
	id := t.asked()
	t.ok(t.Interrupt(t.ctx))
	t.lacks("what it said", t.end("m-1", providers.Interrupted), "approved", "and on")
	t.withdrawn(id)
	t.ok(t.Answer(t.ctx, id, providers.Decision{Allow: true}))
	t.turn("m-2", Say("still here"))
}

func approvalClosed(r *rig) {
	t := r.open()
	t.begin("m-1", Ask(command))
	id := t.asked()
	t.ok(t.Close())
	t.ear.closed.Store(true)
	t.withdrawn(id)
	t.requireInterrupted()
}

func approvalSteered(r *rig) {
	if !r.caps.Steer {
		return
	}
	t := r.open()
	t.begin("m-1", Ask(command), Say("and on"))
	id := t.asked()
	t.ok(t.Send(t.ctx, t.steer("s-1", providers.Steer, Say("also this"))))
	t.ok(t.Answer(t.ctx, id, providers.Decision{Allow: true}))
	t.taken("s-1")
	t.has("what it said", t.end("m-1", providers.Completed), "approved", "also this")
}
