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

const (
	// A tail keeps that many messages for a reader that is slow. What does not
	// fit is dropped and read from the log when the reader gets there.
	tailMessages = 64
	tailBytes    = 1 << 20
	// catchUpEvents is how many events a tail reads at once when it catches up.
	catchUpEvents = 1000
)

// Tail shows a session's events after a cursor, and every later one as it is
// committed by whatever replica. The log is the truth; published messages only
// save the reading, as long as each follows the one before.
func (s *Store) Tail(ctx context.Context, session wire.SessionID, after wire.Position) iter.Seq2[store.News, error] {
	return func(yield func(store.News, error) bool) {
		if err := session.Validate(); err != nil {
			yield(store.News{}, fmt.Errorf("tail: %w", err))
			return
		}
		k := s.keys.session(session)
		t := &tail{store: s, session: session, wake: make(wakeup, 1), at: after, mustRead: true}
		// Whoever listens before reading misses nothing in between.
		defer s.bus.listen(k.partition, k.meta(), t)()
		defer s.registerTail(t)()
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

// errConsumerStopped says that the reader wants no more.
var errConsumerStopped = errors.New("reader has stopped")

// tail is one reader's way through a log.
type tail struct {
	store   *Store
	session wire.SessionID
	wake    wakeup

	begun bool // the reader's own

	mu       sync.Mutex    // guards the following
	at       wire.Position // what the reader has seen, and only the reader changes
	owned    bool          // whether the session had an owner then
	mustRead bool          // there may be more than in queue
	queue    []string
	bytes    int
}

// onMessage keeps a message for the reader.
func (t *tail) onMessage(message string) {
	if strings.HasPrefix(message, string(newsCommand)) {
		return
	}
	t.mu.Lock()
	if len(t.queue) >= tailMessages || t.bytes+len(message) > tailBytes {
		t.queue, t.bytes, t.mustRead = nil, 0, true
	}
	// While the log is to be read anyway, messages are of no use, but for the
	// one that says that the session is vacant or gone, which reading tells too.
	if !t.mustRead {
		t.queue = append(t.queue, message)
		t.bytes += len(message)
	}
	t.mu.Unlock()
	t.wake.signal()
}

// onConnect makes the reader look into the log.
func (t *tail) onConnect() {
	t.mu.Lock()
	t.mustRead = true
	t.mu.Unlock()
	t.wake.signal()
}

func (t *tail) wantsBatches() bool { return true }

// drain returns what the reader has to do.
func (t *tail) drain() (messages []string, fill bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	messages, fill = t.queue, t.mustRead
	t.queue, t.bytes, t.mustRead = nil, 0, false
	return messages, fill
}

// yieldPending shows everything that is known by now.
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

// decode reads a message. It is false when the message does not follow what the
// reader has seen, or is none: then the log will tell.
func (t *tail) decode(message string) (news, bool) {
	if pos, ok := strings.CutPrefix(message, string(newsVacant)+" "); ok {
		at, err := wire.ParsePosition(strings.TrimSpace(pos))
		return news{kind: newsVacant}, err == nil && at == t.at
	}
	n, err := t.store.decodeEntry(t.session, message)
	if err != nil {
		return news{}, false
	}
	// It follows, it was seen, or it was seen in part. Anything else is a gap,
	// or a history that was forgotten and began anew.
	part := n.prev.Compare(t.at) < 0 && n.top.Epoch == t.at.Epoch
	return n, n.prev == t.at || n.top.Compare(t.at) <= 0 || part
}

// yieldNews passes events on, and that the session has become vacant.
func (t *tail) yieldNews(yield func(store.News, error) bool, events []store.Event, vacant bool) error {
	t.mu.Lock()
	if len(events) > 0 {
		t.at = events[len(events)-1].At
		t.owned = true // who else has written them
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

// catchUp reads the log to its end. A store that is away for a while is no
// reason to end, once the tail has begun.
func (t *tail) catchUp(ctx context.Context, yield func(store.News, error) bool) error {
	for {
		page, err := t.store.read(ctx, t.session, t.at, catchUpEvents)
		if errors.Is(err, store.ErrUnavailable) && t.begun {
			if !t.store.pause(ctx, maxBackoff) {
				return t.store.checkOpen(ctx, "tail session "+string(t.session))
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

// registerTail includes a tail in the regular checks.
func (s *Store) registerTail(t *tail) (stop func()) {
	s.tailsMu.Lock()
	defer s.tailsMu.Unlock()
	s.tails[t] = struct{}{}
	return func() {
		s.tailsMu.Lock()
		defer s.tailsMu.Unlock()
		delete(s.tails, t)
	}
}

// checkTails compares, now and then, where tails are with where logs are, so
// that a lost message costs time and never an event.
func (s *Store) checkTails() {
	tick := time.NewTicker(s.cfg.CheckEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.runCtx.Done():
			return
		}
		s.tailsMu.Lock()
		bySession := map[wire.SessionID][]*tail{}
		for t := range s.tails {
			bySession[t.session] = append(bySession[t.session], t)
		}
		s.tailsMu.Unlock()
		if err := s.checkPositions(s.runCtx, bySession); err != nil {
			s.log.DebugContext(s.runCtx, "positions were not checked", "err", err)
		}
	}
}

func (s *Store) checkPositions(ctx context.Context, bySession map[wire.SessionID][]*tail) error {
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

// checkPosition makes the reader look into the log if it does not end where the reader
// is, or if nobody owns it any more.
func (t *tail) checkPosition(state string) {
	owner, _, _ := strings.Cut(strings.TrimPrefix(state, "!"), " ")
	t.mu.Lock()
	behind := !strings.HasSuffix(state, " "+t.at.String()) && len(t.queue) == 0
	left := owner == "" && t.owned
	t.mu.Unlock()
	if behind || left {
		t.onConnect()
	}
}
