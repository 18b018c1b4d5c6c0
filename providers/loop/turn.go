package loop

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/everdesk/everdesk/providers"
)

// maxLong bounds the replies of one turn that may become too long.
const maxLong = 3

// maxBroken bounds the replies in a row that break off and are continued.
const maxBroken = 3

// runTurn runs one turn.
func (s *session) runTurn(t *turn, m providers.Message) {
	defer close(t.done)
	defer t.cancel(nil)
	s.emit(providers.Event{Kind: providers.EventTurnStart, Message: t.id})
	end := providers.Event{Kind: providers.EventTurnEnd, Message: t.id, Outcome: providers.Completed}
	if err := s.guarded(func() error { return s.runRounds(t, m) }); err != nil {
		end.Outcome = providers.Interrupted
		if t.ctx.Err() == nil {
			end.Outcome, end.Err = providers.Failed, failure(err)
		}
		s.becomeIdle(t)
	}
	s.emit(end)
}

// guarded turns a panic into a failure, so that it ends a turn and not the hub.
func (s *session) guarded(call func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			s.p.cfg.Logger.Error("panic in a turn", "agent", s.spec.Agent, "panic", v, "stack", string(debug.Stack()))
			err = &providers.Failure{Class: providers.Invalid, Err: fmt.Errorf("internal error: %v", v)}
		}
	}()
	return call()
}

// runRounds calls the model and executes its tool calls until there is nothing more to do. When it
// returns nil the session is idle already.
func (s *session) runRounds(t *turn, m providers.Message) error {
	again := s.beginTurn(t, m)
	for n := 0; ; n++ {
		switch {
		case t.ctx.Err() != nil:
			return context.Cause(t.ctx)
		case !again && !s.continueWithInbox(t):
			return nil
		case n == MaxRounds:
			return &providers.Failure{
				Class: providers.Invalid,
				Err:   fmt.Errorf("the model was asked %d times in one turn and is still not done", MaxRounds),
			}
		}
		var err error
		if again, err = s.runRound(t); err != nil {
			return err
		}
	}
}

// beginTurn adds the message of a new turn, or, for a continued one, executes the calls of the
// last entry that have no result yet. It reports whether the model is to be called.
func (s *session) beginTurn(t *turn, m providers.Message) bool {
	if m.Mode != providers.Continue {
		s.addMessages(t.id, m)
		return true
	}
	last := s.thread[len(s.thread)-1]
	if last.Role != providers.RoleAssistant {
		return true
	}
	wanted := calls(last.Blocks)
	if len(wanted) == 0 {
		return false
	}
	s.addResults(t, wanted, m.Done)
	return true
}

// runRound calls the model once and executes the tool calls of the reply. It reports whether the
// model is to be called again.
func (s *session) runRound(t *turn) (bool, error) {
	reply, seen, err := s.callModel(t)
	entry := providers.Entry{Role: providers.RoleAssistant, Turn: t.id, Blocks: s.adoptBlocks(reply.Blocks)}
	if err != nil {
		// Published text stays. Tools are not called: the reply is incomplete, and the model
		// may want something else now.
		entry.Blocks = slices.DeleteFunc(entry.Blocks, func(b providers.Block) bool { return b.Kind == providers.BlockToolCall })
		entry.Blocks = providers.TrimPrivateTail(entry.Blocks)
	}
	if err == nil {
		t.broken = 0
	}
	wanted := calls(entry.Blocks)
	switch {
	case seen && t.ctx.Err() == nil && brokeOff(err):
		return true, s.continueBroken(t, entry, failure(err))
	case errors.Is(err, errSteered) && t.ctx.Err() == nil:
		s.addMessagesAfter(t.id, cutEntries(entry, steeredNote), s.takeInbox(providers.Steer, providers.Inject))
		return true, nil
	case errors.Is(err, errInterrupted):
		s.addEntries(t.id, cutEntries(entry, stoppedNote)...)
		return false, err
	case err == nil && reply.Stop == StopLength && len(wanted) == 0:
		return true, s.continueLong(t, entry)
	}
	s.addEntries(t.id, entry)
	if err != nil || len(wanted) == 0 {
		return false, err
	}
	s.addResults(t, wanted, nil)
	return true, nil
}

// addResults executes tool calls and adds their results to the conversation, with the messages
// that arrived meanwhile.
func (s *session) addResults(t *turn, wanted []providers.Block, done map[string]providers.ToolResult) {
	entry := providers.Entry{Role: providers.RoleUser, Turn: t.id, Blocks: s.callTools(t, wanted, done)}
	s.addMessagesAfter(t.id, []providers.Entry{entry}, s.takeInbox(providers.Steer, providers.Inject))
}

// continueLong asks the model to continue a reply that became too long.
func (s *session) continueLong(t *turn, entry providers.Entry) error {
	t.long++
	entry.Blocks = providers.TrimPrivateTail(entry.Blocks)
	if t.long > maxLong {
		s.addEntries(t.id, entry)
		return &providers.Failure{Class: providers.Invalid, Err: errors.New("the model's answers are longer than they may be")}
	}
	const note = "Your reply was cut because it became too long. Go on where it stops. " +
		"A tool call that it cut was not made: make it again, in smaller parts."
	s.addEntries(t.id, entry, providers.Entry{
		Role: providers.RoleUser, Turn: t.id, Blocks: []providers.Block{{Kind: providers.BlockText, Text: note}},
	})
	return nil
}

// The notes after a reply that was cut, for the model.
const (
	steeredNote = "(A message came in while you were writing. Your reply above stops there, and the user has seen it.)"
	stoppedNote = "(Your reply was stopped here, and the user has seen it up to this point.)"
)

// cutEntries returns a reply that was cut, and a note that says so if there is anything of it.
func cutEntries(entry providers.Entry, note string) []providers.Entry {
	if len(entry.Blocks) == 0 {
		return nil
	}
	return []providers.Entry{entry, {
		Role: providers.RoleUser, Turn: entry.Turn, Blocks: []providers.Block{{Kind: providers.BlockText, Text: note}},
	}}
}

// brokeOff reports whether err ended a reply for a reason that says nothing about the reply, such as
// a lost connection, so that the model can continue it. Silence is one, unlike before a reply:
// after a part of it the connection is more likely at fault than the model.
func brokeOff(err error) bool {
	f, ok := errors.AsType[*providers.Failure](err)
	return ok && (f.Passing() || errors.Is(f, providers.ErrSilent))
}

// continueBroken asks the model to continue a reply that broke off after a part of it was
// published. The part stays in the conversation, without its tool calls, which were not executed.
func (s *session) continueBroken(t *turn, entry providers.Entry, f *providers.Failure) error {
	if t.broken++; t.broken > maxBroken {
		s.addEntries(t.id, entry)
		return f
	}
	const note = "The connection broke off in the middle of your reply. The user sees what you wrote so far: " +
		"go on exactly where it stops, without repeating it and without a word about the break. " +
		"A tool call that was cut was not made: make it again."
	if len(entry.Blocks) > 0 { // otherwise the same request is repeated
		s.addEntries(t.id, entry, providers.Entry{
			Role: providers.RoleUser, Turn: t.id, Blocks: []providers.Block{{Kind: providers.BlockText, Text: note}},
		})
	}
	s.emit(providers.Event{
		Kind: providers.EventRetry, Message: t.id,
		Text: fmt.Sprintf("The reply broke off (%v). What came of it is kept, and the model is asked to continue it, %d of at most %d times in a row", f, t.broken, maxBroken),
	})
	return nil
}

// takeInbox removes the messages of the given modes from the inbox.
func (s *session) takeInbox(modes ...providers.Mode) (out []providers.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takeInboxLocked(modes...)
}

// takeInboxLocked is takeInbox; mu is held.
func (s *session) takeInboxLocked(modes ...providers.Mode) (out []providers.Message) {
	s.inbox = slices.DeleteFunc(s.inbox, func(m providers.Message) bool {
		if !slices.Contains(modes, m.Mode) {
			return false
		}
		out = append(out, m)
		return true
	})
	return out
}

// continueWithInbox adds the messages that arrived while the model was busy and reports whether the model
// has to answer them. If not, the session becomes idle under the same lock, so that a message
// is either taken or refused.
func (s *session) continueWithInbox(t *turn) bool {
	for {
		s.mu.Lock()
		news := s.takeInboxLocked(providers.Steer, providers.Inject)
		answer := slices.ContainsFunc(news, func(m providers.Message) bool { return m.Mode == providers.Steer })
		if queued := slices.IndexFunc(s.inbox, func(m providers.Message) bool { return m.Mode == providers.Queue }); !answer && queued >= 0 {
			news = append(news, s.inbox[queued])
			s.inbox = slices.Delete(s.inbox, queued, queued+1)
			answer = true
		}
		if len(news) == 0 {
			s.turn = nil
		}
		s.mu.Unlock()
		if len(news) == 0 {
			return false
		}
		s.addMessages(t.id, news...)
		if answer {
			return true
		}
	}
}

// becomeIdle makes the session idle after a turn that did not complete. It adds injected messages;
// steered and queued messages were not taken, which the hub knows.
func (s *session) becomeIdle(t *turn) {
	for {
		s.mu.Lock()
		news := s.takeInboxLocked(providers.Inject)
		if len(news) == 0 {
			s.inbox, s.turn = nil, nil
		}
		s.mu.Unlock()
		if len(news) == 0 {
			return
		}
		s.addMessages(t.id, news...)
	}
}
