package store

import (
	"bytes"
	"cmp"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// Limits bound the sizes that a store accepts. The zero value means the defaults.
type Limits struct {
	// LogEvents and LogBytes bound a session's log, whichever is reached first. They
	// default to 10,000 and 16 MiB.
	LogEvents int
	LogBytes  int
	// BatchBytes bounds the bytes of a batch; BatchItems bounds its events, ops, values and
	// consumed ids together. They default to 8 MiB and 4,096.
	BatchBytes int
	BatchItems int
	// InboxCommands bounds the commands in an inbox, CommandBytes the data of each. They
	// default to 256 and 1 MiB.
	InboxCommands int
	CommandBytes  int
	// DocumentBytes bounds the data of a document and the card of a session. It defaults to
	// 1 MiB.
	DocumentBytes int
}

// WithDefaults replaces zero fields by their defaults.
func (l Limits) WithDefaults() Limits {
	l.LogEvents = cmp.Or(l.LogEvents, 10_000)
	l.LogBytes = cmp.Or(l.LogBytes, 16<<20)
	l.BatchBytes = cmp.Or(l.BatchBytes, 8<<20)
	l.BatchItems = cmp.Or(l.BatchItems, 4096)
	l.InboxCommands = cmp.Or(l.InboxCommands, 256)
	l.CommandBytes = cmp.Or(l.CommandBytes, 1<<20)
	l.DocumentBytes = cmp.Or(l.DocumentBytes, 1<<20)
	return l
}

const maxNameBytes = 256

// CheckName refuses a name of a table, field, list, holder, key, document or command that
// is empty, longer than 256 bytes, or contains control characters. The argument what names
// the kind in the error text.
func CheckName(what, name string) error {
	if name == "" || len(name) > maxNameBytes {
		return fmt.Errorf("%w: %s of %d bytes, want 1 to %d", ErrInvalid, what, len(name), maxNameBytes)
	}
	for i := range len(name) {
		if name[i] < ' ' || name[i] == 0x7f {
			return fmt.Errorf("%w: %s %q has a control character", ErrInvalid, what, name)
		}
	}
	return nil
}

// CheckBatch refuses a batch that exceeds the limits or cannot be stored. Engines call it
// before any other work.
func (l Limits) CheckBatch(lease Lease, b Batch) error {
	if b.Number == 0 {
		return fmt.Errorf("%w: batches are numbered from 1", ErrInvalid)
	}
	if b.Prev.Epoch != lease.Epoch {
		// The claim appended the first event of the epoch, so the log ends in it.
		return fmt.Errorf("%w: batch follows %v, which is not of epoch %d", ErrInvalid, b.Prev, lease.Epoch)
	}
	items := len(b.Events) + len(b.Ops) + len(b.Consumed)
	size := len(b.Card)
	for _, f := range b.Events {
		if len(f) == 0 || bytes.IndexByte(f, '\n') >= 0 {
			return fmt.Errorf("%w: a frame is one line that is not empty", ErrInvalid)
		}
		size += len(f)
	}
	for _, op := range b.Ops {
		if err := op.check(); err != nil {
			return err
		}
		items += len(op.Values)
		for _, v := range op.Values {
			size += len(v)
		}
	}
	if b.User != "" {
		if err := CheckName("user", b.User); err != nil {
			return err
		}
	}
	for _, id := range b.Consumed {
		if err := CheckName("command id", id); err != nil {
			return err
		}
	}
	if items > l.BatchItems {
		return fmt.Errorf("%w: batch of %d items, limit %d", ErrTooLarge, items, l.BatchItems)
	}
	if size > l.BatchBytes {
		return fmt.Errorf("%w: batch of %d bytes, limit %d", ErrTooLarge, size, l.BatchBytes)
	}
	return nil
}

func (o Op) check() error {
	if o.Kind < OpSet || o.Kind > OpDrop {
		return fmt.Errorf("%w: op of kind %d", ErrInvalid, o.Kind)
	}
	if err := CheckName("table or list", o.Name); err != nil {
		return err
	}
	switch o.Kind {
	case OpSet, OpUnset:
		if err := CheckName("field", o.Field); err != nil {
			return err
		}
	case OpKeepLast, OpKeepFirst:
		if o.N < 0 {
			return fmt.Errorf("%w: bound of %d items", ErrInvalid, o.N)
		}
	}
	if (o.Kind == OpSet || o.Kind == OpReplace) && len(o.Values) != 1 {
		return fmt.Errorf("%w: op takes one value, got %d", ErrInvalid, len(o.Values))
	}
	return nil
}

// CheckCommand refuses a command that exceeds the limits or has an invalid id.
func (l Limits) CheckCommand(c Command) error {
	if len(c.Data) > l.CommandBytes {
		return fmt.Errorf("%w: command of %d bytes, limit %d", ErrTooLarge, len(c.Data), l.CommandBytes)
	}
	return CheckName("command id", c.ID)
}

// CheckCommands returns the commands before the first that CheckCommand refuses, and its
// error.
func (l Limits) CheckCommands(commands []Command) (valid []Command, refused error) {
	for i, c := range commands {
		if err := l.CheckCommand(c); err != nil {
			return commands[:i], err
		}
	}
	return commands, nil
}

// CheckDocument refuses a document that exceeds the limits or has an invalid name or TTL.
func (l Limits) CheckDocument(d Document) error {
	if err := CheckName("collection", d.Collection); err != nil {
		return err
	}
	if len(d.Data) > l.DocumentBytes {
		return fmt.Errorf("%w: document of %d bytes, limit %d", ErrTooLarge, len(d.Data), l.DocumentBytes)
	}
	if d.TTL < 0 {
		return fmt.Errorf("%w: document with a time to live of %v", ErrInvalid, d.TTL)
	}
	return CheckName("document", d.Name)
}

// CheckTTL refuses a time to live that is not positive.
func CheckTTL(ttl time.Duration) error {
	if ttl <= 0 {
		return fmt.Errorf("%w: time to live of %v", ErrInvalid, ttl)
	}
	return nil
}

// CheckSlot refuses a slot request with an invalid limit, TTL or name.
func CheckSlot(r SlotRequest) error {
	if r.Limit < 1 {
		return fmt.Errorf("%w: semaphore with limit %d", ErrInvalid, r.Limit)
	}
	if err := CheckTTL(r.TTL); err != nil {
		return err
	}
	for what, name := range map[string]string{"semaphore": r.Semaphore, "holder": r.Holder, "key": r.Key} {
		if err := CheckName(what, name); err != nil {
			return err
		}
	}
	return nil
}

// CheckSession refuses a session with an invalid id or user, or a card over the limit.
func (l Limits) CheckSession(s NewSession) error {
	if err := s.ID.Validate(); err != nil {
		return err
	}
	if len(s.Card) > l.DocumentBytes {
		return fmt.Errorf("%w: card of %d bytes, limit %d", ErrTooLarge, len(s.Card), l.DocumentBytes)
	}
	return CheckName("user", s.User)
}

// NextPositions returns the positions of the first and the last event of a batch that
// follows prev. The number of events must be at least 1.
func NextPositions(prev wire.Position, events int) (first, last wire.Position) {
	first = wire.Position{Epoch: prev.Epoch, Seq: prev.Seq + 1}
	last = wire.Position{Epoch: prev.Epoch, Seq: prev.Seq + uint64(events)} //nolint:gosec // a count is not negative
	return first, last
}
