package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/everdesk/everdesk/store"
)

const (
	records = "audit"
	actions = "audit-actions"
	// remembered is how long the id of an action is good for nothing else.
	remembered = 7 * 24 * time.Hour
	// MaxReason is how many characters a reason has at most.
	MaxReason = 500
	maxID     = 64
)

// The errors of [Book.Witness], beside those of the store.
var (
	ErrInvalid = errors.New("invalid audit record")
	ErrReused  = errors.New("the id stands for another action")
)

// Store is what a book needs of a store.
type Store interface {
	Get(ctx context.Context, collection, name string) (store.Document, error)
	Put(ctx context.Context, d store.Document) (version uint64, err error)
	Documents(ctx context.Context, collection, after string, limit int) (store.Page[store.Document], error)
}

// Record is one action of somebody.
type Record struct {
	// ID is chosen by who acts; the same again is the same action.
	ID   string    `json:"id"`
	Time time.Time `json:"time"`
	// Who is the user, Address where they came from.
	Who     string `json:"who"`
	Address string `json:"address,omitempty"`
	// Action is what was done, such as "session.reset", and Target to what.
	Action string `json:"action"`
	Target string `json:"target,omitempty"`
	Reason string `json:"reason"`
	// Replica is where it was asked for.
	Replica string `json:"replica,omitempty"`
}

// same reports whether two records are of the same action.
func (r Record) same(o Record) bool {
	return r.ID == o.ID && r.Who == o.Who && r.Action == o.Action && r.Target == o.Target && r.Reason == o.Reason
}

// name puts later records before earlier ones in the order of names.
func (r Record) name() string {
	return fmt.Sprintf("%016x.%s", math.MaxInt64-r.Time.UnixNano(), r.ID)
}

func (r Record) check() error {
	switch {
	case r.ID == "" || len(r.ID) > maxID || strings.ContainsFunc(r.ID, unicode.IsControl) || !utf8.ValidString(r.ID):
		return fmt.Errorf("%w: an id has 1 to %d bytes without control characters", ErrInvalid, maxID)
	case r.Who == "" || r.Action == "" || r.Time.IsZero():
		return fmt.Errorf("%w: want who did what, and when", ErrInvalid)
	}
	return CheckReason(r.Reason)
}

// CheckReason refuses a reason that says nothing or too much.
func CheckReason(reason string) error {
	if strings.TrimSpace(reason) == "" || utf8.RuneCountInString(reason) > MaxReason || !utf8.ValidString(reason) {
		return fmt.Errorf("%w: a reason has 1 to %d characters", ErrInvalid, MaxReason)
	}
	return nil
}

// entry is what is known of the id of an action.
type entry struct {
	Record Record `json:"record"`
	Done   bool   `json:"done,omitempty"`
}

// Book is where records are kept. Make it with [New].
type Book struct{ docs Store }

// New makes a book that is kept in a store.
func New(docs Store) *Book { return &Book{docs} }

// Witness writes down what is about to be done. An id that is known already gives
// the record of the first time, and done says whether the action ended well then.
func (b *Book) Witness(ctx context.Context, r Record) (first Record, done bool, err error) {
	r.Time = r.Time.UTC().Round(0)
	if err := r.check(); err != nil {
		return Record{}, false, err
	}
	e := entry{Record: r}
	// The id comes first: whoever wins here decides the record's name.
	_, err = b.docs.Put(ctx, store.Document{Collection: actions, Name: r.ID, Data: encode(e), TTL: remembered})
	if errors.Is(err, store.ErrConflict) {
		if e, _, err = b.find(ctx, r.ID); err == nil && !e.Record.same(r) {
			return Record{}, false, ErrReused
		}
	}
	if err != nil {
		return Record{}, false, fmt.Errorf("witness %s: %w", r.Action, err)
	}
	if e.Done {
		return e.Record, true, nil
	}
	// A conflict means that it is there already.
	_, err = b.docs.Put(ctx, store.Document{Collection: records, Name: e.Record.name(), Data: encode(e.Record)})
	if err != nil && !errors.Is(err, store.ErrConflict) {
		return Record{}, false, fmt.Errorf("witness %s: %w", r.Action, err)
	}
	return e.Record, false, nil
}

// Recall looks for what was witnessed under the id of r, which must be the same
// action. It is [store.ErrNotFound] when there is nothing.
func (b *Book) Recall(ctx context.Context, r Record) (first Record, done bool, err error) {
	if err := r.check(); err != nil {
		return Record{}, false, err
	}
	e, _, err := b.find(ctx, r.ID)
	switch {
	case err != nil:
		return Record{}, false, fmt.Errorf("recall %s: %w", r.Action, err)
	case !e.Record.same(r):
		return Record{}, false, ErrReused
	}
	return e.Record, e.Done, nil
}

// Done notes that an action ended well, so that it is not done again.
func (b *Book) Done(ctx context.Context, id string) error {
	e, version, err := b.find(ctx, id)
	if err == nil && !e.Done {
		e.Done = true
		_, err = b.docs.Put(ctx, store.Document{
			Collection: actions, Name: id, Data: encode(e), Version: version, TTL: remembered,
		})
	}
	if err != nil && !errors.Is(err, store.ErrConflict) { // a conflict is somebody who notes the same
		return fmt.Errorf("note that an action is done: %w", err)
	}
	return nil
}

// List shows a page of records, the newest first. The limit follows
// [store.PageLimit]; after is the Next of the page before. Records that cannot be
// read are left out.
func (b *Book) List(ctx context.Context, after string, limit int) (store.Page[Record], error) {
	found, err := b.docs.Documents(ctx, records, after, limit)
	if err != nil {
		return store.Page[Record]{}, fmt.Errorf("list audit records: %w", err)
	}
	page := store.Page[Record]{Next: found.Next}
	for _, d := range found.Items {
		var r Record
		if json.Unmarshal(d.Data, &r) == nil {
			page.Items = append(page.Items, r)
		}
	}
	return page, nil
}

// find looks an id up.
func (b *Book) find(ctx context.Context, id string) (e entry, version uint64, err error) {
	d, err := b.docs.Get(ctx, actions, id)
	if err != nil {
		return e, 0, err
	}
	if err := json.Unmarshal(d.Data, &e); err != nil {
		return e, 0, fmt.Errorf("read an action: %w", err)
	}
	return e, d.Version, nil
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and times always have a JSON form
	}
	return data
}
