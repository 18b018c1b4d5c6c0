package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/loop"
)

// answer is one scripted reply of the model.
type answer func(ctx context.Context, r loop.Request, say func(loop.Piece)) (loop.Reply, error)

// script is a model with a list of replies, and "done" from then on.
type script struct {
	mu       sync.Mutex
	answers  []answer
	requests []loop.Request
}

// Stream implements [loop.Model].
func (s *script) Stream(ctx context.Context, r loop.Request, say func(loop.Piece)) (loop.Reply, error) {
	s.mu.Lock()
	s.requests = append(s.requests, r)
	next := says("done")
	if len(s.answers) > 0 {
		next, s.answers = s.answers[0], s.answers[1:]
	}
	s.mu.Unlock()
	return next(ctx, r, say)
}

// asked returns the n-th request.
func (s *script) asked(t *testing.T, n int) loop.Request {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if n >= len(s.requests) {
		t.Fatalf("the model was asked %d times, want more than %d", len(s.requests), n)
	}
	return s.requests[n]
}

func (s *script) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// says returns a reply with a text.
func says(words string) answer {
	return func(_ context.Context, _ loop.Request, say func(loop.Piece)) (loop.Reply, error) {
		say(loop.Piece{Text: words})
		return loop.Reply{Blocks: []providers.Block{text(words)}, Usage: providers.Usage{Input: 1, Output: 1}}, nil
	}
}

// wants replies with unpublished blocks, such as calls.
func wants(blocks ...providers.Block) answer {
	return func(context.Context, loop.Request, func(loop.Piece)) (loop.Reply, error) {
		return loop.Reply{Blocks: blocks}, nil
	}
}

// fails returns a failure.
func fails(f *providers.Failure) answer {
	return func(context.Context, loop.Request, func(loop.Piece)) (loop.Reply, error) { return loop.Reply{}, f }
}

// hangs emits text and waits to be cancelled, with these blocks so far.
func hangs(words string, blocks ...providers.Block) answer {
	return func(ctx context.Context, _ loop.Request, say func(loop.Piece)) (loop.Reply, error) {
		say(loop.Piece{Text: words})
		<-ctx.Done()
		return loop.Reply{Blocks: blocks}, context.Cause(ctx)
	}
}

func text(words string) providers.Block {
	return providers.Block{Kind: providers.BlockText, Text: words}
}

func call(id, tool string) providers.Block {
	return providers.Block{Kind: providers.BlockToolCall, Call: id, Tool: tool, Input: json.RawMessage(`{}`)}
}

func failure(c providers.Class) *providers.Failure {
	return &providers.Failure{Class: c, Err: errors.New("on purpose")}
}

// testSession is a session with its model and all events.
type testSession struct {
	providers.Session
	t     *testing.T
	model *script

	mu    sync.Mutex
	heard []providers.Event
	news  chan struct{}
}

// open opens a session with a scripted model.
func open(t *testing.T, spec providers.Spec, answers ...answer) *testSession {
	t.Helper()
	k := &testSession{t: t, model: &script{answers: answers}, news: make(chan struct{})}
	p := loop.New(loop.Config{Name: "here", Model: k.model})
	spec.OnEvent = k.hear
	if spec.Call == nil {
		spec.Call = func(_ context.Context, c providers.ToolCall) providers.ToolResult {
			return providers.ToolResult{Text: "result of " + c.Name}
		}
	}
	s, err := p.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	k.Session = s
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return k
}

func (k *testSession) hear(e providers.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.heard = append(k.heard, e)
	close(k.news)
	k.news = make(chan struct{})
}

// send sends a message that must be accepted.
func (k *testSession) send(id string, mode providers.Mode, words string) {
	k.t.Helper()
	if err := k.Send(k.t.Context(), providers.Message{ID: id, Mode: mode, Text: words}); err != nil {
		k.t.Fatalf("send %s: %v", id, err)
	}
}

// until waits for an event.
func (k *testSession) until(match func(providers.Event) bool) providers.Event {
	k.t.Helper()
	for {
		k.mu.Lock()
		i, news := slices.IndexFunc(k.heard, match), k.news
		if i >= 0 {
			defer k.mu.Unlock()
			return k.heard[i]
		}
		k.mu.Unlock()
		select {
		case <-news:
		case <-k.t.Context().Done():
			k.t.Fatal("the event has not arrived, want it before the end of the test")
		}
	}
}

// end waits for the end of a turn.
func (k *testSession) end(id string) providers.Event {
	k.t.Helper()
	return k.until(func(e providers.Event) bool { return e.Kind == providers.EventTurnEnd && e.Message == id })
}

// seen waits until this text was emitted.
func (k *testSession) seen(words string) {
	k.t.Helper()
	k.until(func(e providers.Event) bool { return e.Kind == providers.EventText && e.Text == words })
}

// all returns the events of a kind.
func (k *testSession) all(kind providers.EventKind) (out []providers.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range k.heard {
		if e.Kind == kind {
			out = append(out, e)
		}
	}
	return out
}

// kept returns the conversation as the hub has stored it.
func (k *testSession) kept() (out []providers.Entry) {
	for _, e := range k.all(providers.EventEntries) {
		out = append(out, e.Entries...)
	}
	return out
}

// outline summarises a conversation.
func outline(entries []providers.Entry) string {
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(string(e.Role[:1]) + ":")
		for _, bl := range e.Blocks {
			switch bl.Kind {
			case providers.BlockToolCall:
				b.WriteString(" call " + bl.Call)
			case providers.BlockToolResult:
				b.WriteString(" result " + bl.Call + "=" + bl.Text)
			default:
				if strings.HasPrefix(bl.Text, "(") && strings.Contains(bl.Text, "the user has seen it") {
					b.WriteString(" cut") // the note after a reply that was cut
					continue
				}
				b.WriteString(" " + string(bl.Kind) + " " + bl.Text)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// tools returns tools by name; those with a star are parallel.
func tools(names ...string) (out []providers.Tool) {
	for _, n := range names {
		name, parallel := strings.CutSuffix(n, "*")
		out = append(out, providers.Tool{Name: name, Parallel: parallel})
	}
	return out
}
