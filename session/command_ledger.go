package session

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Bounds of the ledger.
const (
	ledgerTable = "ledger"
	ledgerIDs   = 10_000
	ledgerAge   = 24 * time.Hour
	ledgerPrune = 64 // entries removed per step at most
)

// verdict is how a message was answered.
type verdict string

const (
	verdictDone     verdict = ""         // executed, without an answer
	verdictEmitted  verdict = "emitted"  // with ACTIONS, HISTORY_REWOUND or the events of CONDENSE
	verdictRejected verdict = "rejected" // with MESSAGE_REJECTED
	verdictDialog   verdict = "dialog"   // with DIALOG_CLOSED
	verdictPrompt   verdict = "prompt"   // with PROMPT_CLOSED
	verdictAccepted verdict = "accepted" // with MESSAGE_ACCEPTED
	verdictQueued   verdict = "queued"   // with MESSAGE_QUEUED
	verdictPending  verdict = "pending"  // not yet
	verdictPlanned  verdict = "planned"  // with an event of the plan
)

// reply is the answer to a message, with everything needed to repeat it.
type reply struct {
	Verdict verdict   `json:"v,omitempty"`
	Code    wire.Code `json:"c,omitempty"`
	Reason  string    `json:"r,omitempty"`
	// ReasonCode names the reason for clients, or is empty.
	ReasonCode wire.ReasonCode `json:"rc,omitempty"`
	// Field is the part of the message that was wrong.
	Field   string         `json:"f,omitempty"`
	Monitor wire.MonitorID `json:"m,omitempty"`
	// Public says that all tabs get the rejection.
	Public bool `json:"p,omitempty"`
	// At is the position of the ACTIONS, of HISTORY_REWOUND, or of the first event of
	// CONDENSE.
	At wire.Position `json:"at,omitzero"`
	// Question is the dialog or prompt that was answered.
	Question string `json:"q,omitempty"`
	// Agent and How belong to an accepted message, Place to a queued one.
	Agent wire.AgentID `json:"g,omitempty"`
	How   wire.Taken   `json:"w,omitempty"`
	Place int          `json:"n,omitempty"`
}

// refused makes a rejection with a formatted reason.
func refused(code wire.Code, format string, args ...any) reply {
	return reply{Verdict: verdictRejected, Code: code, Reason: fmt.Sprintf(format, args...)}
}

// refusedBy makes the rejection of a command that the desktop or the pool refused.
func refusedBy(why *desktop.Refusal) reply {
	return reply{Verdict: verdictRejected, Code: why.Code, Reason: why.Reason, ReasonCode: why.ReasonCode}
}

// entry is the ledger's record of a message.
type entry struct {
	Hash  string      `json:"h"`
	Time  wire.Millis `json:"t"`
	Reply reply       `json:"a"`
}

var entryFormat = sync.OnceValue(wire.FormatOf[entry])

// ledger records the ids of messages and their replies, so that a repeated message has no second
// effect. The zero value is empty.
type ledger struct {
	by    map[wire.MessageID]entry
	order []ledgerKey // oldest first
}

// ledgerKey is the id of a message and its time.
type ledgerKey struct {
	id   wire.MessageID
	time wire.Millis
}

func (l *ledger) clone() ledger { return ledger{maps.Clone(l.by), slices.Clone(l.order)} }

func (l *ledger) find(id wire.MessageID) (entry, bool) {
	e, ok := l.by[id]
	return e, ok
}

// add records a message and its reply, and removes the oldest entries beyond ledgerIDs.
func (l *ledger) add(id wire.MessageID, e entry, ops *[]store.Op) {
	if l.by == nil {
		l.by = map[wire.MessageID]entry{}
	}
	l.by[id] = e
	l.order = append(l.order, ledgerKey{id, e.Time})
	*ops = append(*ops, store.Set(ledgerTable, string(id), entryFormat().Append(nil, &e)))
	for len(l.order) > ledgerIDs {
		l.removeOldest(ops)
	}
}

// update replaces the record of a message.
func (l *ledger) update(id wire.MessageID, e entry, ops *[]store.Op) {
	l.by[id] = e
	*ops = append(*ops, store.Set(ledgerTable, string(id), entryFormat().Append(nil, &e)))
}

func (l *ledger) removeOldest(ops *[]store.Op) {
	id := l.order[0].id
	l.order = l.order[1:]
	delete(l.by, id)
	*ops = append(*ops, store.Unset(ledgerTable, string(id)))
}

// prune removes entries older than ledgerAge.
func (l *ledger) prune(now time.Time, ops *[]store.Op) {
	oldest := wire.Millis(now.Add(-ledgerAge).UnixMilli())
	for n := 0; n < ledgerPrune && len(l.order) > 0 && l.order[0].time <= oldest; n++ {
		l.removeOldest(ops)
	}
}

// restore reads the table that add writes.
func (l *ledger) restore(table map[string][]byte) error {
	l.by = make(map[wire.MessageID]entry, len(table))
	l.order = make([]ledgerKey, 0, len(table))
	for id, data := range table {
		e, err := entryFormat().DecodeOwn(data)
		if err != nil {
			return fmt.Errorf("message %q: %w", id, err)
		}
		l.by[wire.MessageID(id)] = e
		l.order = append(l.order, ledgerKey{wire.MessageID(id), e.Time})
	}
	slices.SortFunc(l.order, func(a, b ledgerKey) int { return cmp.Compare(a.time, b.time) })
	return nil
}

// all returns the ops that write all entries again.
func (l *ledger) all() []store.Op {
	ops := make([]store.Op, 0, len(l.by))
	for _, d := range l.order {
		e := l.by[d.id]
		ops = append(ops, store.Set(ledgerTable, string(d.id), entryFormat().Append(nil, &e)))
	}
	return ops
}

// digest returns a hash that is equal for messages with the same content. It leaves out the message
// id and the client's clock.
func digest(p wire.ClientPayload) string {
	v := reflect.New(reflect.TypeOf(p)).Elem()
	v.Set(reflect.ValueOf(p))
	if id := v.FieldByName("MessageID"); id.IsValid() {
		id.SetString("")
	}
	p, _ = reflect.TypeAssert[wire.ClientPayload](v)
	return hashText(wire.Native{}.AppendMessage(nil, wire.Message{Data: p}))
}

func hashText[T ~string | ~[]byte](text T) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawStdEncoding.EncodeToString(sum[:16])
}
