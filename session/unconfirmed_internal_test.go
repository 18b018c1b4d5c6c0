package session

import (
	"fmt"
	"testing"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// The unconfirmed items are bounded by number, bytes and age, and the owner knows that it dropped
// some.
func TestUnconfirmedIsBounded(t *testing.T) {
	t.Parallel()
	at := func(n int) wire.Position { return wire.Position{Epoch: 1, Seq: uint64(n)} }
	now := time.Now()
	var u unconfirmed
	for n := range unconfirmedItems + 10 {
		u.add(acceptedItem{at: at(n), since: now, data: []byte("x")})
	}
	if len(u.items) != unconfirmedItems || u.items[0].at != at(10) || u.dropped != at(9) {
		t.Errorf("%d items from %v on are left, dropped up to %v; want %d from %v on, up to %v",
			len(u.items), u.items[0].at, u.dropped, unconfirmedItems, at(10), at(9))
	}
	u.add(acceptedItem{at: at(1000), since: now, data: make([]byte, unconfirmedBytes-1)})
	if len(u.items) != 2 || u.bytes != unconfirmedBytes {
		t.Errorf("%d items of %d bytes are left, want 2 of %d", len(u.items), u.bytes, unconfirmedBytes)
	}
	if due := u.due(); !due.Equal(now.Add(unconfirmedAge)) {
		t.Errorf("an item expires at %v, want %v", due, now.Add(unconfirmedAge))
	}
	u.expire(now.Add(unconfirmedAge))
	if len(u.items) != 0 || u.bytes != 0 || u.dropped != (wire.Position{}) || !u.due().IsZero() {
		t.Errorf("after %v there is %+v, want nothing", unconfirmedAge, u)
	}
}

// Messages that an ended turn answered are sent with its end, and so are its actions. Other
// messages are sent alone; refused messages and actions of unfinished turns are not sent.
func TestLostMessagesAreRestoredWithTheirTurn(t *testing.T) {
	t.Parallel()
	left, ops := &owner{}, []store.Op{}
	for id, r := range map[wire.MessageID]reply{
		"began": {Verdict: verdictAccepted, Agent: "ended"}, "steered": {Verdict: verdictAccepted, Agent: "ended"},
		"runs": {Verdict: verdictAccepted, Agent: "running"}, "refused": {Verdict: verdictRejected},
	} {
		left.commands.replies.ledger.add(id, entry{Reply: r}, &ops)
	}
	orders := lostOrders(left, []acceptedItem{
		{message: "began", data: []byte("began")},
		{message: "runs", data: []byte("runs")},
		{agent: "ended", data: []byte("did")},
		{agent: "running", data: []byte("does")},
		{message: "steered", data: []byte("steered")},
		{message: "refused", data: []byte("refused")},
		{message: "began", agent: "ended", isEnd: true, data: []byte("end")},
		{data: []byte("answer")},
	})
	var got []string
	for _, o := range orders {
		got = append(got, fmt.Sprintf("%s %s %s", o.Commands, o.Actions, o.End))
	}
	want := "[[runs] []  [began steered] [did] end [answer] [] ]"
	if fmt.Sprint(got) != want {
		t.Errorf("the orders are %v, want %v", got, want)
	}
}
