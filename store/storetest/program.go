package storetest

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// modelLimits are small, so that short programs reach all of them.
func modelLimits() store.Limits {
	return store.Limits{
		LogEvents: 24, LogBytes: 2048, BatchBytes: 1500, BatchItems: 24,
		InboxCommands: 4, CommandBytes: 40, DocumentBytes: 40,
	}
}

// The numbers of different sessions, replicas and so on in a program. They are small, so that steps interact.
const (
	programSessions = 3
	programReplicas = 3
	programCommands = 9
	programHolders  = 6
)

// step is one call, as data that can be drawn before a store exists. Numbers select among
// the values that exist when the step is executed.
type step struct {
	Do      string
	Session int
	Replica int
	// Old, unless 0, selects an earlier lease than the newest.
	Old int
	// Wrong selects the error in a batch, cursor, version or limit; most have none.
	Wrong int
	N     int
	Text  string
	Batch store.Batch
}

func (s step) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s session %d replica %d old %d wrong %d n %d %q", s.Do, s.Session, s.Replica, s.Old, s.Wrong, s.N, s.Text)
	if s.Do == "commit" {
		var sizes []int
		for _, f := range s.Batch.Events {
			sizes = append(sizes, len(f))
		}
		fmt.Fprintf(&b, " events of %v bytes, ops %v, consumed %v", sizes, s.Batch.Ops, s.Batch.Consumed)
	}
	return b.String()
}

// GoString shortens the output of rapid; a failure prints all steps.
func (s step) GoString() string { return s.Do }

// id returns the session of a step.
func (s step) id() wire.SessionID      { return wire.SessionID(fmt.Sprint("s", s.Session)) }
func (s step) replica() wire.ReplicaID { return wire.ReplicaID(fmt.Sprint("r", s.Replica)) }
func (s step) incarnation() store.Incarnation {
	return store.Incarnation{Replica: s.replica(), Number: 1<<52 + uint64(s.Replica)} //nolint:gosec // not negative
}
func (s step) user() string { return fmt.Sprint("user", s.Session%2) }
func (s step) list() string { return []string{"l", "m", store.ColdPrefix + "l"}[s.N%3] }
func (s step) document() (c, n string) {
	return fmt.Sprint("c", s.Session%2), fmt.Sprint("n", s.Replica)
}
func (s step) semaphore() string { return fmt.Sprint("sem", s.Session%2) }
func (s step) slotLimit() int    { return 1 + s.Session%2 }
func (s step) holder() (h, key string) {
	return fmt.Sprint("h", s.N%programHolders), fmt.Sprint("k", s.N%3)
}

func (s step) command() (c store.Command) {
	return store.Command{ID: fmt.Sprint("c", s.N%programCommands), Data: []byte(s.Text)}
}

// actions are the possible steps; common ones are repeated.
func actions() []string {
	var all []string
	for action, weight := range map[string]int{
		"create": 3, "claim": 4, "claimShared": 4, "renew": 1, "renewShared": 2, "release": 2, "delete": 1, "discard": 1, "commit": 16, "retry": 2,
		"load": 1, "read": 4, "readList": 1, "session": 1, "sessions": 1, "unattended": 1, "quarantine": 1, "lift": 1,
		"send": 6, "receive": 2, "put": 4, "get": 1, "remove": 1, "documents": 1,
		"acquire": 3, "wait": 4, "giveUp": 1, "renewSlot": 1, "releaseSlot": 5, "slots": 1, "advance": 3,
	} {
		for range weight {
			all = append(all, action)
		}
	}
	slices.Sort(all) // map order is random, and a seed must determine the program
	// Shrinking goes towards the first action, which does nothing.
	return slices.Insert(all, 0, "rest")
}

// program draws a sequence of steps.
func program() *rapid.Generator[[]step] {
	do := rapid.SampledFrom(actions())
	rarely := rapid.SampledFrom([]int{0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6})
	batch := batches()
	one := rapid.Custom(func(t *rapid.T) step {
		s := step{
			Do:      do.Draw(t, "do"),
			Session: rapid.IntRange(0, programSessions-1).Draw(t, "session"),
			Replica: rapid.IntRange(0, programReplicas-1).Draw(t, "replica"),
			Old:     rarely.Draw(t, "old"),
			Wrong:   rarely.Draw(t, "wrong"),
			N:       rapid.IntRange(0, 200).Draw(t, "n"),
			Text:    rapid.StringMatching(`[a-c]{0,3}`).Draw(t, "text"),
		}
		if s.Do == "commit" {
			s.Batch = batch.Draw(t, "batch")
		}
		return s
	})
	return rapid.SliceOfN(one, 40, 100)
}

// batches draws the content of a batch; the player adds number and position.
func batches() *rapid.Generator[store.Batch] {
	name := rapid.SampledFrom([]string{"l", "m", store.ColdPrefix + "l"})
	value := rapid.SliceOfN(rapid.Byte(), 0, 4)
	op := rapid.Custom(func(t *rapid.T) store.Op {
		n, v := name.Draw(t, "name"), value.Draw(t, "value")
		switch rapid.IntRange(1, 10).Draw(t, "kind") {
		case 1, 2:
			return store.Set(n, rapid.SampledFrom([]string{"f", "g"}).Draw(t, "field"), v)
		case 3:
			return store.Unset(n, "f")
		case 4:
			return store.Clear(n)
		case 5, 6:
			return store.Push(n, rapid.SliceOfN(value, 0, 3).Draw(t, "values")...)
		case 7:
			return store.Replace(n, rapid.IntRange(-4, 4).Draw(t, "index"), v)
		case 8:
			return store.KeepLast(n, rapid.IntRange(0, 5).Draw(t, "keep"))
		case 9:
			return store.KeepFirst(n, rapid.IntRange(0, 5).Draw(t, "keep"))
		default:
			return store.Drop(n)
		}
	})
	frame := rapid.Custom(func(t *rapid.T) []byte {
		return []byte(strings.Repeat("x", rapid.SampledFrom([]int{1, 2, 10, 100, 300}).Draw(t, "size")))
	})
	command := rapid.Custom(func(t *rapid.T) string {
		return fmt.Sprint("c", rapid.IntRange(0, programCommands-1).Draw(t, "command"))
	})
	return rapid.Custom(func(t *rapid.T) store.Batch {
		b := store.Batch{
			Events:   rapid.SliceOfN(frame, 0, 6).Draw(t, "events"),
			Ops:      rapid.SliceOfN(op, 0, 4).Draw(t, "ops"),
			Consumed: rapid.SliceOfN(command, 0, 3).Draw(t, "consumed"),
		}
		if rapid.Bool().Draw(t, "card") {
			b.Card = value.Draw(t, "value of card")
		}
		if rapid.Bool().Draw(t, "working") {
			b.Working = new(rapid.Bool().Draw(t, "value of working"))
		}
		if rapid.IntRange(0, 3).Draw(t, "user") == 0 {
			b.User = fmt.Sprint("user", rapid.IntRange(0, 1).Draw(t, "value of user"))
		}
		return b
	})
}
