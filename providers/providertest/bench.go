package providertest

import (
	"context"
	"testing"

	"github.com/everdesk/everdesk/providers"
)

// Bench is a backend under test, and how to make its model do things.
type Bench struct {
	// Around runs one check: synctest.Test, or a plain call where something real has
	// to be waited for.
	Around func(t *testing.T, fn func(*testing.T))
	// New makes a provider. Several of one check stand for several hubs one
	// after the other: they share what the backend itself remembers, if it
	// does. It is called inside Around; the check closes what it gets.
	New func(t *testing.T) providers.Provider
	// Prompt is the text of a message that makes the model take these steps one
	// after the other, and then end its turn.
	Prompt func(steps ...Step) string
	// Fails are the kinds of trouble that [Fail] can bring about.
	Fails []providers.Class
	// Usage says that turns tell what they took.
	Usage bool
}

// Step is something the model is made to do. Make one with [Say] and the others.
type Step struct {
	// Say is what it says.
	Say string
	// Calls are the tools it asks for, all at once. Their IDs are left out: a
	// model chooses those itself.
	Calls []providers.ToolCall
	// Recall makes it say all text that it can read: what it was told, what it
	// said itself and what tools gave back.
	Recall bool
	// Hang makes it do nothing until somebody stops or steers it.
	Hang bool
	// Fail makes the backend fail in this way.
	Fail providers.Class
}

// Say makes the model say something, exactly.
func Say(text string) Step { return Step{Say: text} }

// Call makes the model ask for tools, all at once, and say what came back: the
// texts of all results, in any form that contains them.
func Call(calls ...providers.ToolCall) Step { return Step{Calls: calls} }

// Recall makes the model say all text that it can read.
func Recall() Step { return Step{Recall: true} }

// Hang makes the model do nothing until somebody stops or steers it.
func Hang() Step { return Step{Hang: true} }

// Fail makes the backend fail.
func Fail(c providers.Class) Step { return Step{Fail: c} }

// Run holds a backend against every sentence of the contract.
func Run(t *testing.T, b Bench) {
	t.Helper()
	for _, g := range possible(t, b) {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range g.checks {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					b.Around(t, func(t *testing.T) {
						t.Helper()
						perform(t, b, func() providers.Provider { return b.New(t) }, c)
					})
				})
			}
		})
	}
}

// possible are the groups that concern a backend.
func possible(t *testing.T, b Bench) (out []group) {
	t.Helper()
	var caps providers.Caps
	b.Around(t, func(t *testing.T) {
		t.Helper()
		p := b.New(t)
		caps = p.Caps()
		if err := p.Close(); err != nil {
			t.Errorf("closing a provider that did nothing: %v", err)
		}
	})
	for _, g := range groups() {
		if g.needs == nil || g.needs(b, caps) {
			out = append(out, g)
		} else {
			t.Logf("the backend does not claim what the group %q is about, it is left out", g.name)
		}
	}
	return out
}

// judge is the part of testing.T that checks use, so that the checks can be
// tested themselves.
type judge interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(f func())
	Context() context.Context
}

// group is the checks of one concern.
type group struct {
	name   string
	checks []check
	// needs, unless nil, says whether it concerns a backend.
	needs func(Bench, providers.Caps) bool
}

// check is one sentence of the contract.
type check struct {
	name string
	run  func(*rig)
}

func groups() []group {
	resumes := func(_ Bench, c providers.Caps) bool { return c.Resume }
	return []group{
		{name: "turns", checks: turnChecks()},
		{name: "refusals", checks: refusalChecks()},
		{name: "interrupt", checks: interruptChecks()},
		{name: "close", checks: closeChecks()},
		{name: "tools", checks: toolChecks()},
		{name: "steer", checks: steerChecks(), needs: func(_ Bench, c providers.Caps) bool { return c.Steer }},
		{name: "inject", checks: injectChecks(), needs: func(_ Bench, c providers.Caps) bool { return c.Inject }},
		{name: "resume", checks: resumeChecks(), needs: resumes},
		{name: "continue", checks: continueChecks(), needs: resumes},
		{name: "continue steered", checks: steeredChecks(), needs: func(_ Bench, c providers.Caps) bool { return c.Steer && c.Resume }},
		{name: "fork", checks: forkChecks(), needs: func(_ Bench, c providers.Caps) bool { return c.Fork }},
		{name: "images", checks: imageChecks(), needs: func(_ Bench, c providers.Caps) bool { return c.Images }},
		{name: "failures", checks: failureChecks(), needs: func(b Bench, _ providers.Caps) bool { return len(b.Fails) > 0 }},
	}
}
