package session_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

func moveInteraction(x float64) wire.UserInteractions {
	return wire.UserInteractions{Interactions: []wire.UserInteraction{{
		Type: wire.DidMoveWindow, WindowID: "win", Bounds: &wire.Bounds{X: x, Y: 2, W: 300, H: 200},
	}}}
}

// windowPositions returns the positions of the window in events.
func windowPositions(events []wire.Event) []float64 {
	var all []float64
	for _, a := range payloads[wire.Actions](events) {
		for _, action := range a.Actions {
			if m, is := action.(wire.WindowMove); is {
				all = append(all, m.X)
			}
		}
	}
	return all
}

func TestWindowMovesAreCoalesced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		h, _ := startHub(t, s, "a", session.Config{})
		createSession(t, h, "ses-1")
		r := openHandle(t, h, "ses-1")
		deliverAndWait(t, r, command("c", "e", emit(window("win"))))
		for x := 100; x < 150; x++ { // 500 ms at 100 Hz
			deliver(t, r, command("c", "", moveInteraction(float64(x))))
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Second)
		got := windowPositions(readLog(t, s))
		if len(got) < 5 || len(got) > 7 || got[0] != 100 || got[len(got)-1] != 149 {
			t.Errorf("50 moves within 500 ms were emitted as %v, want 5 to 7 positions from 100 to 149", got)
		}
		n := len(readLog(t, s))
		deliver(t, r, command("c", "", moveInteraction(149)))
		time.Sleep(time.Second)
		if len(readLog(t, s)) != n {
			t.Errorf("got %d events after a move to the same position, want %d", len(readLog(t, s)), n)
		}
		// A pending position is emitted before other changes of the window.
		deliver(t, r, command("c", "", moveInteraction(200)))
		deliver(t, r, command("c", "", moveInteraction(201)))
		deliverAndWait(t, r, command("c", "e2", emit(wire.WindowSetTitle{WindowID: "win", Title: "x"})))
		if got := windowPositions(readLog(t, s)); got[len(got)-1] != 201 {
			t.Errorf("before the title changed the window was at %v, want 201 as the last", got)
		}
		deliver(t, r, command("c", "", moveInteraction(202)))
		synctest.Wait() // a command that the owner has not begun is for the next one
		h.Drain(t.Context())
		if got := windowPositions(readLog(t, s)); got[len(got)-1] != 202 {
			t.Errorf("when the session was handed over the window was at %v, want 202 as the last", got)
		}
	})
}

func TestDormantSessionsAreUnloaded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		h, _ := startHub(t, s, "a", session.Config{DormantAfter: time.Minute})
		createSession(t, h, "ses-1")
		r := openHandle(t, h, "ses-1")
		deliverAndWait(t, r, command("c", "e", emit(window("win"))))
		time.Sleep(time.Hour)
		if i, err := s.Session(t.Context(), "ses-1"); err != nil || i.Owner != "a" {
			t.Errorf("a session that is held is %+v, %v, want the owner a", i, err)
		}
		r.Close()
		time.Sleep(30 * time.Second)
		again, err := h.Open(t.Context(), "ses-1")
		requireNoError(t, err)
		time.Sleep(time.Minute)
		again.Close()
		time.Sleep(59 * time.Second)
		if i, err := s.Session(t.Context(), "ses-1"); err != nil || i.Owner != "a" {
			t.Errorf("a session that was used a minute ago is %+v, %v, want the owner a", i, err)
		}
		time.Sleep(2 * time.Second)
		if i, err := s.Session(t.Context(), "ses-1"); err != nil || i.Owner != "" {
			t.Errorf("a dormant session is %+v, %v, want no owner", i, err)
		}
		back := openHandle(t, h, "ses-1")
		state, err := back.Snapshot(t.Context(), nil)
		requireNoError(t, err)
		if len(state.Windows) != 1 {
			t.Errorf("a session that comes back has the windows %+v, want 1", state.Windows)
		}
	})
}

// A session that becomes dormant is packed if all replicas can read packs. One that is handed over is
// not.
func TestDormantSessionsArePacked(t *testing.T) {
	t.Parallel()
	for _, may := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			m := &faultStore{testStore: openStore(t)}
			h, _ := startHub(t, m, "a", session.Config{DormantAfter: time.Minute, MayPack: func() bool { return may }})
			for _, id := range []wire.SessionID{"ses-1", "ses-2"} {
				createSession(t, h, id)
				r := openHandle(t, h, id)
				deliverAndWait(t, r, command("c", "e", emit(window("win"))))
				if id == "ses-1" {
					r.Close()
				}
			}
			time.Sleep(2 * time.Minute)
			if i, err := m.Session(t.Context(), "ses-1"); err != nil || i.Owner != "" {
				t.Errorf("a dormant session is %+v, %v, want no owner", i, err)
			}
			h.Drain(t.Context())
			want := int64(0)
			if may {
				want = 1
			}
			if n := m.packs.Load(); n != want {
				t.Errorf("with packs allowed %v %d sessions were packed, want %d", may, n, want)
			}
		})
	}
}

// The inbox refuses the lease once the store has released it, before the owner has the answer. The
// session is released all the same and not claimed again.
func TestReleaseThatIsAnsweredLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &faultStore{testStore: openStore(t)}
		h, _ := startHub(t, m, "a", session.Config{DormantAfter: time.Minute})
		createSession(t, h, "ses-1")
		openHandle(t, h, "ses-1").Close()
		claims := 0
		m.setHooks(hooks{
			claimed:  func(store.Lease, error) error { claims++; return nil },
			released: func() { time.Sleep(time.Second) },
		})
		time.Sleep(2 * time.Minute)
		if i, err := m.Session(t.Context(), "ses-1"); err != nil || i.Owner != "" || claims != 0 {
			t.Errorf("a released session is %+v, %v and was claimed %d times again, want no owner and 0", i, err, claims)
		}
	})
}

// Sessions that become dormant at the same time are packed one after the other.
func TestPackingIsSpread(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const sessions = 30
		m := &faultStore{testStore: openStore(t)}
		h, _ := startHub(t, m, "a", session.Config{DormantAfter: time.Minute})
		var handles []*session.Handle
		for i := range sessions {
			id := wire.SessionID("ses-" + strconv.Itoa(i))
			createSession(t, h, id)
			handles = append(handles, openHandle(t, h, id))
		}
		for _, r := range handles {
			r.Close()
		}
		time.Sleep(time.Minute + 105*time.Millisecond)
		if n := m.packs.Load(); n < 1 || n > 11 {
			t.Errorf("%d sessions were packed within 105 ms, want at most 11", n)
		}
		time.Sleep(time.Second)
		if n := m.packs.Load(); n != sessions {
			t.Errorf("%d sessions were packed, want %d", n, sessions)
		}
	})
}

// A session with an open question stays owned without handles.
func TestWorkKeepsASessionLoaded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		h, _ := startHub(t, s, "a", session.Config{DormantAfter: time.Second})
		createSession(t, h, "ses-1")
		r := openHandle(t, h, "ses-1")
		deliverAndWait(t, r, command("c", "e", emit(wire.DialogConfirm{ID: "d"})))
		r.Close()
		time.Sleep(50 * time.Second)
		if i, err := s.Session(t.Context(), "ses-1"); err != nil || i.Owner != "a" {
			t.Errorf("a session with work is %+v, %v, want the owner a", i, err)
		}
		waitLogged(t, s, "ses-1", anyOf[wire.DialogClosed])
		time.Sleep(2 * time.Second)
		if i, err := s.Session(t.Context(), "ses-1"); err != nil || i.Owner != "" || i.Working {
			t.Errorf("a session without work is %+v, %v, want no owner and no work", i, err)
		}
	})
}

// The owner of an open question dies. No replica has the session open, but the sweeper of another
// replica claims it, and the question expires in time.
func TestSweeperClaimsUnownedSessions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, stop := startHub(t, s, "a", session.Config{})
		createSession(t, a, "ses-1")
		r, err := a.Open(t.Context(), "ses-1")
		requireNoError(t, err)
		deliverAndWait(t, r, command("c", "e", emit(wire.DialogConfirm{ID: "d"})))
		began := time.Now()
		stop() // without handing over
		_, _ = startHub(t, s, "b", session.Config{SweepEvery: 500 * time.Millisecond})
		owner := waitLogged(t, s, "ses-1", func(o wire.OwnerChanged) bool { return o.Replica == "b" })
		if took := time.Since(began); took > 7*time.Second {
			t.Errorf("%s owns the session after %v, want at most 7s", owner.Replica, took)
		}
		if p := waitLogged(t, s, "ses-1", anyOf[wire.DialogClosed]); p.Reason != wire.ClosedExpired {
			t.Errorf("the dialog is closed with %+v, want %s", p, wire.ClosedExpired)
		}
		if took := time.Since(began); took < 59*time.Second || took > 61*time.Second {
			t.Errorf("the dialog was closed after %v, want its minute", took)
		}
	})
}

func TestPresence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		h, _ := startHub(t, s, "a", session.Config{})
		createSession(t, h, "ses-1")
		r := openHandle(t, h, "ses-1")
		time.Sleep(time.Second)
		first := attachTab(t, r, "conn-0")
		synctest.Wait()
		if p := payloads[wire.Presence](readLog(t, s)); len(p) != 1 || p[0].Total != 1 || p[0].Connections[0].ConnectionID != "conn-0" {
			t.Errorf("the first PRESENCE is %+v, want one with conn-0 only", p)
		}
		for i := range 100 {
			attachTab(t, r, wire.ConnectionID(fmt.Sprintf("conn-%d", i+1)))
		}
		time.Sleep(time.Second)
		all := payloads[wire.Presence](readLog(t, s))
		if len(all) != 2 || all[1].Total != 101 || len(all[1].Connections) != 32 || all[1].Connections[0].ConnectionID != "conn-0" {
			t.Errorf("the PRESENCE of a hundred more is %+v, want a second one of 101 connections that lists 32, conn-0 first", all)
		}
		first.detach()
		time.Sleep(time.Second)
		all = payloads[wire.Presence](readLog(t, s))
		if len(all) != 3 || all[2].Total != 100 {
			t.Errorf("the PRESENCE after a detach is %+v, want a third one of 100 connections", all)
		}
	})
}

func TestRetention(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		var retired []wire.SessionID
		h, _ := startHub(t, s, "a", session.Config{
			Retention:    time.Hour,
			BeforeExpiry: func(id wire.SessionID) { retired = append(retired, id) },
		})
		createSession(t, h, "ses-old")
		createSession(t, h, "ses-used")
		r := openHandle(t, h, "ses-used")
		deliverAndWait(t, r, command("c", "e", emit(window("win"))))
		time.Sleep(50 * time.Minute)
		if _, err := h.Info(t.Context(), "ses-old"); err != nil {
			t.Errorf("a session was deleted too early: %v", err)
		}
		time.Sleep(time.Hour)
		if _, err := h.Info(t.Context(), "ses-old"); errorCode(err) != wire.CodeSessionNotFound {
			t.Errorf("an unused session gives %v, want code %s", err, wire.CodeSessionNotFound)
		}
		if _, err := h.Info(t.Context(), "ses-used"); err != nil {
			t.Errorf("a session in use was deleted: %v", err)
		}
		if !slices.Equal(retired, []wire.SessionID{"ses-old"}) {
			t.Errorf("deleted %v, want [ses-old]", retired)
		}
	})
}
