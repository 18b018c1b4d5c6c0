package redisstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// catchUpEvents is the number of events that a tail reads from the log at once.
const catchUpEvents = 1000

// Tail yields the events after a cursor in order, each once, and then new ones, whichever
// replica commits them, until the first error. The log is authoritative; published messages
// only save reading it, as long as each one continues the previous one. Once Tail has begun
// it continues through outages of Redis.
func (s *Sessions) Tail(ctx context.Context, session wire.SessionID, after wire.Position) iter.Seq2[store.News, error] {
	return func(yield func(store.News, error) bool) {
		if err := session.Validate(); err != nil {
			yield(store.News{}, fmt.Errorf("tail: %w", err))
			return
		}
		k := s.keys.session(session)
		t := &tail{reader: s.reader, session: session, messageQueue: newMessageQueue(), checkedAt: time.Now(), at: after}
		// Listening before reading ensures that no event in between is missed.
		defer s.bus.listen(k.partition, k.meta(), t)()
		defer s.tails.add(t)()
		for {
			if err := t.yieldPending(ctx, yield); err != nil {
				if !errors.Is(err, errConsumerStopped) {
					yield(store.News{}, err)
				}
				return
			}
			select {
			case <-t.wake:
			case <-ctx.Done():
			case <-s.runCtx.Done():
			}
			if err := s.checkOpen(ctx, "tail session "+string(session)); err != nil {
				yield(store.News{}, err)
				return
			}
		}
	}
}

// errConsumerStopped means that the consumer ended the iteration.
var errConsumerStopped = errors.New("consumer stopped")

// tail is the state of one call of Tail.
type tail struct {
	reader  *logReader
	session wire.SessionID
	messageQueue

	begun     bool      // the log was read once; used by the consumer's goroutine only
	checkedAt time.Time // when its position was compared with the end of the log; used by checkLoop only

	// The mu of the queue guards the fields below.
	at    wire.Position // position of the last event yielded; only the consumer's goroutine changes it
	owned bool          // whether the session had an owner at that position
}

// yieldPending yields all pending news.
func (t *tail) yieldPending(ctx context.Context, yield func(store.News, error) bool) error {
	for {
		messages, fill := t.drain()
		if len(messages) == 0 && !fill {
			return nil
		}
		for _, m := range messages {
			n, ok := t.decode(m)
			if !ok {
				fill = true
				break
			}
			if err := t.yieldNews(yield, n.after(t.at), n.kind == newsVacant); err != nil {
				return err
			}
		}
		if fill {
			if err := t.catchUp(ctx, yield); err != nil {
				return err
			}
		}
	}
}

// decode parses a message. It returns false if the message does not continue what was
// yielded, or cannot be parsed: then the log must be read.
func (t *tail) decode(message string) (news, bool) {
	if pos, ok := strings.CutPrefix(message, string(newsVacant)+" "); ok {
		at, err := wire.ParsePosition(strings.TrimSpace(pos))
		return news{kind: newsVacant}, err == nil && at == t.at
	}
	n, err := t.reader.codec.decodeEntry(t.session, message)
	if err != nil {
		return news{}, false
	}
	// The entry follows, was yielded already, or was yielded in part. Otherwise there is
	// a gap, or Redis lost the log and a new one began.
	part := n.prev.Compare(t.at) < 0 && n.top.Epoch == t.at.Epoch
	return n, n.prev == t.at || n.top.Compare(t.at) <= 0 || part
}

// yieldNews yields events, and that the session has become vacant.
func (t *tail) yieldNews(yield func(store.News, error) bool, events []store.Event, vacant bool) error {
	t.mu.Lock()
	if len(events) > 0 {
		t.at = events[len(events)-1].At
		t.owned = true // only an owner writes events
	}
	vacant = vacant && t.owned
	t.owned = t.owned && !vacant
	t.mu.Unlock()
	if len(events) == 0 && !vacant {
		return nil
	}
	if !yield(store.News{Events: events, Vacant: vacant}, nil) {
		return errConsumerStopped
	}
	return nil
}

// catchUp yields the log to its end. Once the tail has begun, it waits through outages.
func (t *tail) catchUp(ctx context.Context, yield func(store.News, error) bool) error {
	for {
		page, err := t.reader.read(ctx, t.session, t.at, catchUpEvents)
		if errors.Is(err, store.ErrUnavailable) && t.begun {
			if !t.reader.pause(ctx, maxBackoff) {
				return t.reader.checkOpen(ctx, "tail session "+string(t.session))
			}
			continue
		}
		if err != nil {
			return err
		}
		if !t.begun {
			t.begun = true
			t.mu.Lock()
			t.owned = page.owner != ""
			t.mu.Unlock()
		}
		more := len(page.events) == catchUpEvents
		if err := t.yieldNews(yield, page.events, page.owner == "" && !more); err != nil || !more {
			return err
		}
	}
}

// tailSet holds the tails of this process and checks regularly that none has missed an event.
type tailSet struct {
	*caller
	mu    sync.Mutex // guards tails
	tails map[*tail]struct{}
}

// add includes a tail in the regular checks and returns the function that removes
// it.
func (s *tailSet) add(t *tail) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tails[t] = struct{}{}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.tails, t)
	}
}

// checkLoop compares the position of each tail with the end of its log every TailEvery, so that
// a lost message costs time and never an event.
func (s *tailSet) checkLoop() {
	tick := time.NewTicker(min(s.cfg.CheckEvery, s.cfg.TailEvery))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.runCtx.Done():
			return
		}
		s.mu.Lock()
		bySession := map[wire.SessionID][]*tail{}
		now := time.Now()
		for t := range s.tails {
			if now.Sub(t.checkedAt) >= s.cfg.TailEvery {
				t.checkedAt = now
				bySession[t.session] = append(bySession[t.session], t)
			}
		}
		s.mu.Unlock()
		if len(bySession) == 0 {
			continue
		}
		if err := s.checkPositions(s.runCtx, bySession); err != nil {
			s.log.DebugContext(s.runCtx, "cannot check tail positions", "err", err)
		}
	}
}

func (s *tailSet) checkPositions(ctx context.Context, bySession map[wire.SessionID][]*tail) error {
	states := map[wire.SessionID]*redis.StringCmd{}
	err := s.pipelineReads(ctx, "check positions", func(add func(key string, fn func(redis.Pipeliner))) {
		for id := range bySession {
			meta := s.keys.session(id).meta()
			add(meta, func(p redis.Pipeliner) { states[id] = p.HGet(ctx, meta, "state") })
		}
	})
	for id, tails := range bySession {
		cmd := states[id]
		if cmd == nil {
			continue
		}
		state, known := cmd.Result()
		if known != nil && !errors.Is(known, redis.Nil) {
			continue
		}
		for _, t := range tails {
			t.checkPosition(state)
		}
	}
	return err
}

// checkPosition makes the consumer read the log if the log ends elsewhere than the tail, or
// if the session has lost its owner.
func (t *tail) checkPosition(state string) {
	owner, _, _ := strings.Cut(strings.TrimPrefix(state, "!"), " ")
	t.mu.Lock()
	behind := !strings.HasSuffix(state, " "+t.at.String()) && len(t.messages) == 0
	left := owner == "" && t.owned
	t.mu.Unlock()
	if behind || left {
		t.onConnect()
	}
}
