package session

import (
	"log/slog"
	"testing"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

// A panic while snapshots are served for a session that waits for its store affects neither the hub
// nor the wait.
func TestPanicWhileServingSnapshots(t *testing.T) {
	t.Parallel()
	source := &tabSource{mailbox: newMailbox(), log: slog.New(slog.DiscardHandler)}
	nowhere := make(chan wire.SessionState)
	close(nowhere) // so that sending the answer panics
	if err := source.mailbox.requestSnapshot(snapshotRequest{reply: nowhere}); err != nil {
		t.Fatal(err)
	}
	done := false
	source.serveSnapshotsDuring(&desktop.State{}, func() { done = true })
	if !done {
		t.Error("got no call of the function, want one")
	}
}
