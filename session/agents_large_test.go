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

// hugeReplyDemo is a demo provider whose word "huge" is a megabyte.
type hugeReplyDemo struct{ renamedDemo }

func (b hugeReplyDemo) Open(ctx context.Context, spec providers.Spec) (providers.Session, error) {
	hear := spec.OnEvent
	spec.OnEvent = func(e providers.Event) {
		if e.Kind == providers.EventText && e.Text == "huge" {
			e.Text = strings.Repeat("x", 1<<20)
		}
		hear(e)
	}
	return b.renamedDemo.Open(ctx, spec)
}

// Output that is too large for the store ends its turn and affects no other turn, however often it
// happens.
func TestTooLargeForTheStore(t *testing.T) {
	t.Parallel()
	small, err := filestore.Open(t.TempDir(), filestore.Config{
		Sync: filestore.SyncOff, Limits: store.Limits{BatchBytes: 500_000},
	})
	requireNoError(t, err)
	t.Cleanup(func() { requireNoError(t, small.Close()) })
	s := newDeployment(t, func(*testing.T) agentStore { return joinFile(small) })
	o := startAgentHub(t, s, hubConfig{
		otherProviders: []providers.Provider{hugeReplyDemo{renamedDemo{demo.New(demo.Config{}), "other"}}}, logger: discardLogger(),
	})
	d := o.newDesktop(t, "ses-1")
	d.send("", wire.SetProvider{Provider: "other"})
	d.send("", wire.SubscribeMonitor{MonitorID: "monitor-1"})
	d.sendText("monitor-1", "m", "/say I wait", "/ask Go on? | yes | no")
	p := d.waitPrompt("main-monitor-1-m")
	for i := range 4 {
		id := wire.MessageID(fmt.Sprint("big", i))
		d.sendText(firstMonitor, id, "/say huge")
		if e := d.waitTurnEnd(id); e.Outcome != wire.OutcomeFailed || !strings.Contains(e.Reason, "too large") {
			t.Errorf("%s ended with %+v, want outcome %s because it is too large", id, e, wire.OutcomeFailed)
		}
	}
	d.send("", wire.UserPromptResponse{PromptID: p.ID, SelectedValues: []string{"yes"}})
	if e := d.waitTurnEnd("m"); e.Outcome != wire.OutcomeCompleted {
		t.Errorf("the other turn ended with %+v, want outcome %s", e, wire.OutcomeCompleted)
	}
	d.sendText(firstMonitor, "after", "/say all is well")
	if e := d.waitTurnEnd("after"); e.Outcome != wire.OutcomeCompleted || d.turnText("after") != "all is well" {
		t.Errorf(`the next turn said %.100q and ended with %+v, want "all is well" and %s`, d.turnText("after"), e, wire.OutcomeCompleted)
	}
}
