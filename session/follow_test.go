package session_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/redisstore"
	"github.com/everdesk/everdesk/wire"
)

// startPair runs two hubs on one store, the first of which owns the session.
func startPair(t *testing.T, s testStore) (owner, follower *session.Hub, stopOwner func()) {
	t.Helper()
	owner, stopOwner = startHub(t, s, "a", session.Config{})
	follower, _ = startHub(t, s, "b", session.Config{})
	createSession(t, owner, "ses-1")
	return owner, follower, stopOwner
}

// waitPosition waits until a handle's snapshot is at a position.
func waitPosition(t *testing.T, r *session.Handle, at wire.Position) {
	t.Helper()
	for {
		s, err := r.Snapshot(t.Context(), nil)
		requireNoError(t, err)
		if s.LastMessageID.Compare(at) >= 0 {
			return
		}
		select {
		case <-time.After(time.Millisecond):
		case <-t.Context().Done():
			t.Fatalf("the snapshot stays at %v, want %v", s.LastMessageID, at)
		}
	}
}

// fillDesktop makes a desktop with something of every kind.
func fillDesktop(t *testing.T, r *session.Handle) {
	t.Helper()
	deliverAndWait(t, r, command("c", "f1", emit(
		window("one"), window("two & <three>"), wire.WindowMaximize{WindowID: "one"},
		wire.WindowLock{WindowID: "one", AgentID: "main-monitor-0-m"},
		wire.DialogConfirm{ID: "d", Title: "Sure?"}, wire.PromptShow{Prompt: wire.Prompt{ID: "p", Title: "What?"}},
		wire.ToastShow{Toast: wire.Toast{ID: "t", Message: "x", Duration: 3_600_000}},
		wire.NotificationShow{Notification: wire.Notification{ID: "n", Title: "x"}},
		wire.AppBadge{AppID: "mail", Count: 3},
		wire.CreateShortcut{Shortcut: wire.Shortcut{ID: "s", Label: "Notes", Icon: "n", Type: wire.ShortcutURL, Target: "x"}},
	)))
	deliverAndWait(t, r, command("c", "f2", wire.UserMessage{Content: "hello 안녕", MonitorID: "monitor-1"}))
	deliverAndWait(t, r, command("c", "f3", emit(wire.WindowUpdateContent{
		WindowID: "two & <three>", Operation: wire.UpdateAppend{Data: []byte(`" more"`)},
	})))
}

func TestFollowerHasTheSameState(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	a, b, _ := startPair(t, s)
	owner := openHandle(t, a, "ses-1")
	fillDesktop(t, owner)
	follower := openHandle(t, b, "ses-1") // loads a part of the state
	w := attachTab(t, follower, "conn-b")
	nextEvent(t, w, anyOf[wire.SessionState])
	deliver(t, owner, command("c", "", wire.UserInteractions{Interactions: []wire.UserInteraction{
		{Type: wire.DidMinimizeWindow, WindowID: "two & <three>"},
		{Type: wire.DidMoveWindow, WindowID: "one", Bounds: &wire.Bounds{X: 9, Y: 9.5, W: 10, H: 1e5}},
	}}))
	waitLogged(t, s, "ses-1", func(p wire.Presence) bool { return p.Total == 1 }) // the follower's tab
	at := deliverBarrier(t, owner)                                                // and gets the rest as events
	waitPosition(t, follower, at)
	for _, monitors := range [][]wire.MonitorID{nil, {"monitor-1"}, {"monitor-0", "monitor-1"}} {
		if x, y := snapshotBytes(t, owner, monitors...), snapshotBytes(t, follower, monitors...); !bytes.Equal(x, y) {
			t.Errorf("snapshots of %v differ, want the same:\n%s\n%s", monitors, x, y)
		}
	}
	nextEvent(t, w, func(p wire.Actions) bool { _, is := p.Actions[0].(wire.RefreshApps); return is })
}

func TestCommandsReachTheOwnerElsewhere(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	a, b, _ := startPair(t, s)
	owner, follower := openHandle(t, a, "ses-1"), openHandle(t, b, "ses-1")
	w := attachTab(t, follower, "conn-b")
	other := attachTab(t, owner, "conn-a")
	deliver(t, follower, command("conn-b", "m1", emit(window("win"))))
	if e := nextEvent(t, w, anyOf[wire.Emitted]); e.MessageID != "m1" {
		t.Errorf("the sender gets %+v, want the reply to m1", e)
	}
	got := deliverAndWait(t, follower, command("conn-b", "m2", emit(wire.WindowFocus{WindowID: "no"})))
	if p, is := got.Data.(wire.MessageRejected); !is || p.To != "conn-b" {
		t.Errorf("the refusal is %+v, want a rejection to conn-b", got.Data)
	}
	if e := nextEvent(t, w, anyOf[wire.ErrorNotice]); e.MessageID != "m2" {
		t.Errorf("the sender gets %+v, want the error of m2", e)
	}
	// The same message through both replicas is one message.
	hello := wire.UserMessage{Content: "hello"}
	waitPosition(t, follower, deliverAndWait(t, owner, command("conn-a", "m3", hello)).At)
	again := deliverAndWait(t, follower, command("conn-b", "m3", hello))
	if p, is := again.Data.(wire.MessageRejected); !is || !p.Duplicate {
		t.Errorf("the same message elsewhere is answered with %+v, want a duplicate", again.Data)
	}
	conflict := deliverAndWait(t, follower, command("conn-b", "m3", wire.UserMessage{Content: "other"}))
	if p, is := conflict.Data.(wire.MessageRejected); !is || p.Code != wire.CodeSessionInvalidState || p.To != "conn-b" {
		t.Errorf("another message with the same id is answered with %+v, want code %s to conn-b", conflict.Data, wire.CodeSessionInvalidState)
	}
	nextEvent(t, other, anyOf[wire.MessageUpdated])
	if rows := payloads[wire.MessageUpdated](readLog(t, s)); len(rows) != 1 {
		t.Errorf("the conversation has %d rows, want 1", len(rows))
	}
	requireNoError(t, b.Rename(t.Context(), "ses-1", "Elsewhere"))
	requireNoError(t, b.Share(t.Context(), "ses-1", "bob", session.ShareViewer))
	i, err := a.Info(t.Context(), "ses-1")
	requireNoError(t, err)
	if i.Title != "Elsewhere" || i.Shares["bob"] != session.ShareViewer {
		t.Errorf("after orders from elsewhere the session is %+v, want the title Elsewhere, shared with bob as %s", i, session.ShareViewer)
	}
	nextEvent(t, w, func(p wire.SessionRenamed) bool { return p.Title == "Elsewhere" })
}

func TestPresenceOfAllReplicas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, b, _ := startPair(t, s)
		owner, follower := openHandle(t, a, "ses-1"), openHandle(t, b, "ses-1")
		attachTab(t, owner, "conn-a")
		w := attachTab(t, follower, "conn-b")
		time.Sleep(2 * time.Second)
		state, err := follower.Snapshot(t.Context(), nil)
		requireNoError(t, err)
		if state.Connections != 2 || len(state.Presence) != 2 {
			t.Errorf("present are %d connections: %+v, want 2", state.Connections, state.Presence)
		}
		events := len(readLog(t, s))
		time.Sleep(10 * time.Minute)
		if now := len(readLog(t, s)); now != events {
			t.Errorf("while nothing happened %d events were added, want 0", now-events)
		}
		w.detach()
		time.Sleep(time.Second)
		if state, err = owner.Snapshot(t.Context(), nil); err != nil || state.Connections != 1 {
			t.Errorf("after one left %d are present, %v, want 1", state.Connections, err)
		}
	})
}

// The owner dies. A replica with a tab takes the session over, and the tab sees an OWNER_CHANGED
// and nothing else.
func TestFollowerTakesOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, b, stop := startPair(t, s)
		owner, err := a.Open(t.Context(), "ses-1")
		requireNoError(t, err)
		follower := openHandle(t, b, "ses-1")
		w := attachTab(t, follower, "conn-b")
		fillDesktop(t, owner)
		time.Sleep(time.Second)
		before := snapshotBytes(t, follower)
		stop()
		began := time.Now()
		// Commands wait for the new owner.
		got := deliverAndWait(t, follower, command("conn-b", "m1", emit(wire.WindowFocus{WindowID: "two & <three>"})))
		if _, is := got.Data.(wire.Actions); !is {
			t.Errorf("the command is answered with %+v, want Actions", got.Data)
		}
		if took := time.Since(began); took > 7*time.Second {
			t.Errorf("events flow again after %v, want at most 7s", took)
		}
		nextEvent(t, w, func(p wire.OwnerChanged) bool { return p.Replica == "b" })
		nextEvent(t, w, func(p wire.Emitted) bool { return p.MessageID == "m1" })
		if bytes.Equal(before, snapshotBytes(t, follower)) {
			t.Error("got the old state from the new owner, want the new one")
		}
		// The deadline of the dialog stays.
		closed := nextEvent(t, w, anyOf[wire.DialogClosed])
		if took := time.Since(began); closed.Reason != wire.ClosedExpired || took < 50*time.Second || took > time.Minute {
			t.Errorf("the dialog is closed after %v with %+v, want %s after 50s to 1m", took, closed, wire.ClosedExpired)
		}
		time.Sleep(time.Minute)
		state, err := follower.Snapshot(t.Context(), nil)
		requireNoError(t, err)
		if state.Connections != 1 || state.Owner != "b" {
			t.Errorf("after a minute the state is %+v, want 1 connection and the owner b", state)
		}
	})
}

func TestDrainHandsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, b, _ := startPair(t, s)
		owner, follower := openHandle(t, a, "ses-1"), openHandle(t, b, "ses-1")
		wa, wb := attachTab(t, owner, "conn-a"), attachTab(t, follower, "conn-b")
		fillDesktop(t, owner)
		began := time.Now()
		a.Drain(t.Context())
		nextEvent(t, wb, func(p wire.OwnerChanged) bool { return p.Replica == "b" })
		nextEvent(t, wa, func(p wire.OwnerChanged) bool { return p.Replica == "b" })
		if took := time.Since(began); took > time.Second {
			t.Errorf("a hand-over takes %v, want at most 1s", took)
		}
		if _, err := a.Open(t.Context(), "ses-1"); errorCode(err) != wire.CodeStoreUnavailable {
			t.Errorf("opening a session on a draining hub gives %v, want code %s", err, wire.CodeStoreUnavailable)
		}
		// The tab of the drained replica continues through the new owner.
		deliver(t, owner, command("conn-a", "m1", emit(window("late"))))
		nextEvent(t, wa, func(p wire.Emitted) bool { return p.MessageID == "m1" })
		nextEvent(t, wb, func(p wire.Actions) bool { return p.MessageID == "m1" })
	})
}

func TestDeleteClosesTabsEverywhere(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"owner", "follower"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			s := openStore(t)
			a, b, _ := startPair(t, s)
			owner, follower := openHandle(t, a, "ses-1"), openHandle(t, b, "ses-1")
			tabs := []*tab{attachTab(t, owner, "conn-a"), attachTab(t, follower, "conn-b")}
			hub := map[string]*session.Hub{"owner": a, "follower": b}[by]
			requireNoError(t, hub.Delete(t.Context(), "ses-1"))
			for _, w := range tabs {
				if c := <-w.closed; c != wire.CloseExpired {
					t.Errorf("a tab is closed with %d, want %d", c, wire.CloseExpired)
				}
			}
			if _, err := a.Open(t.Context(), "ses-1"); errorCode(err) != wire.CodeSessionNotFound {
				t.Errorf("opening a deleted session gives %v, want code %s", err, wire.CodeSessionNotFound)
			}
			if err := owner.Deliver(t.Context(), command("c", "m", emit(window("w")))); err == nil {
				t.Error("got no error for a command to a deleted session, want one")
			}
			createSession(t, a, "ses-1") // the id can be used again
			deliverAndWait(t, openHandle(t, b, "ses-1"), command("c", "m", emit(window("w"))))
		})
	}
}

// Two replicas on Redis, with real time.
func TestTwoReplicasOnRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Standalone(t)
	open := func() *redisstore.Sessions {
		client := server.Client(t)
		s, err := redisstore.Open(t.Context(), client, redisstore.Config{})
		requireNoError(t, err)
		t.Cleanup(func() { requireNoError(t, s.Close()) })
		return s.Sessions
	}
	sa, sb := open(), open()
	cfg := session.Config{Lease: 3 * time.Second} // long enough for a busy machine to renew in time
	a, stop := startHub(t, sa, "a", cfg)
	b, _ := startHub(t, sb, "b", cfg)
	createSession(t, a, "ses-1")
	owner, err := a.Open(t.Context(), "ses-1")
	requireNoError(t, err)
	follower := openHandle(t, b, "ses-1")
	w := attachTab(t, follower, "conn-b")
	fillDesktop(t, owner)
	for i := range 100 {
		id := wire.MessageID(fmt.Sprintf("m%d", i))
		deliver(t, follower, command("conn-b", id, emit(wire.AppBadge{AppID: "n", Count: uint64(i)})))
		if e := nextEvent(t, w, anyOf[wire.Emitted]); e.MessageID != id {
			t.Fatalf("answer %d is %+v, want the reply to %s", i, e, id)
		}
	}
	waitPosition(t, follower, deliverBarrier(t, owner))
	for x, y := []byte(nil), []byte{1}; !bytes.Equal(x, y); {
		// A PRESENCE may come in between.
		x, y = snapshotBytes(t, owner), snapshotBytes(t, follower)
		if t.Context().Err() != nil {
			t.Fatalf("snapshots still differ, want the same:\n%s\n%s", x, y)
		}
	}
	stop()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if _, err := follower.DeliverAndWait(ctx, command("conn-b", "after", emit(window("late")))); err != nil {
		t.Fatalf("no replica took over: %v", err)
	}
	nextEvent(t, w, func(p wire.OwnerChanged) bool { return p.Replica == "b" })
	nextEvent(t, w, func(p wire.Emitted) bool { return p.MessageID == "after" })
}

// An event type of a newer hub is published, and the session continues after it.
func TestFollowerPublishesUnknownEvents(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	b, _ := startHub(t, s, "b", session.Config{})
	createSession(t, b, "ses-1")
	lease, err := s.Claim(t.Context(), "ses-1", "newer", time.Hour)
	requireNoError(t, err)
	r := openHandle(t, b, "ses-1")
	event := func(seq uint64, kind string) []byte {
		return fmt.Appendf(nil, `{"type":%q,"session_id":"ses-1","message_id":"%d-%d","timestamp":"2026-01-01T00:00:00.000Z","data":{"title":"New"}}`,
			kind, lease.Epoch, seq)
	}
	receipt, err := s.Commit(t.Context(), lease, store.Batch{
		Number: 1, Prev: lease.Top(), Events: [][]byte{event(1, "FUTURE"), event(2, "SESSION_RENAMED")},
	})
	requireNoError(t, err)
	waitPosition(t, r, receipt.Top)
	state, err := r.Snapshot(t.Context(), nil)
	requireNoError(t, err)
	if state.Title != "New" || state.LastMessageID != receipt.Top || state.Owner != "newer" {
		t.Errorf("after an unknown event the state is %+v, want the title New at %v with the owner newer", state, receipt.Top)
	}
	page, err := r.Read(t.Context(), lease.Top(), 10)
	requireNoError(t, err)
	if len(page) != 2 || page[0].At.Seq != 1 {
		t.Errorf("the log reads %+v, want 2 events, the first with sequence number 1", page)
	}
}
