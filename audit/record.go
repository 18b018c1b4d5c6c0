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
	// MaxReason bounds the characters of a reason.
	MaxReason = 500
	// maxDetail bounds the bytes of a detail; the rest is cut off.
	maxDetail = 1000
	maxID     = 64
)

// The errors of [Log.Begin], besides those of the store.
var (
	ErrInvalid = errors.New("invalid audit record")
	ErrReused  = errors.New("the id was used for another action")
)

// Result is the state of an action.
type Result string

// The results.
const (
	// Begun is recorded before the action is executed.
	Begun Result = "begun"
	// Done means success; the action is not executed again.
	Done Result = "done"
	// Failed means failure; the detail has the reason.
	Failed Result = "failed"
)

// Record is one link of the chain: the beginning or the ending of an action.
type Record struct {
	// Seq counts from 1 without gaps.
	Seq uint64 `json:"seq"`
	// ID is chosen by the client; the same id is the same action.
	ID string `json:"id"`
	// Time has a resolution of 1 ms.
	Time time.Time `json:"time"`
	// Who is the user, Address the network address of the request.
	Who     string `json:"who"`
	Address string `json:"address,omitempty"`
	// Action is the kind of the action, such as "session.reset", and Target its object.
	Action string `json:"action"`
	Target string `json:"target,omitempty"`
	Reason string `json:"reason"`
	// Replica is the replica that received the request.
	Replica string `json:"replica,omitempty"`
	Result  Result `json:"result"`
	// Detail is the reason of a failure, or the state before and after.
	Detail string `json:"detail,omitempty"`
	// Prev is the hash of the previous record, Hash that of this one.
	Prev string `json:"prev,omitempty"`
	Hash string `json:"hash"`
}

// sameAction reports whether two records belong to the same action.
func (r *Record) sameAction(o *Record) bool {
	return r.ID == o.ID && r.Who == o.Who && r.Action == o.Action && r.Target == o.Target && r.Reason == o.Reason
}

// sum returns the hash of all other fields: each value in a fixed order with its length
// before it, so that different records have different inputs.
func (r *Record) sum() string {
	h := sha256.New()
	for _, v := range []string{
		"everdesk audit 1", strconv.FormatUint(r.Seq, 10), r.Prev, r.ID, strconv.FormatInt(r.Time.UnixMilli(), 10), r.Who,
		r.Address, r.Action, r.Target, r.Reason, r.Replica, string(r.Result), r.Detail,
	} {
		writeField(h, v)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func writeField(h hash.Hash, v string) {
	_, _ = io.WriteString(h, strconv.Itoa(len(v))+":"+v) // a hash never fails
}

// link sets the sequence number, the previous hash and the hash of a record.
func (r *Record) link(seq uint64, prev string) {
	r.Seq, r.Prev = seq, prev
	r.Hash = r.sum()
}

// documentName returns the name of a record's document. Names of later records sort first.
func documentName(seq uint64) string { return fmt.Sprintf("%016x", math.MaxInt64-seq) }

// seqOf returns the sequence number of a document name, or 0 if it is not one.
func seqOf(name string) uint64 {
	n, err := strconv.ParseUint(name, 16, 63)
	if err != nil || len(name) != 16 || n >= math.MaxInt64 {
		return 0
	}
	return math.MaxInt64 - n
}

// normalize changes values that JSON would not preserve: it truncates the time to
// milliseconds, bounds the detail and replaces invalid UTF-8.
func (r *Record) normalize() {
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
		return fmt.Errorf("%w: want a user and an action", ErrInvalid)
	case r.Time.IsZero() || r.Time.Year() < 1 || r.Time.Year() > 9999:
		return fmt.Errorf("%w: want a time in the years 1 to 9999", ErrInvalid)
	}
	return CheckReason(r.Reason)
}

// CheckReason refuses a reason that is blank, longer than MaxReason characters, or not
// UTF-8.
func CheckReason(reason string) error {
	if strings.TrimSpace(reason) == "" || utf8.RuneCountInString(reason) > MaxReason || !utf8.ValidString(reason) {
		return fmt.Errorf("%w: a reason has 1 to %d characters", ErrInvalid, MaxReason)
	}
	return nil
}

// read decodes a record of the chain.
func read(d store.Document) (r Record, err error) {
	if err := json.Unmarshal(d.Data, &r); err != nil {
		return Record{}, fmt.Errorf("decode audit record: %w", err)
	}
	r.Time = r.Time.UTC()
	return r, nil
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings, numbers and times that passed check can always be marshaled
	}
	return data
}
