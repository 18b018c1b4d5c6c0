package session_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/demo"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/wire"
)

// boaster is a demo whose word "huge" is a megabyte.
type boaster struct{ namesake }

func (b boaster) Open(ctx context.Context, spec providers.Spec) (providers.Session, error) {
	hear := spec.Hear
	spec.Hear = func(e providers.Event) {
		if e.Kind == providers.EventText && e.Text == "huge" {
			e.Text = strings.Repeat("x", 1<<20)
		}
		hear(e)
	}
	return b.namesake.Open(ctx, spec)
}

// What one agent says and no store takes ends its turn, and is not held against
// others, however often it happens.
func TestTooLargeForTheStore(t *testing.T) {
	t.Parallel()
	small, err := filestore.Open(t.TempDir(), filestore.Config{
		Sync: filestore.SyncOff, Limits: store.Limits{BatchBytes: 500_000},
	})
	ok(t, err)
	t.Cleanup(func() { ok(t, small.Close()) })
	s := newSite(t, func(*testing.T) engine { return small })
	o := agentHub(t, s, hubConfig{
		others: []providers.Provider{boaster{namesake{demo.New(demo.Config{}), "other"}}}, logger: silence(),
	})
	d := o.newDesktop(t, "ses-1")
	d.send("", wire.SetProvider{Provider: "other"})
	d.send("", wire.SubscribeMonitor{MonitorID: "monitor-1"})
	d.say("monitor-1", "m", "/say I wait", "/ask Go on? | yes | no")
	p := d.asked("main-monitor-1-m")
	for i := range 4 {
		id := wire.MessageID(fmt.Sprint("big", i))
		d.say(first, id, "/say huge")
		if e := d.ends(id); e.Outcome != wire.OutcomeFailed || !strings.Contains(e.Reason, "too large") {
			t.Errorf("%s ended with %+v", id, e)
		}
	}
	d.send("", wire.UserPromptResponse{PromptID: p.ID, SelectedValues: []string{"yes"}})
	if e := d.ends("m"); e.Outcome != wire.OutcomeCompleted {
		t.Errorf("the other turn ended with %+v", e)
	}
	d.say(first, "after", "/say all is well")
	if e := d.ends("after"); e.Outcome != wire.OutcomeCompleted || d.said("after") != "all is well" {
		t.Errorf("the next turn said %.100q and ended with %+v", d.said("after"), e)
	}
}
