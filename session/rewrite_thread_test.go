package session_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// A store loses a rewind. The removed messages are not in the archived part of the agent's history
// either.
func TestLostRewindOfALongThread(t *testing.T) {
	t.Parallel()
	var m *faultStore
	s := newFileDeployment(t)
	open := s.openStore
	s.openStore = func(t *testing.T) agentStore {
		t.Helper()
		e := open(t)
		m = newFaultStore(e)
		return struct {
			*faultStore
			agentpool.Semaphores
			session.Documents
		}{m, e, e}
	}
	o := startAgentHub(t, s, hubConfig{logger: discardLogger()})
	d := o.newDesktop(t, "ses-1")
	for i := range 7 {
		id := wire.MessageID(fmt.Sprintf("m%d", i))
		d.sendText(firstMonitor, id, "/say hello", fmt.Sprintf("word %d", i)+strings.Repeat("x", 200_000))
		d.waitTurnEnd(id)
	}
	const list = "cold:api:main-monitor-0"
	away := func() int {
		page, err := m.ReadList(t.Context(), "ses-1", list, 0, 100)
		requireNoError(t, err)
		return page.Total
	}
	if away() == 0 {
		t.Fatal("got 0 messages in the cold list, want some")
	}
	var forgets, forgot atomic.Bool
	m.onCommit(func(_ context.Context, _ store.Lease, b store.Batch, do commitFunc) (store.Receipt, error) {
		if forgets.Load() {
			forgot.Store(true)
			return receiptFor(b), nil
		}
		return do()
	})
	page := readArchive(t, o.Hub, firstMonitor, 100)
	forgets.Store(true)
	if p, is := d.sendAndWait("r", wire.Rewind{TS: page[0].TS, MonitorID: firstMonitor}).(wire.HistoryRewound); !is {
		t.Fatalf("got %+v, want a rewound history", p)
	}
	forgets.Store(false)
	d.sendAndWait("after", emit(window("after")))
	deliverBarrier(t, d.handle)
	if n := away(); n > 0 || !forgot.Load() {
		t.Errorf("%d messages are there that were removed, want 0 after a lost batch", n)
	}
}
