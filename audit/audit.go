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
	// actionTTL is the time for which an action id is reserved for its action.
	actionTTL = 7 * 24 * time.Hour
)

// Concurrent writers compete for the next sequence number; all but one retry after a random, growing delay.
const (
	maxAttempts = 100
	minBackoff  = time.Millisecond
	maxBackoff  = 100 * time.Millisecond
)

// Store is the part of the store that the package uses.
type Store interface {
	// Get returns a document with its remaining TTL, or [store.ErrNotFound].
	Get(ctx context.Context, collection, name string) (store.Document, error)
	// Put writes a document if the stored version is d.Version (0: none), else
	// [store.ErrConflict], and returns the new version.
	Put(ctx context.Context, d store.Document) (version uint64, err error)
	// Documents lists a collection by page, in the order of names.
	Documents(ctx context.Context, collection, after string, limit int) (store.Page[store.Document], error)
}

// actionEntry is the state of an action id. The sequence number of each record is stored
// here before the record is added to the chain, so that a later call, even after a crash,
// can find out whether it was added. A sequence number is abandoned only if another record
// has it, which is final.
type actionEntry struct {
	Begun Record `json:"begun"`
	// Ended is the last ending, or nil.
	Ended *Record `json:"ended,omitempty"`
}

func (e *actionEntry) done() bool { return e.Ended != nil && e.Ended.Result == Done }

// Outcome is the ending of an action.
type Outcome struct {
	Result Result
	Detail string
	Time   time.Time
	// Replica is the replica that executed it, if known.
	Replica string
}

// Log is the chained audit log. [New] returns one.
type Log struct {
	docs Store
	log  *slog.Logger

	mu     sync.Mutex // guards newest
	newest Record     // the newest record added through this Log
}

// New returns a log in a store. Every record is logged with its hash, because a store that
// lost the newest records cannot show that by itself.
func New(docs Store, log *slog.Logger) *Log { return &Log{docs: docs, log: log} }

// Begin records an action before it is executed. For a known id it returns the known
// record: that of the beginning, or that of the ending. done reports that the action
// succeeded before and must not be executed again.
func (l *Log) Begin(ctx context.Context, r Record) (known Record, done bool, err error) {
	if err := r.check(); err != nil {
		return Record{}, false, err
	}
	r.Result, r.Detail = Begun, ""
	r.normalize()
	e := actionEntry{Begun: r}
	_, err = l.docs.Put(ctx, store.Document{Collection: actions, Name: r.ID, Data: encode(e), TTL: actionTTL})
	if errors.Is(err, store.ErrConflict) {
		if e, _, err = l.findAction(ctx, r.ID); err == nil && !e.Begun.sameAction(&r) {
			return Record{}, false, ErrReused
		}
	}
	if err == nil {
		known, err = l.ensureChained(ctx, r.ID, e.done())
	}
	if err != nil {
		return Record{}, false, fmt.Errorf("record action %s: %w", r.Action, err)
	}
	return known, e.done(), nil
}

// Find returns what was recorded under the id of r, which must be the same action, or
// [store.ErrNotFound]. A record returned as done is in the chain.
func (l *Log) Find(ctx context.Context, r Record) (known Record, done bool, err error) {
	if err := r.check(); err != nil {
		return Record{}, false, err
	}
	r.normalize()
	e, _, err := l.findAction(ctx, r.ID)
	switch {
	case err != nil:
		return Record{}, false, fmt.Errorf("find action %s: %w", r.Action, err)
	case !e.Begun.sameAction(&r):
		return Record{}, false, ErrReused
	case !e.done():
		return e.Begun, false, nil
	}
	// The writer may have crashed before the record was in the chain.
	if known, err = l.ensureChained(ctx, r.ID, true); err != nil {
		return Record{}, false, fmt.Errorf("find action %s: %w", r.Action, err)
	}
	return known, true, nil
}

// ensureChained adds the missing records of an action to the chain and returns the last
// one.
func (l *Log) ensureChained(ctx context.Context, id string, done bool) (Record, error) {
	known, err := l.chainRecord(ctx, id, func(e *actionEntry) *Record { return &e.Begun })
	if err == nil && done {
		known, err = l.chainRecord(ctx, id, func(e *actionEntry) *Record { return e.Ended })
	}
	return known, err
}

// End records the ending of an action. A success is final. A failed action may be retried;
// a failure with the same result and detail adds no further record.
func (l *Log) End(ctx context.Context, id string, o Outcome) (Record, error) {
	for range maxAttempts {
		e, version, err := l.findAction(ctx, id)
		if err != nil {
			return Record{}, fmt.Errorf("record end of action: %w", err)
		}
		ended := e.Begun
		ended.Seq, ended.Prev, ended.Hash = 0, "", ""
		ended.Result, ended.Detail, ended.Time, ended.Replica = o.Result, o.Detail, o.Time, o.Replica
		ended.normalize()
		if e.Ended != nil {
			// The previous ending must be in the chain before it is replaced here.
			known, err := l.chainRecord(ctx, id, func(e *actionEntry) *Record { return e.Ended })
			if err != nil || known.Result == Done || known.Result == ended.Result && known.Detail == ended.Detail {
				return known, err
			}
			if e, version, err = l.findAction(ctx, id); err != nil {
				return Record{}, fmt.Errorf("record end of action: %w", err)
			}
			if e.Ended == nil || e.Ended.Hash != known.Hash {
				continue
			}
		}
		e.Ended = &ended
		err = l.saveAction(ctx, &e, version)
		if errors.Is(err, store.ErrConflict) {
			continue // a concurrent End may have stored the same
		}
		if err != nil {
			return Record{}, fmt.Errorf("record end of action: %w", err)
		}
		return l.chainRecord(ctx, id, func(e *actionEntry) *Record { return e.Ended })
	}
	return Record{}, errBusy
}

// errBusy means that all attempts to add a record lost against concurrent writers.
var errBusy = fmt.Errorf("%w: too many concurrent writes to the audit log", store.ErrUnavailable)

// chainRecord adds a record of an action to the chain, if it is not there, and returns it.
func (l *Log) chainRecord(ctx context.Context, id string, which func(*actionEntry) *Record) (Record, error) {
	for try, wait := 0, minBackoff; try < maxAttempts; try, wait = try+1, min(2*wait, maxBackoff) {
		e, version, err := l.findAction(ctx, id)
		if err != nil {
			return Record{}, err
		}
		r := which(&e)
		if r.Seq != 0 {
			at, err := l.docs.Get(ctx, chain, documentName(r.Seq))
			switch {
			case err == nil && l.isRecord(at, r):
				return *r, nil
			case errors.Is(err, store.ErrNotFound): // not added yet
			case err != nil:
				return Record{}, err
			default:
				r.Seq = 0 // another record has this number
			}
		}
		if r.Seq == 0 {
			if err = l.linkToNewest(ctx, r); err == nil {
				err = l.saveAction(ctx, &e, version)
			}
		}
		if err == nil {
			_, err = l.docs.Put(ctx, store.Document{Collection: chain, Name: documentName(r.Seq), Data: encode(r)})
		}
		switch {
		case err == nil:
			l.logRecord(ctx, r)
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

// isRecord reports whether a document of the chain is the record r.
func (*Log) isRecord(d store.Document, r *Record) bool {
	there, err := read(d)
	return err == nil && there.Hash == r.Hash
}

// linkToNewest gives r the sequence number after the newest record. An unreadable newest
// record is followed as well: Verify reports it as broken.
func (l *Log) linkToNewest(ctx context.Context, r *Record) error {
	for after := ""; ; {
		page, err := l.docs.Documents(ctx, chain, after, 1)
		if err != nil {
			return err
		}
		newest, prev := seqOf(page.Next), ""
		for _, d := range page.Items {
			newest = seqOf(d.Name)
			if head, err := read(d); err == nil {
				prev = head.Hash
			}
		}
		switch {
		case newest >= math.MaxInt64-1:
			return fmt.Errorf("%w: the audit log is full", ErrInvalid)
		case newest > 0 || page.Next == "":
			r.link(newest+1, prev)
			return nil
		}
		after = page.Next // not the name of a record
	}
}

// logRecord writes an added record to the hub's log.
func (l *Log) logRecord(ctx context.Context, r *Record) {
	l.mu.Lock()
	if r.Seq > l.newest.Seq {
		l.newest = *r
	}
	l.mu.Unlock()
	l.log.InfoContext(ctx, "audit", "seq", r.Seq, "hash", r.Hash, "id", r.ID, "who", r.Who, "action", r.Action,
		"target", r.Target, "result", string(r.Result))
}

// saveAction stores the state of an action id.
func (l *Log) saveAction(ctx context.Context, e *actionEntry, version uint64) error {
	_, err := l.docs.Put(ctx, store.Document{
		Collection: actions, Name: e.Begun.ID, Data: encode(e), Version: version, TTL: actionTTL,
	})
	return err
}

// findAction returns the state of an action id and its version.
func (l *Log) findAction(ctx context.Context, id string) (e actionEntry, version uint64, err error) {
	d, err := l.docs.Get(ctx, actions, id)
	if err != nil {
		return e, 0, err
	}
	if err := json.Unmarshal(d.Data, &e); err != nil {
		return e, 0, fmt.Errorf("decode action: %w", err)
	}
	return e, d.Version, nil
}
