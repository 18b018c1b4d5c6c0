package providertest

import (
	"context"
	"testing"
	"time"

	"github.com/everdesk/everdesk/providers"
)

// Bench describes a backend under test and how to control its model.
type Bench struct {
	// Around runs one check: synctest.Test, or a plain call for backends that need real time.
	Around func(t *testing.T, fn func(*testing.T))
	// New returns a provider. Several providers of one check represent several hubs one after
	// the other: they share what the backend itself stores, if anything. It is called inside
	// Around; the check closes the provider.
	New func(t *testing.T) providers.Provider
	// Prompt returns the text of a message that makes the model execute these steps one after
	// the other, and then end its turn.
	Prompt func(steps ...Step) string
	// Fails lists the failure classes that [Fail] can cause.
	Fails []providers.Class
	// Usage says that turns report their usage.
	Usage bool
	// Asks says that [Ask] makes the backend ask for approval.
	Asks bool
	// Limit ends a check that would otherwise hang; 0 means a minute. Programs that take seconds to
	// start need more.
	Limit time.Duration
	// Started returns how many programs a provider has started; nil for backends that are none.
	Started func(p providers.Provider) int
}

// Step is an instruction for the model. Create one with [Say], [Call], [Ask], [Recall], [Hang] or
// [Fail].
type Step struct {
	// Say is text to emit.
	Say string
	// Calls are tools to call concurrently. They have no IDs: a model chooses those itself.
	Calls []providers.ToolCall
	// Ask is a call of a tool of the backend itself, for which it asks for approval.
	Ask *providers.ToolCall
	// Recall makes the model emit all text that it can read: messages, its own text and tool
	// results.
	Recall bool
	// Hang makes the model wait until it is interrupted or steered.
	Hang bool
	// Fail makes the backend fail with this class.
	Fail providers.Class
}

// Say makes the model emit exactly this text.
func Say(text string) Step { return Step{Say: text} }

// Call makes the model call tools concurrently and emit the texts of all results, in any form
// that contains them.
func Call(calls ...providers.ToolCall) Step { return Step{Calls: calls} }

// Ask makes the backend ask for approval of a call of its own tool, and emit "approved", or "denied"
// with the reason.
func Ask(c providers.ToolCall) Step { return Step{Ask: &c} }

// Recall makes the model emit all text that it can read.
func Recall() Step { return Step{Recall: true} }

// Hang makes the model wait until it is interrupted or steered.
func Hang() Step { return Step{Hang: true} }

// Fail makes the backend fail.
func Fail(c providers.Class) Step { return Step{Fail: c} }

// Run tests a backend against the contract. Groups and checks run in parallel.
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

// possible returns the groups of checks that apply to a backend.
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

// judge is the part of testing.T that checks use, so that the checks can be tested themselves.
type judge interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(f func())
	Context() context.Context
}

// group is a set of related checks.
type group struct {
	name   string
	checks []check
	// needs, unless nil, reports whether the group applies to a backend.
	needs func(Bench, providers.Caps) bool
}

// check tests one rule of the contract.
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
		{name: "approvals", checks: approvalChecks(), needs: func(b Bench, _ providers.Caps) bool { return b.Asks }},
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
