package providertest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/demo"
)

// defective is a provider that violates one rule of the contract. The checks must detect it.
type defective struct {
	providers.Provider
	spec    func(*providers.Spec)
	session func(providers.Session, providers.Spec) providers.Session
	open    func(context.Context) context.Context
}

func (p *defective) Open(ctx context.Context, s providers.Spec) (providers.Session, error) {
	if p.open != nil {
		ctx = p.open(ctx)
	}
	if p.spec != nil {
		p.spec(&s)
	}
	inner, err := p.Provider.Open(ctx, s)
	if err == nil && p.session != nil {
		inner = p.session(inner, s)
	}
	return inner, err
}

// hears changes delivered events.
func hears(change func(e providers.Event, hear func(providers.Event))) func(*providers.Spec) {
	return func(s *providers.Spec) {
		hear := s.OnEvent
		s.OnEvent = func(e providers.Event) { change(e, hear) }
	}
}

// sends changes sent messages.
type sends struct {
	providers.Session
	send func(ctx context.Context, m providers.Message) error
}

func (s sends) Send(ctx context.Context, m providers.Message) error { return s.send(ctx, m) }

// interruptsEarly returns from Interrupt before the turn has ended.
type interruptsEarly struct{ providers.Session }

func (s interruptsEarly) Interrupt(context.Context) error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = s.Session.Interrupt(ctx)
	return nil
}

// sendsAfterClose delivers an event after it was closed.
type sendsAfterClose struct {
	providers.Session
	spec providers.Spec
}

func (s sendsAfterClose) Close() error {
	err := s.Session.Close()
	s.spec.OnEvent(providers.Event{Kind: providers.EventExit})
	return err
}

// defects lists violations of the contract.
func defects() map[string]*defective {
	return map[string]*defective{
		"does not tell the end of a turn": {spec: drops(providers.EventTurnEnd)},
		"does not tell what is taken":     {spec: drops(providers.EventTaken)},
		"does not tell what to remember":  {spec: drops(providers.EventEntries)},
		"does not tell what a turn took":  {spec: drops(providers.EventUsage)},
		"does not tell which messages it remembers": {spec: hears(func(e providers.Event, hear func(providers.Event)) {
			e.EntryMessages = nil
			hear(e)
		})},
		"tells the end twice": {spec: hears(func(e providers.Event, hear func(providers.Event)) {
			hear(e)
			if e.Kind == providers.EventTurnEnd {
				hear(e)
			}
		})},
		"tells the wrong message": {spec: hears(func(e providers.Event, hear func(providers.Event)) {
			if e.Kind == providers.EventText {
				e.Message = "another"
			}
			hear(e)
		})},
		"cuts characters": {spec: hears(func(e providers.Event, hear func(providers.Event)) {
			if len(e.Text) < 2 {
				hear(e)
				return
			}
			first, second := e, e
			first.Text, second.Text = e.Text[:1], e.Text[1:]
			hear(first)
			hear(second)
		})},
		"remembers at the end":        {spec: recordsLate},
		"remembers no results":        {spec: omitsResults},
		"remembers errors as fine":    {spec: recordsErrorsAsSuccess},
		"fails without a class":       {spec: failsWithoutClass},
		"makes no calls at once":      {spec: callsInTurn},
		"calls everybody at once":     {spec: callsAtOnce},
		"forgets what was said":       {spec: func(s *providers.Spec) { s.From = providers.Thread{} }},
		"opens with an ended context": {open: context.WithoutCancel},
		"sends with an ended context": {session: func(s providers.Session, _ providers.Spec) providers.Session {
			return sends{s, func(ctx context.Context, m providers.Message) error {
				return s.Send(context.WithoutCancel(ctx), m)
			}}
		}},
		"makes calls again": {session: func(s providers.Session, _ providers.Spec) providers.Session {
			return sends{s, func(ctx context.Context, m providers.Message) error {
				m.Done = nil
				return s.Send(ctx, m)
			}}
		}},
		"takes a steer at any time": {session: func(s providers.Session, _ providers.Spec) providers.Session {
			return sends{s, func(ctx context.Context, m providers.Message) error {
				if err := s.Send(ctx, m); !errors.Is(err, providers.ErrIdle) {
					return err
				}
				return nil
			}}
		}},
		"loses steers": {session: func(s providers.Session, _ providers.Spec) providers.Session {
			return sends{s, func(ctx context.Context, m providers.Message) error {
				if m.Mode == providers.Steer {
					return nil
				}
				return s.Send(ctx, m)
			}}
		}},
		"is busy while its end is heard": busyAtEnd(),
		"does not wait for the end":      {session: func(s providers.Session, _ providers.Spec) providers.Session { return interruptsEarly{s} }},
		"speaks after its end": {session: func(s providers.Session, spec providers.Spec) providers.Session {
			return sendsAfterClose{s, spec}
		}},
	}
}

func drops(k providers.EventKind) func(*providers.Spec) {
	return hears(func(e providers.Event, hear func(providers.Event)) {
		if e.Kind != k {
			hear(e)
		}
	})
}

func recordsLate(s *providers.Spec) {
	var late []providers.Event
	hears(func(e providers.Event, hear func(providers.Event)) {
		if e.Kind == providers.EventEntries {
			late = append(late, e)
			return
		}
		if e.Kind == providers.EventTurnEnd {
			for _, l := range late {
				hear(l)
			}
			late = nil
		}
		hear(e)
	})(s)
}

// changesBlocks changes reported entries.
func changesBlocks(change func([]providers.Block) []providers.Block) func(*providers.Spec) {
	return hears(func(e providers.Event, hear func(providers.Event)) {
		e.Entries = slices.Clone(e.Entries)
		for n := range e.Entries {
			e.Entries[n].Blocks = change(slices.Clone(e.Entries[n].Blocks))
		}
		hear(e)
	})
}

func omitsResults(s *providers.Spec) {
	changesBlocks(func(b []providers.Block) []providers.Block {
		return slices.DeleteFunc(b, func(b providers.Block) bool { return b.Kind == providers.BlockToolResult })
	})(s)
}

func recordsErrorsAsSuccess(s *providers.Spec) {
	changesBlocks(func(b []providers.Block) []providers.Block {
		for n := range b {
			b[n].IsError = false
		}
		return b
	})(s)
}

func failsWithoutClass(s *providers.Spec) {
	hears(func(e providers.Event, hear func(providers.Event)) {
		if e.Err != nil {
			e.Err = errors.New("something is wrong")
		}
		hear(e)
	})(s)
}

func callsInTurn(s *providers.Spec) {
	call, one := s.Call, make(chan struct{}, 1)
	if call == nil {
		return
	}
	s.Call = func(ctx context.Context, c providers.ToolCall) providers.ToolResult {
		one <- struct{}{}
		defer func() { <-one }()
		return call(ctx, c)
	}
}

func callsAtOnce(s *providers.Spec) {
	s.Tools = slices.Clone(s.Tools)
	for n := range s.Tools {
		s.Tools[n].Parallel = true
	}
}

func busyAtEnd() *defective {
	var mu sync.Mutex
	var at bool
	set := func(v bool) {
		mu.Lock()
		defer mu.Unlock()
		at = v
	}
	return &defective{
		spec: hears(func(e providers.Event, hear func(providers.Event)) {
			set(e.Kind == providers.EventTurnEnd)
			hear(e)
			set(false)
		}),
		session: func(s providers.Session, _ providers.Spec) providers.Session {
			return sends{s, func(ctx context.Context, m providers.Message) error {
				mu.Lock()
				defer mu.Unlock()
				if at {
					return providers.ErrBusy
				}
				return s.Send(ctx, m)
			}}
		},
	}
}

// verdict records failures without failing the test.
type verdict struct {
	ctx      context.Context
	mu       sync.Mutex
	words    []string
	cleanups []func()
}

func (*verdict) Helper()                    {}
func (v *verdict) Context() context.Context { return v.ctx }
func (v *verdict) Cleanup(f func())         { v.cleanups = append(v.cleanups, f) }

func (v *verdict) Errorf(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.words = append(v.words, fmt.Sprintf(format, args...))
}

func (v *verdict) Fatalf(format string, args ...any) {
	v.Errorf(format, args...)
	runtime.Goexit()
}

// examine runs one check and returns its failures.
func examine(t *testing.T, b Bench, c check, p func() providers.Provider) []string {
	t.Helper()
	v := &verdict{ctx: t.Context()}
	var wg sync.WaitGroup
	wg.Go(func() { perform(v, b, p, c) })
	wg.Wait()
	for _, f := range slices.Backward(v.cleanups) {
		f()
	}
	return v.words
}

func demoBench() Bench {
	return Bench{
		Usage: true, Fails: []providers.Class{providers.Rate},
		Prompt: func(steps ...Step) string {
			var lines []string
			for _, s := range steps {
				switch {
				case s.Say != "":
					lines = append(lines, "/say "+s.Say)
				case s.Recall:
					lines = append(lines, "/recall")
				case s.Hang:
					lines = append(lines, "/hang")
				case s.Fail != "":
					lines = append(lines, "/fail "+string(s.Fail)+": so")
				default:
					line := []string{"/call"}
					for _, c := range s.Calls {
						line = append(line, c.Name, string(c.Input))
					}
					lines = append(lines, strings.Join(line, " "))
				}
			}
			return strings.Join(lines, "\n")
		},
	}
}

func TestSuiteNoticesDefects(t *testing.T) {
	t.Parallel()
	for name, defect := range defects() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, g := range groups() {
				for _, c := range g.checks {
					var words []string
					synctest.Test(t, func(t *testing.T) {
						words = examine(t, demoBench(), c, func() providers.Provider {
							p := *defect
							p.Provider = demo.New(demo.Config{})
							return &p
						})
					})
					if len(words) > 0 {
						t.Logf("%s: %s noticed: %.200s", g.name, c.name, words[0])
						return
					}
				}
			}
			t.Error("no check noticed the defect, want one that does")
		})
	}
}
