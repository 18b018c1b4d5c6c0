package session

import (
	"strconv"
	"testing"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// applyOps applies ops to a table.
func applyOps(table map[string][]byte, ops []store.Op) {
	for _, op := range ops {
		if op.Kind == store.OpSet {
			table[op.Field] = op.Values[0]
		} else {
			delete(table, op.Field)
		}
	}
}

func TestLedgerIsBounded(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_700_000_000_000)
	var l ledger
	table := map[string][]byte{}
	for i := range ledgerIDs + 100 {
		var ops []store.Op
		e := entry{Hash: "h", Time: wire.Millis(now.UnixMilli()), Reply: reply{Verdict: verdictRejected, Code: 4005, Reason: "no"}}
		l.add(wire.MessageID("m"+strconv.Itoa(i)), e, &ops) // any number in one step
		applyOps(table, ops)
		now = now.Add(time.Millisecond)
	}
	if len(l.by) != ledgerIDs || len(table) != ledgerIDs || len(l.order) != ledgerIDs {
		t.Errorf("the ledger knows %d ids, keeps %d and orders %d, want %d", len(l.by), len(table), len(l.order), ledgerIDs)
	}
	var again ledger
	if err := again.restore(table); err != nil {
		t.Fatal(err)
	}
	if e, ok := again.find("m100"); !ok || e.Reply.Code != 4005 || again.order[0].id != "m100" {
		t.Errorf("the oldest is %s, and m100 is %+v, %t, want m100 with code 4005 as the oldest", again.order[0].id, e, ok)
	}
	if _, ok := again.find("m99"); ok {
		t.Error("got entry m99 beyond the bound of the ledger, want none")
	}
	for range ledgerIDs/ledgerPrune + 1 {
		var ops []store.Op
		again.prune(now.Add(ledgerAge), &ops)
		if len(ops) > ledgerPrune {
			t.Fatalf("one step removes %d ids, want at most %d", len(ops), ledgerPrune)
		}
		applyOps(table, ops)
	}
	if len(again.by)+len(table) != 0 {
		t.Errorf("after a day the ledger knows %d ids and keeps %d, want none", len(again.by), len(table))
	}
	if err := again.restore(map[string][]byte{"x": []byte("{")}); err == nil {
		t.Error("got no error for a damaged ledger, want one")
	}
}

func TestClosedQuestionsAreBounded(t *testing.T) {
	t.Parallel()
	var q closedQuestions
	table := map[string][]byte{}
	for i := range maxClosedQuestions + 10 {
		var ops []store.Op
		name := dialogName(wire.DialogID("d" + strconv.Itoa(i)))
		q.add(name, ending{Time: wire.Millis(i), Reason: wire.ClosedExpired}, &ops)
		q.add(name, ending{Time: wire.Millis(i), Reason: wire.ClosedAnswered, By: "c"}, &ops)
		applyOps(table, ops)
	}
	if len(q.by) != maxClosedQuestions || len(table) != maxClosedQuestions {
		t.Errorf("%d closed questions are known and %d kept, want %d", len(q.by), len(table), maxClosedQuestions)
	}
	var again closedQuestions
	if err := again.restore(table); err != nil {
		t.Fatal(err)
	}
	if e, ok := again.find(dialogName("d10")); !ok || e.By != "c" || len(again.all()) != maxClosedQuestions {
		t.Errorf("question d10 is %+v, %t, and %d are known, want it closed by c as one of %d", e, ok, len(again.all()), maxClosedQuestions)
	}
}
