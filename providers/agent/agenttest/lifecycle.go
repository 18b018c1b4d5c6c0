package agenttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/providertest"
)

// NewProvider returns a provider of stand-ins that store their conversations in home.
type NewProvider func(home string) (providers.Provider, error)

// hangTimeout ends a test that would otherwise hang. Real agents take half a minute on a busy machine.
const hangTimeout = 3 * time.Minute

// WritePID tells the tests which process a stand-in is. Stand-ins call it at their start.
func WritePID(home string) {
	name := filepath.Join(home, "pid-"+strconv.Itoa(os.Getpid()))
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		panic(err)
	}
}

// PIDs returns the ids of all stand-ins that were started with that home.
func PIDs(t *testing.T, home string) (all []int) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(home, "pid-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		_, id, _ := strings.Cut(filepath.Base(name), "-")
		n, err := strconv.Atoi(id)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, n)
	}
	return all
}

// events collects the events of a session.
type events struct {
	mu     sync.Mutex
	all    []providers.Event
	thread providers.Thread
	more   chan struct{}
}

func (e *events) add(ev providers.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, ev)
	e.thread.Entries = append(e.thread.Entries, ev.Entries...)
	if ev.Thread != "" {
		e.thread.ID = ev.Thread
	}
	close(e.more)
	e.more = make(chan struct{})
}

// until waits for an event.
func (e *events) until(ctx context.Context, what string, match func(providers.Event) bool) (providers.Event, error) {
	for {
		e.mu.Lock()
		for _, ev := range e.all {
			if match(ev) {
				e.mu.Unlock()
				return ev, nil
			}
		}
		more := e.more
		e.mu.Unlock()
		select {
		case <-more:
		case <-ctx.Done():
			return providers.Event{}, fmt.Errorf("%s: still not so: %w", what, ctx.Err())
		}
	}
}

// said returns the text of the session so far.
func (e *events) said() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var text strings.Builder
	for _, ev := range e.all {
		if ev.Kind == providers.EventText {
			text.WriteString(ev.Text)
		}
	}
	return text.String()
}

func kind(k providers.EventKind) func(providers.Event) bool {
	return func(e providers.Event) bool { return e.Kind == k }
}

// Killed kills stand-ins in every state. The turn fails, the session ends, and the conversation
// continues in a new process.
func Killed(t *testing.T, newProvider NewProvider) {
	t.Helper()
	hold := providers.ToolCall{Name: "hold", Input: json.RawMessage(`{}`)}
	for name, tt := range map[string]struct {
		steps []providertest.Step
		in    providers.EventKind // the event that tells that the state is reached
	}{
		"idle":      {},
		"streaming": {[]providertest.Step{providertest.Say("so far"), providertest.Hang()}, providers.EventText},
		"calling":   {[]providertest.Step{providertest.Call(hold)}, "called"},
		"asking":    {[]providertest.Step{providertest.Ask(hold)}, providers.EventApproval},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), hangTimeout)
			defer cancel()
			home := t.TempDir()
			p, err := newProvider(home)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := p.Close(); err != nil {
					t.Errorf("close the provider: %v", err)
				}
			})
			e := &events{more: make(chan struct{}), thread: providers.Thread{Provider: p.Name()}}
			s, err := p.Open(ctx, providers.Spec{
				Tools:   []providers.Tool{{Name: "hold", Schema: json.RawMessage(`{"type":"object"}`)}},
				OnEvent: e.add,
				Call: func(ctx context.Context, _ providers.ToolCall) providers.ToolResult {
					e.add(providers.Event{Kind: "called"})
					<-ctx.Done()
					return providers.ToolResult{Text: "stopped", IsError: true}
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			if tt.in != "" {
				if err := s.Send(ctx, providers.Message{ID: "m-1", Mode: providers.Start, Text: Prompt(tt.steps...)}); err != nil {
					t.Fatal(err)
				}
				if _, err := e.until(ctx, "the state is reached", kind(tt.in)); err != nil {
					t.Fatal(err)
				}
			}
			for _, pid := range PIDs(t, home) {
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := e.until(ctx, "the session ends", kind(providers.EventExit)); err != nil {
				t.Fatal(err)
			}
			if tt.in != "" {
				end, err := e.until(ctx, "the turn ends", kind(providers.EventTurnEnd))
				var f *providers.Failure
				if err != nil || end.Outcome != providers.Failed || !errors.As(end.Err, &f) || f.Class != providers.Transport {
					t.Errorf("the turn is %s with %v (%v), want failed because of the transport", end.Outcome, end.Err, err)
				}
			}
			if err := s.Send(ctx, providers.Message{ID: "m-2", Mode: providers.Start, Text: "x"}); !errors.Is(err, providers.ErrClosed) {
				t.Errorf("a message for a process that ended: got error %v, want ErrClosed", err)
			}
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			reopen(ctx, t, p, e)
		})
	}
}

// reopen continues the conversation in a new process.
func reopen(ctx context.Context, t *testing.T, p providers.Provider, before *events) {
	t.Helper()
	e := &events{more: make(chan struct{})}
	s, err := p.Open(ctx, providers.Spec{From: before.thread, OnEvent: e.add})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(ctx, providers.Message{ID: "m-3", Mode: providers.Start, Text: Prompt(providertest.Say("back again"))}); err != nil {
		t.Fatal(err)
	}
	if end, err := e.until(ctx, "the turn ends", kind(providers.EventTurnEnd)); err != nil || end.Outcome != providers.Completed {
		t.Errorf("the turn of the new process is %s with %v (%v), want completed", end.Outcome, end.Err, err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}
