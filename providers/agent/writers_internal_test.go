package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/everdesk/everdesk/providers"
)

// quiet is a backend with an id that does nothing.
type quiet string

func (q quiet) ID() string                                             { return string(q) }
func (quiet) Start(context.Context, Message) error                     { return nil }
func (quiet) Steer(context.Context, Message) error                     { return nil }
func (quiet) Interrupt(context.Context) error                          { return nil }
func (quiet) Answer(context.Context, string, providers.Decision) error { return nil }
func (quiet) Close() error                                             { return nil }

// Of two providers whose programs have one home, only one program writes a conversation at a time, also if they are of
// different hubs.
func TestOneWriterPerHome(t *testing.T) {
	t.Parallel()
	t.Run("one hub", func(t *testing.T) {
		t.Parallel()
		same := NewWriters("")
		checkOneWriter(t, same, same)
	})
	t.Run("two hubs", func(t *testing.T) {
		t.Parallel()
		folder := filepath.Join(t.TempDir(), "locks")
		checkOneWriter(t, NewWriters(folder), NewWriters(folder))
		if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
			t.Errorf("in the folder of locks are %v (%v), want nothing", left, err)
		}
	})
}

// Programs of two hubs with one home start one after the other.
func TestProgramsOfTwoHubsStartAlone(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first, second := NewWriters(folder), NewWriters(folder)
	err := first.StartAlone(t.Context(), func() error {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		return second.StartAlone(ctx, func() error { return errors.New("it starts while another starts") })
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the second start: got %v, want %v", err, context.Canceled)
	}
	started := false
	if err := second.StartAlone(t.Context(), func() error { started = true; return nil }); err != nil || !started {
		t.Errorf("a start afterwards: got %v and %v, want it to happen", started, err)
	}
}

// checkOneWriter checks providers with these sets of open conversations.
func checkOneWriter(t *testing.T, one, other *Writers) {
	t.Helper()
	var opened []string
	connect := func(_ context.Context, o Opening) (Backend, error) {
		opened = append(opened, fmt.Sprintf("%s %v", o.Resume, o.Fork))
		if o.Fork {
			return quiet(fmt.Sprint("copy-", len(opened))), nil
		}
		return quiet(o.Resume), nil
	}
	first := New(Config{Name: "test", Caps: providers.Caps{Resume: true}, Temp: t.TempDir(), Connect: connect, Writers: one})
	second := New(Config{Name: "test", Caps: providers.Caps{Resume: true}, Temp: t.TempDir(), Connect: connect, Writers: other})
	entries := []providers.Entry{said(providers.RoleUser, "hello")}
	spec := providers.Spec{From: providers.Thread{ID: threadID("own", newDigest(entries)), Provider: "test", Entries: entries}}
	open := func(p *Provider) providers.Session {
		t.Helper()
		s, err := p.Open(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open(first)
	open(second)
	open(first)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	open(second)
	if want := []string{"own false", "own true", "own true", "own false"}; !slices.Equal(opened, want) {
		t.Errorf("the conversations were opened as %q, want %q", opened, want)
	}
	for _, p := range []*Provider{first, second} {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A program that ends because it does not have the conversation to resume is no end of the session, which goes
// on with a transcript.
func TestFailedResumeIsNotReportedAsTheEnd(t *testing.T) {
	t.Parallel()
	connect := func(_ context.Context, o Opening) (Backend, error) {
		if o.Resume != "" {
			o.Session.Exited(errors.New("exit status 1"))
			return nil, errors.New("no conversation found")
		}
		return quiet("new"), nil
	}
	p := New(Config{Name: "test", Caps: providers.Caps{Resume: true}, Temp: t.TempDir(), Connect: connect})
	entries := []providers.Entry{said(providers.RoleUser, "hello")}
	var events []providers.EventKind
	s, err := p.Open(t.Context(), providers.Spec{
		From:    providers.Thread{ID: threadID("own", newDigest(entries)), Provider: "test", Entries: entries},
		OnEvent: func(e providers.Event) { events = append(events, e.Kind) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil { // delivers all events
		t.Error(err)
	}
	if s.ID() != "new" || len(events) > 0 {
		t.Errorf("the conversation is %s with the events %q, want a new one without events", s.ID(), events)
	}
}
