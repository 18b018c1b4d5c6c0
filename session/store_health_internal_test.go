package session

import (
	"log/slog"
	"testing"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

// What breaks while somebody looks at a session that waits for its store breaks
// neither the hub nor what the session waits for.
func TestMeanwhileBreaks(t *testing.T) {
	t.Parallel()
	k := &liveSession{mailbox: newMailbox(), log: slog.New(slog.DiscardHandler)}
	nowhere := make(chan wire.SessionState)
	close(nowhere) // so that whoever answers panics
	if err := k.mailbox.requestSnapshot(snapshotRequest{reply: nowhere}); err != nil {
		t.Fatal(err)
	}
	done := false
	k.serveSnapshotsDuring(&desktop.State{}, func() { done = true })
	if !done {
		t.Error("what was to be done was not")
	}
}
