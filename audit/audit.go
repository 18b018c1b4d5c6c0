package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/everdesk/everdesk/store"
)

const (
	chain   = "audit-chain"
	actions = "audit-actions"
	// remembered is how long the id of an action is good for nothing else.
	remembered = 7 * 24 * time.Hour
)

// When several write at once all but one try again, after a random wait that grows.
const (
	tries     = 100
	waitFirst = time.Millisecond
	waitLast  = 100 * time.Millisecond
)

// Store is what a book needs of a store.
type Store interface {
	Get(ctx context.Context, collection, name string) (store.Document, error)
	Put(ctx context.Context, d store.Document) (version uint64, err error)
	Documents(ctx context.Context, collection, after string, limit int) (store.Page[store.Document], error)
}

// entry is what is known of the id of an action. Each record has a place in the chain
// that is noted here before it is taken, so that whoever goes on with the action, after
// a crash even, finds whether it is there. A place is given up only when somebody else
// has it, which is for ever.
type entry struct {
	Begun Record `json:"begun"`
	// Ended is how it ended last, if it has.
	Ended *Record `json:"ended,omitempty"`
}

func (e *entry) done() bool { return e.Ended != nil && e.Ended.Result == Done }

// Outcome is how an action ended.
type Outcome struct {
	Result Result
	Detail string
	Time   time.Time
	// Replica is where that is known.
	Replica string
}

// Log is where records are kept. Make it with [New].
type Log struct {
	docs Store
	log  *slog.Logger

	mu   sync.Mutex // guards the following
	last Record     // the newest that this book has added
}

// New makes a book that is kept in a store. Every record is logged with its hash: a
// store that lost the newest ones cannot show that by itself.
func New(docs Store, log *slog.Logger) *Log { return &Log{docs: docs, log: log} }

// Begin writes down what is about to be done. An id that is known already gives
// what is known: the record of the first time, or that of how it ended. done says that
// it ended well and must not be done again.
func (b *Log) Begin(ctx context.Context, r Record) (known Record, done bool, err error) {
	if err := r.check(); err != nil {
		return Record{}, false, err
	}
	r.Result, r.Detail = Begun, ""
	r.settle()
	e := entry{Begun: r}
	_, err = b.docs.Put(ctx, store.Document{Collection: actions, Name: r.ID, Data: encode(e), TTL: remembered})
	if errors.Is(err, store.ErrConflict) {
		if e, _, err = b.find(ctx, r.ID); err == nil && !e.Begun.same(&r) {
			return Record{}, false, ErrReused
		}
	}
	if err == nil {
		known, err = b.added(ctx, r.ID, e.done())
	}
	if err != nil {
		return Record{}, false, fmt.Errorf("witness %s: %w", r.Action, err)
	}
	return known, e.done(), nil
}

// Find looks for what was witnessed under the id of r, which must be the same
// action. It is [store.ErrNotFound] when there is nothing. What it returns as done is in
// the chain.
func (b *Log) Find(ctx context.Context, r Record) (known Record, done bool, err error) {
	if err := r.check(); err != nil {
		return Record{}, false, err
	}
	r.settle()
	e, _, err := b.find(ctx, r.ID)
	switch {
	case err != nil:
		return Record{}, false, fmt.Errorf("recall %s: %w", r.Action, err)
	case !e.Begun.same(&r):
		return Record{}, false, ErrReused
	case !e.done():
		return e.Begun, false, nil
	}
	// Who noted it may have been cut off before it was in the chain.
	if known, err = b.added(ctx, r.ID, true); err != nil {
		return Record{}, false, fmt.Errorf("recall %s: %w", r.Action, err)
	}
	return known, true, nil
}

// added brings the records of an action into the chain that are not there, and returns
// the last one.
func (b *Log) added(ctx context.Context, id string, done bool) (Record, error) {
	known, err := b.add(ctx, id, func(e *entry) *Record { return &e.Begun })
	if err == nil && done {
		known, err = b.add(ctx, id, func(e *entry) *Record { return e.Ended })
	}
	return known, err
}

// End writes down how an action that was witnessed ended. What ended well has ended;
// what failed may be tried again, and fails in the same way without another record.
func (b *Log) End(ctx context.Context, id string, o Outcome) (Record, error) {
	for range tries {
		e, version, err := b.find(ctx, id)
		if err != nil {
			return Record{}, fmt.Errorf("note how an action ended: %w", err)
		}
		ended := e.Begun
		ended.Seq, ended.Prev, ended.Hash = 0, "", ""
		ended.Result, ended.Detail, ended.Time, ended.Replica = o.Result, o.Detail, o.Time, o.Replica
		ended.settle()
		if e.Ended != nil {
			// It must be in the chain before another takes its place here.
			known, err := b.add(ctx, id, func(e *entry) *Record { return e.Ended })
			if err != nil || known.Result == Done || known.Result == ended.Result && known.Detail == ended.Detail {
				return known, err
			}
			if e, version, err = b.find(ctx, id); err != nil {
				return Record{}, fmt.Errorf("note how an action ended: %w", err)
			}
			if e.Ended == nil || e.Ended.Hash != known.Hash {
				continue
			}
		}
		e.Ended = &ended
		err = b.remember(ctx, &e, version)
		if errors.Is(err, store.ErrConflict) {
			continue // somebody notes the same, perhaps
		}
		if err != nil {
			return Record{}, fmt.Errorf("note how an action ended: %w", err)
		}
		return b.add(ctx, id, func(e *entry) *Record { return e.Ended })
	}
	return Record{}, errBusy
}

// errBusy means that others write all the time.
var errBusy = fmt.Errorf("%w: too many write to the audit at once", store.ErrUnavailable)

// add brings a record of an action into the chain, if it is not there, and returns it.
func (b *Log) add(ctx context.Context, id string, which func(*entry) *Record) (Record, error) {
	for try, wait := 0, waitFirst; try < tries; try, wait = try+1, min(2*wait, waitLast) {
		e, version, err := b.find(ctx, id)
		if err != nil {
			return Record{}, err
		}
		r := which(&e)
		if r.Seq != 0 {
			at, err := b.docs.Get(ctx, chain, name(r.Seq))
			switch {
			case err == nil && b.is(at, r):
				return *r, nil
			case errors.Is(err, store.ErrNotFound): // it is ours to take
			case err != nil:
				return Record{}, err
			default:
				r.Seq = 0 // somebody else has it
			}
		}
		if r.Seq == 0 {
			if err = b.place(ctx, r); err == nil {
				err = b.remember(ctx, &e, version)
			}
		}
		if err == nil {
			_, err = b.docs.Put(ctx, store.Document{Collection: chain, Name: name(r.Seq), Data: encode(r)})
		}
		switch {
		case err == nil:
			b.logRecord(ctx, r)
			return *r, nil
		case !errors.Is(err, store.ErrConflict):
			return Record{}, err
		}
		select {
		case <-time.After(rand.N(wait)): //nolint:gosec // jitter needs no secrecy
		case <-ctx.Done():
			return Record{}, ctx.Err()
		}
	}
	return Record{}, errBusy
}

// is reports whether a document of the chain is a record.
func (*Log) is(d store.Document, r *Record) bool {
	there, err := read(d)
	return err == nil && there.Hash == r.Hash
}

// place finds the place after the newest record. One that cannot be read is followed
// all the same: that it is broken is seen by who verifies.
func (b *Log) place(ctx context.Context, r *Record) error {
	for after := ""; ; {
		page, err := b.docs.Documents(ctx, chain, after, 1)
		if err != nil {
			return err
		}
		newest, prev := number(page.Next), ""
		for _, d := range page.Items {
			newest = number(d.Name)
			if head, err := read(d); err == nil {
				prev = head.Hash
			}
		}
		switch {
		case newest >= math.MaxInt64-1:
			return fmt.Errorf("%w: the audit has no more places", ErrInvalid)
		case newest > 0 || page.Next == "":
			r.link(newest+1, prev)
			return nil
		}
		after = page.Next // which is no place
	}
}

// logRecord logs a record that was added.
func (b *Log) logRecord(ctx context.Context, r *Record) {
	b.mu.Lock()
	if r.Seq > b.last.Seq {
		b.last = *r
	}
	b.mu.Unlock()
	b.log.InfoContext(ctx, "audit", "seq", r.Seq, "hash", r.Hash, "id", r.ID, "who", r.Who, "action", r.Action,
		"target", r.Target, "result", string(r.Result))
}

// remember keeps what is known of an id.
func (b *Log) remember(ctx context.Context, e *entry, version uint64) error {
	_, err := b.docs.Put(ctx, store.Document{
		Collection: actions, Name: e.Begun.ID, Data: encode(e), Version: version, TTL: remembered,
	})
	return err
}

// find looks an id up.
func (b *Log) find(ctx context.Context, id string) (e entry, version uint64, err error) {
	d, err := b.docs.Get(ctx, actions, id)
	if err != nil {
		return e, 0, err
	}
	if err := json.Unmarshal(d.Data, &e); err != nil {
		return e, 0, fmt.Errorf("read an action: %w", err)
	}
	return e, d.Version, nil
}
