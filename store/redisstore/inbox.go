package redisstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// receiveBytes is the approximate bound of the commands fetched at once.
const receiveBytes = 1 << 20

// While the inbox is empty, the interval of polls grows by pollGrowth up to maxPolls times
// [Config.InboxEvery]. Polls find the commands of hubs that announce them on another channel:
// see ADR 24.
const (
	pollGrowth = 4
	maxPolls   = 120
)

// Send adds commands to a session's inbox, up to the first that it refuses, and returns
// for each one before that whether it was a duplicate: whether it has the id of one in the
// inbox, or of one of the last [store.Limits.InboxCommands] consumed ones. It is safe to
// retry. [store.ErrConflict] for an id in the inbox with other data, [store.ErrFull] if
// the inbox is full.
func (s *Sessions) Send(ctx context.Context, session wire.SessionID, commands ...store.Command) (duplicates []bool, err error) {
	const what = "send to session"
	if err := session.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	valid, refused := s.limits.CheckCommands(commands)
	if refused != nil {
		refused = fmt.Errorf("%s %s: %w", what, session, refused)
	}
	if len(valid) == 0 {
		return nil, refused
	}
	k := s.keys.session(session)
	args, size := make([]any, 0, 2+3*len(valid)), 0
	args = append(args, string(session), s.limits.InboxCommands)
	for _, c := range valid {
		sum := sha256.Sum256(c.Data)
		args = append(args, c.ID, hex.EncodeToString(sum[:8]), s.schema.Seal(nil, c.Data))
		size += len(c.Data)
	}
	r, err := s.packer.callUnpacked(ctx, what, session, func() (reply, error) {
		v, err := s.sends.call(ctx, what+" "+string(session), retryable, s.scripts.send, size,
			[]string{k.meta(), k.inbox(), k.ids(), k.quarantine()}, args...)
		return s.calls.sessionReply(ctx, what, session, v, err)
	})
	if err != nil {
		return nil, err
	}
	for _, v := range r.args {
		duplicates = append(duplicates, v == int64(1))
	}
	switch r.word {
	case "CONFLICT":
		refused = fmt.Errorf("%s %s: command %s: %w", what, session, valid[len(duplicates)].ID, store.ErrConflict)
	case "FULL":
		refused = fmt.Errorf("%s %s: inbox: %w", what, session, store.ErrFull)
	}
	return duplicates, refused
}

// Receive yields the commands in the inbox in the order in which they were sent, and then
// new ones, until the first error. Commands that no batch consumes are yielded again by the
// next Receive. The inbox is authoritative; published messages only save reading it, as long
// as each one continues the previous one. Once begun it continues through outages of Redis.
func (s *Sessions) Receive(ctx context.Context, l store.Lease) iter.Seq2[[]store.Command, error] {
	return func(yield func([]store.Command, error) bool) {
		if err := checkLease(l); err != nil {
			yield(nil, fmt.Errorf("receive: %w", err))
			return
		}
		in := &inbox{Sessions: s, lease: l, messageQueue: newMessageQueue(), interval: s.cfg.InboxEvery}
		defer in.listen()()
		in.poll = time.NewTimer(in.interval)
		defer in.poll.Stop()
		for {
			if err := in.yieldPending(ctx, yield); err != nil {
				if !errors.Is(err, errConsumerStopped) {
					yield(nil, err)
				}
				return
			}
			in.wait(ctx)
		}
	}
}

// inbox is the state of one call of Receive. It is not in variables of Receive, because each owned
// session waits there and needs the stack.
type inbox struct {
	*Sessions
	lease store.Lease
	messageQueue

	begun    bool          // the inbox was read once
	at       wire.Position // entry id of the last command yielded; zero for none
	polledAt wire.Position // at, when wait was called last
	poll     *time.Timer   // when the inbox is read without a message
	interval time.Duration // of poll, which grows while the inbox is empty
}

// listen starts the messages of the inbox and returns the function that stops them.
func (in *inbox) listen() func() {
	k := in.keys.session(in.lease.Session)
	return in.bus.listen(k.partition, k.inbox(), in)
}

// wait waits for a message, the next poll or the end of ctx or of the store.
func (in *inbox) wait(ctx context.Context) {
	if in.at != in.polledAt {
		in.polledAt, in.interval = in.at, in.cfg.InboxEvery
		in.poll.Reset(in.interval)
	}
	select {
	case <-in.wake:
		return
	case <-in.poll.C:
		in.interval = min(pollGrowth*in.interval, maxPolls*in.cfg.InboxEvery)
		in.poll.Reset(in.interval)
	case <-ctx.Done():
	case <-in.runCtx.Done():
	}
	in.onConnect()
}

// yieldPending yields all pending commands: those of messages, and those in the inbox if there
// may be more.
func (in *inbox) yieldPending(ctx context.Context, yield func([]store.Command, error) bool) error {
	messages, mustRead := in.drain()
	for _, m := range messages {
		commands, last, ok := in.decodeMessage(m)
		if !ok {
			mustRead = true
			break
		}
		if last.Compare(in.at) <= 0 {
			continue // read before
		}
		if in.at = last; !yield(commands, nil) {
			return errConsumerStopped
		}
	}
	for mustRead {
		commands, last, err := in.receive(ctx, in.lease, in.at)
		if errors.Is(err, store.ErrUnavailable) && in.begun {
			// The lease, not an outage, ends the ownership.
			in.pause(ctx, maxBackoff)
			continue
		}
		in.begun = true
		if err != nil {
			return err
		}
		size := 0
		for _, c := range commands {
			size += len(c.Data)
		}
		mustRead = size >= receiveBytes
		if len(commands) == 0 {
			return nil
		}
		if in.at = last; !yield(commands, nil) {
			return errConsumerStopped
		}
	}
	return nil
}

// decodeMessage parses a message of send.lua. It returns false if the message does not continue
// what was yielded, or cannot be parsed: then the inbox must be read.
func (in *inbox) decodeMessage(message string) (commands []store.Command, last wire.Position, ok bool) {
	head, rest, found := strings.Cut(message, "\n")
	if !found {
		return nil, last, false
	}
	for rest != "" {
		line, body, _ := strings.Cut(rest, "\n")
		fields := strings.Fields(line)
		if len(fields) != 3 {
			return nil, last, false
		}
		idSize, idErr := strconv.Atoi(fields[1])
		dataSize, dataErr := strconv.Atoi(fields[2])
		if idErr != nil || dataErr != nil || idSize < 0 || dataSize < 0 || idSize+dataSize > len(body) {
			return nil, last, false
		}
		id, sealed := body[:idSize], body[idSize:idSize+dataSize]
		rest = body[idSize+dataSize:]
		data, err := in.schema.Open(store.KindCommand, id, []byte(sealed))
		if err == nil {
			last, err = wire.ParsePosition(fields[0])
		}
		if err != nil {
			return nil, last, false
		}
		commands = append(commands, store.Command{ID: id, Data: data})
	}
	prev, err := wire.ParsePosition(head)
	return commands, last, last.Compare(in.at) <= 0 || err == nil && prev == in.at
}

// receive returns the commands after an entry id of the inbox, and the last entry id.
func (s *Sessions) receive(
	ctx context.Context, l store.Lease, after wire.Position,
) (commands []store.Command, last wire.Position, err error) {
	const what = "receive for session"
	from := "-"
	if !after.IsZero() {
		from = "(" + after.String()
	}
	k := s.keys.session(l.Session)
	r, err := s.calls.callSession(ctx, what, retryable, l.Session, s.scripts.receive, []string{k.meta(), k.inbox(), k.quarantine()},
		string(l.Session), string(l.Replica), epochText(l), from, receiveBytes)
	if err != nil {
		return nil, last, err
	}
	for _, v := range r.args {
		entry, _ := v.([]any)
		var fields []any
		parsed := errReply
		if len(entry) == 2 {
			text, _ := entry[0].(string)
			last, parsed = wire.ParsePosition(text)
			fields, _ = entry[1].([]any)
		}
		if len(fields) != 4 || parsed != nil {
			err := &store.CorruptError{Where: "inbox", Reason: "entry has an unknown format"}
			return nil, last, fmt.Errorf("%s %s: %w", what, l.Session, s.calls.handleCorrupt(ctx, l.Session, err))
		}
		id, _ := fields[1].(string)
		sealed, _ := fields[3].(string)
		data, err := s.schema.Open(store.KindCommand, id, []byte(sealed))
		if err != nil {
			return nil, last, fmt.Errorf("%s %s: %w", what, l.Session, s.calls.handleCorrupt(ctx, l.Session, err))
		}
		commands = append(commands, store.Command{ID: id, Data: data})
	}
	return commands, last, nil
}

// wakeup is a channel with a buffer of one that wakes a goroutine. As a listener it wakes it
// for every message.
type wakeup chan struct{}

func (k wakeup) signal() {
	select {
	case k <- struct{}{}:
	default:
	}
}

func (k wakeup) onMessage(string) { k.signal() }

func (k wakeup) onConnect() { k.signal() }
