package providertest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/everdesk/everdesk/providers"
)

// listener receives the events of a session and records violations of the contract. They are
// reported at the end of the check, because events come from other goroutines.
type listener struct {
	provider string
	closed   atomic.Bool // the session is closed: further events are violations
	hearing  atomic.Bool // an event is being delivered

	mu     sync.Mutex
	all    []providers.Event
	more   chan struct{} // closed with the next event
	faulty []string      // violations so far
	turn   string        // id of the running turn
	ended  map[string]bool
	thread providers.Thread
	calls  map[string]*callState
	pause  chan struct{} // unless nil, event delivery blocks on it
	onEnd  func()        // unless nil, called once during the delivery of a turn's end
}

// callState is the state of a reported tool call.
type callState struct {
	block            providers.Block
	made, remembered bool
	inherited        bool // from the conversation that the session continues
}

func newEar(provider string, t providers.Thread) *listener {
	e := &listener{
		provider: provider, more: make(chan struct{}), ended: map[string]bool{}, calls: map[string]*callState{},
		thread: providers.Thread{ID: t.ID, Provider: provider},
	}
	e.storeEntries(t.Entries)
	e.faulty = nil // violations in the inherited conversation do not count
	for _, c := range e.calls {
		c.inherited = true
	}
	return e
}

// onEvent implements [providers.Spec.OnEvent].
func (e *listener) onEvent(ev providers.Event) {
	if !e.hearing.CompareAndSwap(false, true) {
		e.fault("two events are told at once, one of them %s", ev.Kind)
	}
	e.mu.Lock()
	if e.closed.Load() {
		e.faultLocked("%s is heard after the session was closed", ev.Kind)
	}
	e.judge(ev)
	e.all = append(e.all, ev)
	close(e.more)
	e.more = make(chan struct{})
	pause, onEnd := e.pause, e.onEnd
	if ev.Kind == providers.EventTurnEnd {
		e.onEnd = nil
	} else {
		onEnd = nil
	}
	e.mu.Unlock()
	if onEnd != nil {
		onEnd()
	}
	if pause != nil {
		<-pause
	}
	e.hearing.Store(false)
}

// judge records violations of the contract by an event. e.mu is held.
func (e *listener) judge(ev providers.Event) {
	switch ev.Kind {
	case providers.EventTurnStart:
		if e.turn != "" {
			e.faultLocked("turn %s starts while %s runs", ev.Message, e.turn)
		}
		if ev.Message == "" {
			e.faultLocked("a turn starts without a message")
		}
		e.turn = ev.Message
		return
	case providers.EventTaken:
		if n := count(e.all, providers.EventTaken, ev.Message); n > 0 || ev.Message == "" {
			e.faultLocked("message %q is taken for the %d. time", ev.Message, n+1)
		}
		return
	case providers.EventEntries:
		e.storeEntries(ev.Entries)
		if ev.Thread != "" {
			e.thread.ID = ev.Thread
		}
		if e.turn == "" {
			return // an injected message
		}
	case providers.EventText, providers.EventThinking:
		if ev.Text == "" || !utf8.ValidString(ev.Text) {
			e.faultLocked("a piece of %s is %q, which is empty or not whole", ev.Kind, ev.Text)
		}
	case providers.EventExit:
		return
	}
	if ev.Message != e.turn || e.turn == "" {
		e.faultLocked("%s is of %q while the turn is %q", ev.Kind, ev.Message, e.turn)
	}
	if ev.Kind == providers.EventTurnEnd {
		e.judgeEnd(ev)
		e.ended[e.turn] = true
		e.turn = ""
	}
}

func (e *listener) judgeEnd(ev providers.Event) {
	switch ev.Outcome {
	case providers.Completed:
		if ev.Err != nil {
			e.faultLocked("turn %s is completed with the error %v", ev.Message, ev.Err)
		}
	case providers.Failed:
		f, ok := ev.Err.(*providers.Failure) //nolint:errorlint // the contract says it is one, not that it wraps one
		if !ok || !slices.Contains(classes, f.Class) || f.Err == nil {
			e.faultLocked("turn %s failed with %#v, want a *Failure with its class and cause", ev.Message, ev.Err)
		}
	case providers.Interrupted:
	default:
		e.faultLocked("turn %s ends %q", ev.Message, ev.Outcome)
	}
	for id, c := range e.calls {
		if !c.remembered && !c.inherited {
			e.faultLocked("turn %s ends and no result of call %s of %s is remembered", ev.Message, id, c.block.Tool)
		}
	}
}

var classes = []providers.Class{
	providers.Auth, providers.Rate, providers.Overloaded, providers.Transport,
	providers.ContextLength, providers.Refused, providers.Invalid,
}

// storeEntries stores entries as the hub does, and records violations. e.mu is held once events are
// delivered.
func (e *listener) storeEntries(entries []providers.Entry) {
	for _, n := range entries {
		if n.Turn == "" || len(n.Blocks) == 0 || n.Role != providers.RoleUser && n.Role != providers.RoleAssistant {
			e.faultLocked("an entry to remember lacks its turn, role or blocks: %+v", n)
		}
		for _, b := range n.Blocks {
			e.judgeBlock(n, b)
		}
	}
	// Stored entries are encoded and decoded, so they share no memory.
	raw, err := json.Marshal(entries)
	if err == nil {
		var kept []providers.Entry
		err = json.Unmarshal(raw, &kept)
		e.thread.Entries = append(e.thread.Entries, kept...)
	}
	if err != nil {
		e.faultLocked("entries cannot be kept: %v", err)
	}
}

func (e *listener) judgeBlock(n providers.Entry, b providers.Block) {
	switch b.Kind {
	case providers.BlockText, providers.BlockThinking, providers.BlockOpaque:
	case providers.BlockImage:
		if b.Image == nil {
			e.faultLocked("an image to remember is none")
		}
	case providers.BlockToolCall:
		var input map[string]any
		if err := json.Unmarshal(b.Input, &input); err != nil || b.Call == "" || b.Tool == "" || n.Role != providers.RoleAssistant {
			e.faultLocked("a call to remember makes no sense: %+v of %s (%v)", b, n.Role, err)
		}
		if e.calls[b.Call] != nil {
			e.faultLocked("there are two calls %s", b.Call)
		}
		e.calls[b.Call] = &callState{block: b}
	case providers.BlockToolResult:
		c := e.calls[b.Call]
		if c == nil || c.remembered || n.Role != providers.RoleUser {
			e.faultLocked("a result to remember has no call that waits for it: %+v of %s", b, n.Role)
			return
		}
		c.remembered = true
	default:
		e.faultLocked("a block to remember is of kind %q", b.Kind)
	}
}

// watch wraps the function that calls tools, and records invalid calls.
func (e *listener) watch(call func(context.Context, providers.ToolCall) providers.ToolResult) func(context.Context, providers.ToolCall) providers.ToolResult {
	return func(ctx context.Context, c providers.ToolCall) providers.ToolResult {
		e.mu.Lock()
		if e.closed.Load() {
			e.faultLocked("%s is called after the session was closed", c.Name)
		}
		switch s := e.calls[c.ID]; {
		case s == nil:
			e.faultLocked("call %q of %s is made before it is remembered", c.ID, c.Name)
		case s.made || s.remembered && ctx.Err() == nil: // a call whose turn has just ended is refused by its context
			e.faultLocked("call %s of %s is made again", c.ID, c.Name)
		case s.block.Tool != c.Name || !sameJSON(s.block.Input, c.Input):
			e.faultLocked("call %s is %s %s, and remembered as %s %s", c.ID, c.Name, c.Input, s.block.Tool, s.block.Input)
		default:
			s.made = true
		}
		e.mu.Unlock()
		return call(ctx, c)
	}
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return fmt.Sprint(x) == fmt.Sprint(y)
}

func (e *listener) fault(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.faultLocked(format, args...)
}

func (e *listener) faultLocked(format string, args ...any) {
	e.faulty = append(e.faulty, fmt.Sprintf(format, args...))
}

func (e *listener) faults() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	faulty := e.faulty
	if e.turn != "" {
		faulty = append(faulty, "turn "+e.turn+" has not ended and the session is closed")
	}
	return faulty
}

// eventsSoFar returns all events so far, and a channel that is closed when there are more.
func (e *listener) eventsSoFar() ([]providers.Event, <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.all), e.more
}

// textOf returns the text of a turn.
func (e *listener) textOf(id string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var b strings.Builder
	for _, ev := range e.all {
		if ev.Kind == providers.EventText && ev.Message == id {
			b.WriteString(ev.Text)
		}
	}
	return b.String()
}

// kept returns the conversation as the hub has stored it.
func (e *listener) kept() providers.Thread {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.thread
	t.Entries = slices.Clone(t.Entries)
	return t
}

// slow blocks the delivery of events until release is called.
func (e *listener) slow() (release func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	pause := make(chan struct{})
	e.pause = pause
	return sync.OnceFunc(func() {
		e.mu.Lock()
		e.pause = nil
		e.mu.Unlock()
		close(pause)
	})
}

// atEnd makes the listener call f during the delivery of the next end of a turn.
func (e *listener) atEnd(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.onEnd = f
}

func count(all []providers.Event, k providers.EventKind, message string) (n int) {
	for _, e := range all {
		if e.Kind == k && e.Message == message {
			n++
		}
	}
	return n
}

// outline summarises events for failure messages.
func outline(all []providers.Event) string {
	var b strings.Builder
	for _, e := range all {
		fmt.Fprintf(&b, "%s(%s) ", e.Kind, e.Message)
	}
	return b.String()
}
