package providertest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/everdesk/everdesk/providers"
)

// rig holds the fixtures of a check.
type rig struct {
	judge
	bench    Bench
	make     func() providers.Provider
	provider providers.Provider
	ctx      context.Context
	caps     providers.Caps
	// dir is the working directory of programs, one for all sessions of the check, as for a session of the hub.
	dir string
}

// perform runs one check.
func perform(j judge, b Bench, newProvider func() providers.Provider, c check) {
	j.Helper()
	// The deadline ends a check that would otherwise hang. No check expects it.
	ctx, cancel := context.WithTimeout(j.Context(), cmp.Or(b.Limit, time.Minute))
	defer cancel()
	r := &rig{judge: j, bench: b, make: newProvider, ctx: ctx}
	if b.Started != nil {
		var err error
		r.dir, err = os.MkdirTemp("", "check-")
		r.ok(err)
		j.Cleanup(func() { _ = os.RemoveAll(r.dir) }) // programs that end late may still write to it
	}
	r.provider = r.another()
	r.caps = r.provider.Caps()
	c.run(r)
}

// another returns a further provider, as another hub would have it. It is closed when the check
// ends.
func (r *rig) another() providers.Provider {
	r.Helper()
	p := r.make()
	r.Cleanup(func() {
		if err := p.Close(); err != nil {
			r.Errorf("closing the provider: %v", err)
		}
	})
	return p
}

// prompt returns a message that starts a turn with these steps.
func (r *rig) prompt(id string, steps ...Step) providers.Message {
	return providers.Message{ID: id, Mode: providers.Start, Text: r.bench.Prompt(steps...)}
}

// ok ends the check when err is not nil.
func (r *rig) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatalf("unexpected error: %v", err)
	}
}

// is ends the check unless err matches target.
func (r *rig) is(err, target error, what string) {
	r.Helper()
	if !errors.Is(err, target) {
		r.Fatalf("%s: got error %v, want %v", what, err, target)
	}
}

// has fails the check if a text lacks one of the wanted parts.
func (r *rig) has(what, text string, want ...string) {
	r.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			r.Errorf("%s is %.200q, want %q in it", what, text, w)
		}
	}
}

// lacks fails the check if a text has one of the unwanted parts.
func (r *rig) lacks(what, text string, unwanted ...string) {
	r.Helper()
	for _, w := range unwanted {
		if strings.Contains(text, w) {
			r.Errorf("%s is %.200q, want no %q in it", what, text, w)
		}
	}
}

// await waits until c is closed, or ends the check at its deadline.
func (r *rig) await(what string, c <-chan struct{}) {
	r.Helper()
	select {
	case <-c:
	case <-r.ctx.Done():
		r.Fatalf("%s: still not so at the deadline, want it", what)
	}
}

// testSession is an open session with its listener.
type testSession struct {
	*rig
	providers.Session
	ear *listener
}

// option changes the Spec of a session.
type option func(*providers.Spec)

// from continues a thread.
func from(t providers.Thread) option { return func(s *providers.Spec) { s.From = t } }

// fork continues a copy of a thread.
func fork(t providers.Thread) option {
	return func(s *providers.Spec) { s.From, s.Fork = t, true }
}

// with gives the session tools.
func with(tools ...tool) option {
	return func(s *providers.Spec) {
		byName := map[string]tool{}
		for _, t := range tools {
			byName[t.Name] = t
			s.Tools = append(s.Tools, t.Tool)
		}
		s.Call = func(ctx context.Context, c providers.ToolCall) providers.ToolResult {
			t, ok := byName[c.Name]
			if !ok {
				return providers.ToolResult{Text: "no such tool: " + c.Name, IsError: true}
			}
			return t.do(ctx, c)
		}
	}
}

// open opens a session of the rig's provider.
func (r *rig) open(opts ...option) *testSession {
	r.Helper()
	return r.openAt(r.provider, opts...)
}

// openAt opens a session whose events are verified until the check ends.
func (r *rig) openAt(p providers.Provider, opts ...option) *testSession {
	r.Helper()
	spec := r.spec(opts...)
	e := newEar(p.Name(), spec.From)
	spec.OnEvent = e.onEvent
	if spec.Call != nil {
		spec.Call = e.watch(spec.Call)
	}
	s, err := p.Open(r.ctx, spec)
	if err != nil {
		r.Fatalf("open: %v", err)
	}
	r.Cleanup(func() {
		if err := s.Close(); err != nil {
			r.Errorf("closing the session: %v", err)
		}
		e.closed.Store(true)
		for _, fault := range e.faults() {
			r.Errorf("%s", fault)
		}
	})
	return &testSession{rig: r, Session: s, ear: e}
}

func (r *rig) spec(opts ...option) providers.Spec {
	spec := providers.Spec{Agent: "agent under test", System: "You are being tested.", Dir: r.dir, OnEvent: func(providers.Event) {}}
	for _, o := range opts {
		o(&spec)
	}
	return spec
}

// begin starts a turn.
func (t *testSession) begin(id string, steps ...Step) {
	t.Helper()
	t.ok(t.Send(t.ctx, t.prompt(id, steps...)))
}

// turn runs a turn that must complete, and returns its text.
func (t *testSession) turn(id string, steps ...Step) string {
	t.Helper()
	t.begin(id, steps...)
	return t.end(id, providers.Completed)
}

// end waits for the end of a turn, which must have the given outcome, and returns its text.
func (t *testSession) end(id string, want providers.Outcome) string {
	t.Helper()
	e := t.ended(id)
	if e.Outcome != want {
		t.Fatalf("turn %s is %s (%v), want %s", id, e.Outcome, e.Err, want)
	}
	return t.ear.textOf(id)
}

// ended waits for the end of a turn.
func (t *testSession) ended(id string) providers.Event {
	t.Helper()
	var end providers.Event
	t.until("turn "+id+" ends", func(all []providers.Event) bool {
		for _, e := range all {
			if e.Kind == providers.EventTurnEnd && e.Message == id {
				end = e
				return true
			}
		}
		return false
	})
	return end
}

// saying waits until a turn has emitted the text.
func (t *testSession) saying(id, text string) {
	t.Helper()
	t.until(fmt.Sprintf("turn %s says %q", id, text), func([]providers.Event) bool {
		return strings.Contains(t.ear.textOf(id), text)
	})
}

// taken waits until the backend reports a message as taken.
func (t *testSession) taken(id string) {
	t.Helper()
	t.until(id+" is taken", func(all []providers.Event) bool { return count(all, providers.EventTaken, id) > 0 })
}

// until waits for a condition on the events, or ends the check at its deadline.
func (t *testSession) until(what string, cond func([]providers.Event) bool) {
	t.Helper()
	for {
		all, more := t.ear.eventsSoFar()
		if cond(all) {
			return
		}
		select {
		case <-more:
		case <-t.ctx.Done():
			t.Fatalf("%s: still not so at the deadline, want it; heard %s", what, outline(all))
		}
	}
}

// tool is a tool with its implementation.
type tool struct {
	providers.Tool
	do func(ctx context.Context, c providers.ToolCall) providers.ToolResult
}

// schema accepts any object; the member word, if present, is a string.
var schema = json.RawMessage(`{"type":"object","properties":{"word":{"type":"string"}},"additionalProperties":true}`)

// answers returns a tool with a constant result.
func answers(name, text string) tool {
	return tool{
		Tool: providers.Tool{Name: name, Description: "Gives back a text.", Schema: schema},
		do: func(context.Context, providers.ToolCall) providers.ToolResult {
			return providers.ToolResult{Text: text}
		},
	}
}

// stuck is a tool "hold" that signals its start and waits until it is released or its context
// ends. It can be called once.
type stuck struct {
	tool
	began   chan struct{}
	release func()
	stopped chan struct{}
}

func newStuck(text string) stuck {
	s := stuck{began: make(chan struct{}), stopped: make(chan struct{})}
	gate := make(chan struct{})
	s.release = sync.OnceFunc(func() { close(gate) })
	s.tool = answers("hold", text)
	s.do = func(ctx context.Context, _ providers.ToolCall) providers.ToolResult {
		close(s.began)
		select {
		case <-gate:
			return providers.ToolResult{Text: text}
		case <-ctx.Done():
			close(s.stopped)
			return providers.ToolResult{Text: "stopped", IsError: true}
		}
	}
	return s
}

// use returns a tool call with the word as its input.
func use(name, word string) providers.ToolCall {
	in, err := json.Marshal(map[string]string{"word": word})
	if err != nil {
		panic(err) // never fails for a map of strings
	}
	return providers.ToolCall{Name: name, Input: in}
}
