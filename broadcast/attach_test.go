package broadcast_test

import (
	"testing"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/wire"
)

func TestFreshTabGetsSnapshotThenEvents(t *testing.T) {
	t.Parallel()
	for _, form := range []broadcast.Form{broadcast.FormNative, broadcast.FormBatch, broadcast.FormSSE} {
		b := newBench(t, broadcast.Config{})
		b.show(titles(3)...)
		c := b.attach(broadcast.TabConfig{Form: form})
		s := c.greeting()
		if s.Mode != wire.StateSnapshot || s.Reason != wire.SnapshotFresh || s.LastMessageID != b.Head() {
			t.Errorf("form %d: greeted with %+v", form, s)
		}
		c.expect(b.show(titles(5)...)...)
		c.expect(b.show(title(9))...)
	}
}

func TestResume(t *testing.T) {
	t.Parallel()
	for _, form := range []broadcast.Form{broadcast.FormNative, broadcast.FormBatch, broadcast.FormSSE} {
		b := newBench(t, broadcast.Config{})
		all := b.show(titles(300)...)
		c := b.attach(broadcast.TabConfig{Form: form, ResumeFrom: all[9].At.String()})
		s := c.greeting()
		if s.Mode != wire.StateResume || s.ReplayUntil != b.Head() {
			t.Errorf("form %d: greeted with %+v", form, s)
		}
		c.expect(all[10:]...)
		more := b.show(titles(50)...)
		c.expect(more...)
		d := b.attach(broadcast.TabConfig{Form: form, ResumeFrom: more[9].At.String()})
		if s := d.greeting(); s.Mode != wire.StateResume || s.ReplayUntil != b.Head() {
			t.Errorf("form %d: greeted with %+v", form, s)
		}
		d.expect(more[10:]...)
	}
}
