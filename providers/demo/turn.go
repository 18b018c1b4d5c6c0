package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everdesk/everdesk/providers"
)

// turn is one turn. After newTurn only its goroutine changes the fields, unless noted otherwise.
type turn struct {
	s      *session
	first  providers.Message
	ctx    context.Context
	cancel context.CancelFunc
	closed bool // refuses steered and queued messages; constant

	// mail holds steered and injected messages, and later queued ones, which wait until the
	// script is done. The session's lock guards both. news signals new mail.
	mail, later []providers.Message
	news        chan struct{}

	script []step
	// at is the id of the current step, or of the last one if stepDone is set.
	at       string
	stepDone bool

	text   strings.Builder  // text that is not in the entries yet
	spoken bool             // the turn has produced text
	ends   byte             // last byte of the text
	spent  int              // bytes of text and thinking
	since  time.Time        // begin of the simulated model call
	claim  *providers.Usage // usage to report, set by /usage
}

func newTurn(s *session, m providers.Message) *turn {
	t := &turn{s: s, first: m, news: make(chan struct{}, 1), since: time.Now()}
	t.ctx, t.cancel = context.WithCancel(s.ctx)
	t.closed = refusesSteers(m.Text)
	if m.Mode == providers.Continue {
		t.closed = refusesSteers(readProgress(s.entries, m.ID).beginning())
	}
	return t
}

// maxMail bounds the messages waiting for a turn.
const maxMail = 100

// post adds a message for the turn, or returns ErrNoSteer. The session's lock is held.
func (t *turn) post(m providers.Message) error {
	if t.closed && m.Mode != providers.Inject || len(t.mail)+len(t.later) >= maxMail {
		return providers.ErrNoSteer
	}
	if m.Mode == providers.Queue {
		t.later = append(t.later, m)
		return nil
	}
	t.mail = append(t.mail, m)
	select {
	case t.news <- struct{}{}:
	default: // a signal is pending already
	}
	return nil
}

// run executes the turn from its start to its end.
func (t *turn) run() {
	defer t.cancel()
	t.emit(providers.Event{Kind: providers.EventTurnStart})
	err := t.runScript()
	t.becomeIdle()
	t.flush()
	end := providers.Event{Kind: providers.EventTurnEnd, Outcome: providers.Completed}
	if f, ok := errors.AsType[*providers.Failure](err); ok {
		end.Outcome, end.Err = providers.Failed, f
	} else if err != nil {
		end.Outcome = providers.Interrupted
	}
	t.emit(end)
}

// runScript executes the turn's script. A panic fails the turn and not the hub.
func (t *turn) runScript() (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &providers.Failure{Class: providers.Invalid, Err: fmt.Errorf("internal error: %v", v)}
		}
	}()
	if t.first.Mode == providers.Continue {
		err = t.resume()
	} else {
		t.closeCalls()
		t.takeMessage(t.first)
	}
	if err != nil {
		return err
	}
	// The demo stands in for models: a conversation that could not be sent to a model fails
	// here, too.
	if err := providers.Checked(providers.Corrected(t.s.entries, providers.CorrectOptions{Backend: t.s.provider.Name()})); err != nil {
		return err
	}
	return t.play()
}

// play executes the steps of the script and collects messages in between, until both are used up.
func (t *turn) play() error {
	for {
		if err := context.Cause(t.ctx); err != nil {
			return err
		}
		t.collect()
		if len(t.script) == 0 {
			if t.endIfIdle() {
				return nil
			}
			continue
		}
		next := t.script[0]
		t.script, t.at, t.stepDone = t.script[1:], next.id, false
		if err := next.execute(t); err != nil {
			return err
		}
		t.stepDone = true
	}
}

// endIfIdle makes the session idle unless messages are left, and reports whether it did.
// Otherwise the next queued message becomes mail. It runs before the end of the turn is delivered,
// because the receiver may send the next message at once.
func (t *turn) endIfIdle() bool {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	if len(t.mail) > 0 {
		return false
	}
	if len(t.later) > 0 {
		t.mail, t.later = t.later[:1:1], t.later[1:]
		return false
	}
	t.s.turn = nil
	return true
}

// becomeIdle makes the session idle and drops the messages that are left.
func (t *turn) becomeIdle() {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	if t.s.turn == t {
		t.s.turn = nil
	}
}

// collect takes all messages from mail, and reports whether one of them needs an answer.
func (t *turn) collect() (steered bool) {
	t.s.mu.Lock()
	mail := t.mail
	t.mail = nil
	t.s.mu.Unlock()
	for _, m := range mail {
		t.takeMessage(m)
		steered = steered || m.Mode != providers.Inject
	}
	return steered
}

// takeMessage adds a message to the conversation and its steps to the script.
func (t *turn) takeMessage(m providers.Message) {
	e := providers.Entry{Role: providers.RoleUser, Turn: t.first.ID, Blocks: blocksOf(m)}
	if m.Mode != providers.Inject {
		t.appendSteps(withStepIDs(m.ID, t.s.plan(t.s.entries, e)))
	}
	t.remember([]string{m.ID}, append(t.pendingEntries(), e)...)
	t.emit(providers.Event{Kind: providers.EventTaken, Message: m.ID})
}

// appendSteps adds the steps of a message and removes earlier /hang steps, because the turn has
// been steered.
func (t *turn) appendSteps(planned []step) {
	t.script = append(slices.DeleteFunc(t.script, func(st step) bool { return st.kind == stepHang }), planned...)
}

// flush adds the text so far and the calls that follow it to the conversation.
func (t *turn) flush(calls ...providers.Block) { t.remember(nil, t.pendingEntries(calls...)...) }

// pendingEntries returns an entry with the text that is not in the conversation yet and the calls
// that follow it, or none. It reports the usage of the simulated model call and clears the text.
func (t *turn) pendingEntries(calls ...providers.Block) (entries []providers.Entry) {
	if t.text.Len() > 0 || len(calls) > 0 {
		var blocks []providers.Block
		if t.text.Len() > 0 {
			blocks = append(blocks, providers.Block{Kind: providers.BlockText, Text: t.text.String(), Origin: t.origin()})
		}
		entries = append(entries, t.entry(providers.RoleAssistant, append(blocks, calls...)...))
	}
	if len(entries) > 0 {
		usage := t.usage(entries[0])
		t.emit(providers.Event{Kind: providers.EventUsage, Usage: usage})
		if t.s.spec.OnModelCall != nil {
			t.s.spec.OnModelCall(providers.ModelCall{Model: Name, Began: t.since, Ended: time.Now(), Usage: usage})
		}
		t.since = time.Now()
	}
	t.text.Reset()
	return entries
}

func (t *turn) entry(role providers.Role, blocks ...providers.Block) providers.Entry {
	return providers.Entry{Role: role, Turn: t.first.ID, Blocks: blocks}
}

// remember adds entries to the conversation and reports them. took are the ids of the messages in
// them.
func (t *turn) remember(took []string, entries ...providers.Entry) {
	if len(entries) == 0 {
		return
	}
	t.s.appendEntries(entries...)
	t.emit(providers.Event{Kind: providers.EventEntries, Entries: entries, EntryMessages: took})
}

// usage returns simulated usage at four bytes per token, unless /usage has set it.
func (t *turn) usage(answer providers.Entry) providers.Usage {
	if t.claim != nil {
		return *t.claim
	}
	size := func(e providers.Entry) (n int) {
		for _, b := range e.Blocks {
			n += (len(b.Text) + len(b.Input) + 3) / 4
		}
		return n
	}
	u := providers.Usage{Output: max(1, size(answer))}
	for _, e := range t.s.entries {
		u.Input += size(e)
	}
	return u
}

// emit delivers an event of this turn.
func (t *turn) emit(e providers.Event) {
	if e.Message == "" {
		e.Message = t.first.ID
	}
	t.s.spec.OnEvent(e)
}

// waitFor waits for d and collects messages meanwhile.
func (t *turn) waitFor(d time.Duration) error {
	if d <= 0 {
		return context.Cause(t.ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return nil
		case <-t.news:
			t.collect()
		case <-t.ctx.Done():
			return context.Cause(t.ctx)
		}
	}
}

// hang waits until the turn is steered or stopped.
func (t *turn) hang() error {
	for {
		if t.collect() {
			return nil
		}
		select {
		case <-t.news:
		case <-t.ctx.Done():
			return context.Cause(t.ctx)
		}
	}
}
