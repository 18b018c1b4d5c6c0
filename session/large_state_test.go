package session_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// largeWindows opens windows of about a megabyte each.
func largeWindows(t *testing.T, r *session.Handle, n int) {
	t.Helper()
	for i := range n {
		win := window(wire.WindowID(fmt.Sprintf("w%d", i)))
		win.Content = wire.TextContent{Data: strings.Repeat("x", 1_000_000)}
		deliverAndWait(t, r, command("c", wire.MessageID(fmt.Sprintf("open-%d", i)), emit(win)))
	}
}

// Moving many large windows, and appending a word to each, makes many small commits and not one
// that is too large for the store.
func TestLargeWindowsInSmallCommits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openFaultStore(t)
		h, _ := startHub(t, m, "a", session.Config{})
		createSession(t, h, "ses-1")
		r := openHandle(t, h, "ses-1")
		w := attachTab(t, r, "tab")
		largeWindows(t, r, 10)
		before, err := m.Session(t.Context(), "ses-1")
		requireNoError(t, err)
		for round := range 3 {
			for i := range 20 {
				deliver(t, r, command("c", "", wire.UserInteractions{Interactions: []wire.UserInteraction{{
					Type: wire.DidMoveWindow, WindowID: wire.WindowID(fmt.Sprintf("w%d", i%10)),
					Bounds: &wire.Bounds{X: float64(10 + round*20 + i), Y: 1, W: 300, H: 200},
				}}}))
			}
			for i := range 10 {
				deliver(t, r, command("c", "", emit(wire.WindowUpdateContent{
					WindowID: wire.WindowID(fmt.Sprintf("w%d", i)), Operation: wire.UpdateAppend{Data: []byte(`"y"`)},
				})))
			}
			time.Sleep(5 * time.Second)
		}
		deliverBarrier(t, r)
		select {
		case c := <-w.closed:
			t.Errorf("the tab was closed with %d, want it open", c)
		default:
		}
		after, err := m.Session(t.Context(), "ses-1")
		requireNoError(t, err)
		if after.Epoch != before.Epoch {
			t.Errorf("the epoch was %d and is %d, want the same, without another load", before.Epoch, after.Epoch)
		}
		now, err := r.Snapshot(t.Context(), nil)
		requireNoError(t, err)
		for _, win := range now.Windows {
			text, is := win.Content.(wire.TextContent)
			if !is || !strings.HasSuffix(text.Data, "xyyy") || win.Bounds.X < 60 {
				t.Errorf(`window %s is at %v and ends with %q, want 60 or more and "xyyy"`, win.WindowID, win.Bounds.X, text.Data[len(text.Data)-5:])
			}
		}
	})
}

// The state of a session is bounded.
func TestFullDesktop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openFaultStore(t)
		h, _ := startHub(t, m, "a", session.Config{})
		createSession(t, h, "ses-1")
		r := openHandle(t, h, "ses-1")
		largeWindows(t, r, 20)
		now, err := r.Snapshot(t.Context(), nil)
		requireNoError(t, err)
		if n := len(now.Windows); n != 16 {
			t.Errorf("%d windows of a megabyte are open, want 16", n)
		}
		if p := waitRejection(t, m, "open-19"); p.Code != wire.CodeSessionInvalidState {
			t.Errorf("the last one was answered %+v, want code %s", p, wire.CodeSessionInvalidState)
		}
	})
}

// The text of a window that was appended to is the same at the owner, at followers, and at the next
// owner, which loads it from the store in pieces.
func TestAppendedTextMovesWithTheSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, b, stop := startPair(t, s)
		owner, err := a.Open(t.Context(), "ses-1")
		requireNoError(t, err)
		win := window("w")
		win.Content = wire.TextContent{Data: strings.Repeat("x", 100_000)}
		deliver(t, owner, command("c", "", emit(win)))
		want := strings.Repeat("x", 100_000)
		appendText := func(r *session.Handle, text string) {
			deliver(t, r, command("c", "", emit(wire.WindowUpdateContent{
				WindowID: "w", Operation: wire.UpdateAppend{Data: fmt.Appendf(nil, "%q", text)},
			})))
			want += text
		}
		check := func(what string, r *session.Handle) {
			t.Helper()
			now, err := r.Snapshot(t.Context(), nil)
			requireNoError(t, err)
			if got := now.Windows[0].Content.(wire.TextContent).Data; got != want {
				t.Errorf("%s has a text of %d bytes, want the %d that were written", what, len(got), len(want))
			}
		}
		for i := range 300 {
			appendText(owner, fmt.Sprintf("line %d: %s", i, strings.Repeat("한", 30)))
			if i == 150 {
				time.Sleep(time.Second)
			}
		}
		deliverBarrier(t, owner)
		stored, err := s.Load(t.Context(), "ses-1")
		requireNoError(t, err)
		if n := len(stored.Tables["pieces"]); n < 2 {
			t.Errorf("the store has %d pieces, want 2 or more", n)
		}
		follower := openHandle(t, b, "ses-1")
		check("the owner", owner)
		check("the follower", follower)
		appendText(owner, "one more")
		deliverBarrier(t, owner)
		time.Sleep(time.Second)
		check("the follower after an event", follower)
		stop()
		appendText(follower, "and the last")
		deliverBarrier(t, follower)
		check("the next owner", follower)
	})
}
