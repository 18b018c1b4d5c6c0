package session_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// A store forgets a rewind. What was taken back is not among what moved away from the
// agent's memory either.
func TestForgottenRewindOfALongMemory(t *testing.T) {
	t.Parallel()
	var m *meddler
	s := onFiles(t)
	open := s.open
	s.open = func(t *testing.T) engine {
		t.Helper()
		e := open(t)
		m = meddle(e)
		return struct {
			*meddler
			agentpool.Semaphores
			tools.Documents
		}{m, e, e}
	}
	o := agentHub(t, s, hubConfig{logger: silence()})
	d := o.newDesktop(t, "ses-1")
	for i := range 7 {
		id := wire.MessageID(fmt.Sprintf("m%d", i))
		d.say(first, id, "/say hello", fmt.Sprintf("word %d", i)+strings.Repeat("x", 200_000))
		d.ends(id)
	}
	const list = "cold:api:main-monitor-0"
	away := func() int {
		page, err := m.ReadList(t.Context(), "ses-1", list, 0, 100)
		ok(t, err)
		return page.Total
	}
	if away() == 0 {
		t.Fatal("nothing has moved away")
	}
	var forgets, forgot atomic.Bool
	m.onCommit(func(_ context.Context, _ store.Lease, b store.Batch, do commitFunc) (store.Receipt, error) {
		if forgets.Load() {
			forgot.Store(true)
			return acknowledged(b), nil
		}
		return do()
	})
	page := archived(t, o.Hub, first, 100)
	forgets.Store(true)
	if p, is := d.ask("r", wire.Rewind{TS: page[0].TS, MonitorID: first}).(wire.HistoryRewound); !is {
		t.Fatalf("%+v", p)
	}
	forgets.Store(false)
	d.ask("after", emit(window("after")))
	settled(t, d.handle)
	if n := away(); n > 0 || !forgot.Load() {
		t.Errorf("%d messages are there that were taken back", n)
	}
}
