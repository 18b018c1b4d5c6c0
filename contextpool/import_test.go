package contextpool_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/history"
)

// The threads of an export are those that a rewind reads: without messages whose removal from the
// cold list the store lost, and with the thread's copy of a message that moved back from there.
func TestLoadThreadsIgnoresStaleColdMessages(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i := range 300 {
		r.runTurn(fmt.Sprintf("m%d", i))
	}
	hot := r.kept.lists["api:"+mainThread]
	var moved history.Message
	if err := json.Unmarshal(hot[len(hot)-1], &moved); err != nil {
		t.Fatal(err)
	}
	load := func() []string {
		t.Helper()
		tables, lists := r.kept.clone()
		threads, err := contextpool.LoadThreads(tables, lists, nil, func(list string) ([][]byte, error) { return lists[list], nil })
		if err != nil || len(threads) != 1 {
			t.Fatalf("got %d threads and error %v, want 1 and none", len(threads), err)
		}
		texts := make([]string, len(threads[0].Messages))
		for i, m := range threads[0].Messages {
			texts[i] = fmt.Sprint(m.ID, " ", m.Blocks[0].Text)
		}
		return texts
	}
	want := load()
	if len(want) <= len(hot) {
		t.Fatalf("got %d messages with %d in the thread itself, want more", len(want), len(hot))
	}
	for name, id := range map[string]uint64{"removed": moved.ID + 1, "moved back": moved.ID} {
		cold := r.kept.lists[coldMain]
		r.kept.lists[coldMain] = append(slices.Clip(cold), removedMessage(t, id))
		if got := load(); !slices.Equal(got, want) {
			t.Errorf("%s: got %d messages, the last %q, want %d, the last %q", name, len(got), got[len(got)-1], len(want), want[len(want)-1])
		}
		r.kept.lists[coldMain] = cold
	}
}
