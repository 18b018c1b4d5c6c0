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

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// What the ledger remembers.
const (
	ledgerTable = "ledger"
	ledgerIDs   = 10_000
	ledgerAge   = 24 * time.Hour
	ledgerPrune = 64 // so many go per step at most
)

// verdict is how a message was answered.
type verdict string

const (
	verdictDone     verdict = ""         // it happened; there is nothing to say
	verdictEmitted  verdict = "emitted"  // with EMITTED
	verdictRejected verdict = "rejected" // with MESSAGE_REJECTED
	verdictDialog   verdict = "dialog"   // with DIALOG_CLOSED
	verdictPrompt   verdict = "prompt"   // with PROMPT_CLOSED
	verdictAccepted verdict = "accepted" // with MESSAGE_ACCEPTED
	verdictQueued   verdict = "queued"   // with MESSAGE_QUEUED
	verdictPending  verdict = "pending"  // not yet
	verdictPlanned  verdict = "planned"  // with whatever the plan makes of it
)

// reply is how a message was answered, in as much detail as saying it again
// takes.
type reply struct {
	Verdict verdict   `json:"v,omitempty"`
	Code    wire.Code `json:"c,omitempty"`
	Reason  string    `json:"r,omitempty"`
	// Field is the part of the message that was wrong.
	Field   string         `json:"f,omitempty"`
	Monitor wire.MonitorID `json:"m,omitempty"`
	// Public says that a rejection is shown to all.
	Public bool `json:"p,omitempty"`
	// At is the position of the ACTIONS, of HISTORY_REWOUND, or of the first event of
	// CONDENSE.
	At wire.Position `json:"at,omitzero"`
	// Question is the dialog or prompt that was answered.
	Question string `json:"q,omitempty"`
	// Agent and How are of a message that was accepted, Place is that of one
	// that waits.
	Agent wire.AgentID `json:"g,omitempty"`
	How   wire.Taken   `json:"w,omitempty"`
	Place int          `json:"n,omitempty"`
}

// refused is the reply to what may not be.
func refused(code wire.Code, format string, args ...any) reply {
	return reply{Verdict: verdictRejected, Code: code, Reason: fmt.Sprintf(format, args...)}
}

// entry is what the ledger knows of a message.
type entry struct {
	Hash  string      `json:"h"`
	Time  wire.Millis `json:"t"`
	Reply reply       `json:"a"`
}

var entryFormat = sync.OnceValue(wire.FormatOf[entry])

// ledger remembers the ids of messages, so that one that is sent again has no
// second effect. Its zero value is empty.
type ledger struct {
	by    map[wire.MessageID]entry
	order []ledgerKey // oldest first
}

// ledgerKey is the id of a message and when it came.
type ledgerKey struct {
	id   wire.MessageID
	time wire.Millis
}

// clone is a ledger with the same entries.
func (g *ledger) clone() ledger { return ledger{maps.Clone(g.by), slices.Clone(g.order)} }

func (g *ledger) find(id wire.MessageID) (entry, bool) {
	e, ok := g.by[id]
	return e, ok
}

// add remembers a message and how it was answered, and forgets the oldest when
// there are too many.
func (g *ledger) add(id wire.MessageID, e entry, ops *[]store.Op) {
	if g.by == nil {
		g.by = map[wire.MessageID]entry{}
	}
	g.by[id] = e
	g.order = append(g.order, ledgerKey{id, e.Time})
	*ops = append(*ops, store.Set(ledgerTable, string(id), entryFormat().Append(nil, &e)))
	for len(g.order) > ledgerIDs {
		g.removeOldest(ops)
	}
}

// update changes what is remembered of a message.
func (g *ledger) update(id wire.MessageID, e entry, ops *[]store.Op) {
	g.by[id] = e
	*ops = append(*ops, store.Set(ledgerTable, string(id), entryFormat().Append(nil, &e)))
}

// removeOldest drops the oldest entry.
func (g *ledger) removeOldest(ops *[]store.Op) {
	id := g.order[0].id
	g.order = g.order[1:]
	delete(g.by, id)
	*ops = append(*ops, store.Unset(ledgerTable, string(id)))
}

// prune forgets entries that are too old.
func (g *ledger) prune(now time.Time, ops *[]store.Op) {
	oldest := wire.Millis(now.Add(-ledgerAge).UnixMilli())
	for n := 0; n < ledgerPrune && len(g.order) > 0 && g.order[0].time <= oldest; n++ {
		g.removeOldest(ops)
	}
}

// restore reads what add wrote.
func (g *ledger) restore(table map[string][]byte) error {
	g.by = make(map[wire.MessageID]entry, len(table))
	g.order = make([]ledgerKey, 0, len(table))
	for id, data := range table {
		e, err := entryFormat().DecodeOwn(data)
		if err != nil {
			return fmt.Errorf("message %q: %w", id, err)
		}
		g.by[wire.MessageID(id)] = e
		g.order = append(g.order, ledgerKey{wire.MessageID(id), e.Time})
	}
	slices.SortFunc(g.order, func(a, b ledgerKey) int { return cmp.Compare(a.time, b.time) })
	return nil
}

// all writes everything again.
func (g *ledger) all() []store.Op {
	ops := make([]store.Op, 0, len(g.by))
	for _, d := range g.order {
		e := g.by[d.id]
		ops = append(ops, store.Set(ledgerTable, string(d.id), entryFormat().Append(nil, &e)))
	}
	return ops
}

// digest is the same for messages that say the same. The id and the client's
// clock are not part of it.
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
