package session_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// A draining hub lets running turns end, as long as there is time, and then hands the session over.
// Turns that have not ended by then, or wait for people, continue at the next owner.
func TestDrainLetsTurnsFinish(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		turn     string
		least    time.Duration // until the session is handed over
		most     time.Duration
		finishes bool // at the draining hub
	}{
		"has time":         {"/nosteer\n/stream 41 10", 4 * time.Second, 5 * time.Second, true},
		"takes too long":   {"/nosteer\n/stream 301 10", 14 * time.Second, 20 * time.Second, false},
		"waits for people": {"/ask Well? | a | b", 0, 6 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSyncDeployment(t)
				a := startAgentHub(t, s, hubConfig{})
				b := startAgentHub(t, s, hubConfig{replica: "b"})
				d := a.newDesktop(t, "ses-1")
				far := b.openDesktop(t, "ses-1")
				d.sendText(firstMonitor, "m1", tt.turn)
				var question wire.PromptID
				if strings.HasPrefix(tt.turn, "/ask") {
					question = d.waitPrompt("main-monitor-0-m1").ID
				} else {
					d.waitTurnOutput("m1")
				}
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				began := time.Now()
				a.Drain(ctx)
				if took := time.Since(began); took < tt.least || took > tt.most || ctx.Err() != nil {
					t.Errorf("handed over after %v, want %v to %v: %v", took, tt.least, tt.most, ctx.Err())
				}
				if question != "" {
					far.send("", wire.UserPromptResponse{PromptID: question, SelectedValues: []string{"a"}})
				}
				if end := far.waitTurnEnd("m1"); end.Outcome != wire.OutcomeCompleted {
					t.Errorf("the turn ended with %+v, want outcome %s", end, wire.OutcomeCompleted)
				}
				far.waitIdle()
				all := far.all()
				moved := slices.IndexFunc(all, func(e wire.Event) bool { o, is := e.Data.(wire.OwnerChanged); return is && o.Replica == "b" })
				ended := slices.IndexFunc(all, func(e wire.Event) bool { r, is := e.Data.(wire.AgentResponse); return is && r.IsComplete })
				if moved < 0 || ended < moved != tt.finishes {
					t.Errorf("the owner changed with event %d and the turn ended with event %d, want a change, and the end before it: %v", moved, ended, tt.finishes)
				}
			})
		})
	}
}

// A turn that waits for people does not delay the drain, nor does it cut other turns off.
func TestDrainLetsTurnsFinishBesideAQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSyncDeployment(t)
		a := startAgentHub(t, s, hubConfig{})
		b := startAgentHub(t, s, hubConfig{replica: "b"})
		d := a.newDesktop(t, "ses-1")
		far := b.openDesktop(t, "ses-1")
		d.sendText("monitor-1", "ask", "/nosteer", "/ask Well? | a | b")
		question := d.waitPrompt("main-monitor-1-ask").ID
		d.sendText(firstMonitor, "m1", "/nosteer", "/stream 41 10")
		d.waitTurnOutput("m1")
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		began := time.Now()
		a.Drain(ctx)
		if took := time.Since(began); took < 4*time.Second || took > 10*time.Second {
			t.Errorf("handed over after %v, want 4s to 10s", took)
		}
		if end := far.waitTurnEnd("m1"); end.Outcome != wire.OutcomeCompleted {
			t.Errorf("the stream ended with %+v, want outcome %s", end, wire.OutcomeCompleted)
		}
		all := far.all()
		moved := slices.IndexFunc(all, func(e wire.Event) bool { o, is := e.Data.(wire.OwnerChanged); return is && o.Replica == "b" })
		ended := slices.IndexFunc(all, func(e wire.Event) bool { r, is := e.Data.(wire.AgentResponse); return is && r.IsComplete })
		if moved < 0 || ended > moved {
			t.Errorf("the owner changed with event %d and the stream ended with event %d, want the end first", moved, ended)
		}
		far.send("", wire.UserPromptResponse{PromptID: question, SelectedValues: []string{"a"}})
		far.waitTurnEnd("ask")
		far.waitIdle()
	})
}
