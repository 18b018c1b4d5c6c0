package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/everdesk/everdesk/store"
)

const (
	// MaxReason is how many characters a reason has at most.
	MaxReason = 500
	// maxDetail is how many bytes are kept of a detail.
	maxDetail = 1000
	maxID     = 64
)

// The errors of [Book.Begin], beside those of the store.
var (
	ErrInvalid = errors.New("invalid audit record")
	ErrReused  = errors.New("the id stands for another action")
)

// Result is what became of an action.
type Result string

// What becomes of an action.
const (
	// Begun is written down before it is done.
	Begun Result = "begun"
	// Done ended well and is not done again.
	Done Result = "done"
	// Failed did not; the detail says why.
	Failed Result = "failed"
)

// Record is one link of the chain: an action that begins, or how it ended.
type Record struct {
	// Seq counts from 1 without gaps.
	Seq uint64 `json:"seq"`
	// ID is chosen by who acts; the same again is the same action.
	ID string `json:"id"`
	// Time has milliseconds.
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
	Result  Result `json:"result"`
	// Detail is why it failed, or how things were before and after.
	Detail string `json:"detail,omitempty"`
	// Prev is the hash of the record before, and Hash that of this one.
	Prev string `json:"prev,omitempty"`
	Hash string `json:"hash"`
}

// same reports whether two records are of the same action.
func (r *Record) same(o *Record) bool {
	return r.ID == o.ID && r.Who == o.Who && r.Action == o.Action && r.Target == o.Target && r.Reason == o.Reason
}

// sum is the hash of everything else: each value in its order, with its length
// before it, so that no two records are the same to it.
func (r *Record) sum() string {
	h := sha256.New()
	for _, v := range []string{
		"everdesk audit 1", strconv.FormatUint(r.Seq, 10), r.Prev, r.ID, strconv.FormatInt(r.Time.UnixMilli(), 10), r.Who,
		r.Address, r.Action, r.Target, r.Reason, r.Replica, string(r.Result), r.Detail,
	} {
		write(h, v)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func write(h hash.Hash, v string) {
	_, _ = io.WriteString(h, strconv.Itoa(len(v))+":"+v) // which never fails
}

// link gives a record its place after another.
func (r *Record) link(seq uint64, prev string) {
	r.Seq, r.Prev = seq, prev
	r.Hash = r.sum()
}

// name puts later records before earlier ones in the order of names.
func name(seq uint64) string { return fmt.Sprintf("%016x", math.MaxInt64-seq) }

// number is the place that a name says, or 0.
func number(name string) uint64 {
	n, err := strconv.ParseUint(name, 16, 63)
	if err != nil || len(name) != 16 || n >= math.MaxInt64 {
		return 0
	}
	return math.MaxInt64 - n
}

// settle makes a record one that is read as it was written.
func (r *Record) settle() {
	r.Time = r.Time.UTC().Truncate(time.Millisecond)
	if len(r.Detail) > maxDetail {
		r.Detail = r.Detail[:maxDetail]
	}
	for _, v := range []*string{&r.ID, &r.Who, &r.Address, &r.Action, &r.Target, &r.Reason, &r.Replica, &r.Detail} {
		*v = strings.ToValidUTF8(*v, "\uFFFD")
	}
}

func (r *Record) check() error {
	switch {
	case r.ID == "" || len(r.ID) > maxID || strings.ContainsFunc(r.ID, unicode.IsControl) || !utf8.ValidString(r.ID):
		return fmt.Errorf("%w: an id has 1 to %d bytes without control characters", ErrInvalid, maxID)
	case r.Who == "" || r.Action == "":
		return fmt.Errorf("%w: want who did what", ErrInvalid)
	case r.Time.IsZero() || r.Time.Year() < 1 || r.Time.Year() > 9999:
		return fmt.Errorf("%w: want when it was done", ErrInvalid)
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

// read reads a record of the chain.
func read(d store.Document) (r Record, err error) {
	if err := json.Unmarshal(d.Data, &r); err != nil {
		return Record{}, fmt.Errorf("read an audit record: %w", err)
	}
	r.Time = r.Time.UTC()
	return r, nil
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings, numbers and the times that check lets through always have a JSON form
	}
	return data
}
