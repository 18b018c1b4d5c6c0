package session_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

func drag(x float64) wire.UserInteractions {
	return wire.UserInteractions{Interactions: []wire.UserInteraction{{
		Type: wire.DidMoveWindow, WindowID: "win", Bounds: &wire.Bounds{X: x, Y: 2, W: 300, H: 200},
	}}}
}

// places returns where the window was told to be.
func places(events []wire.Event) []float64 {
	var all []float64
	for _, a := range find[wire.Actions](events) {
		for _, action := range a.Actions {
			if m, is := action.(wire.WindowMove); is {
				all = append(all, m.X)
			}
		}
	}
	return all
}

func TestGeometryIsCompacted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		h, _ := startHub(t, s, "a", session.Config{})
		create(t, h, "ses-1")
		r := enter(t, h, "ses-1")
		ask(t, r, says("c", "e", emit(window("win"))))
		for x := 100; x < 150; x++ { // 500 ms at 100 Hz
			deliver(t, r, says("c", "", drag(float64(x))))
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Second)
		got := places(history(t, s))
		if len(got) < 5 || len(got) > 7 || got[0] != 100 || got[len(got)-1] != 149 {
			t.Errorf("50 moves within 500 ms were told as %v", got)
		}
		n := len(history(t, s))
		deliver(t, r, says("c", "", drag(149)))
		time.Sleep(time.Second)
		if len(history(t, s)) != n {
			t.Error("a window that is moved to where it is was told")
		}
		// A pending place comes before what else happens to the window.
		deliver(t, r, says("c", "", drag(200)))
		deliver(t, r, says("c", "", drag(201)))
		ask(t, r, says("c", "e2", emit(wire.WindowSetTitle{WindowID: "win", Title: "x"})))
		if got := places(history(t, s)); got[len(got)-1] != 201 {
			t.Errorf("before the title changed the window was at %v", got)
		}
		deliver(t, r, says("c", "", drag(202)))
		h.Drain(t.Context())
		if got := places(history(t, s)); got[len(got)-1] != 202 {
			t.Errorf("when the session was handed over the window was at %v", got)
		}
	})
}

func TestDormantSessionsAreUnloaded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		h, _ := startHub(t, s, "a", session.Config{DormantAfter: time.Minute})
		create(t, h, "ses-1")
		r := enter(t, h, "ses-1")
		ask(t, r, says("c", "e", emit(window("win"))))
		time.Sleep(time.Hour)
		if i, err := s.Session(t.Context(), "ses-1"); err != nil || i.Owner != "a" {
			t.Errorf("a session that is held is %+v, %v", i, err)
		}
		r.Close()
		time.Sleep(30 * time.Second)
		again, err := h.Open(t.Context(), "ses-1")
		ok(t, err)
		time.Sleep(time.Minute)
		again.Close()
		time.Sleep(59 * time.Second)
		if i, err := s.Session(t.Context(), "ses-1"); err != nil || i.Owner != "a" {
			t.Errorf("a session that was used a minute ago is %+v, %v", i, err)
		}
		time.Sleep(2 * time.Second)
		if i, err := s.Session(t.Context(), "ses-1"); err != nil || i.Owner != "" {
			t.Errorf("a dormant session is %+v, %v", i, err)
		}
		back := enter(t, h, "ses-1")
		state, err := back.Snapshot(t.Context(), nil)
		ok(t, err)
		if len(state.Windows) != 1 {
			t.Errorf("a session that comes back has the windows %+v", state.Windows)
		}
	})
}

// A session with an open question stays owned although nobody looks.
func TestWorkKeepsASessionLoaded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		h, _ := startHub(t, s, "a", session.Config{DormantAfter: time.Second})
		create(t, h, "ses-1")
		r := enter(t, h, "ses-1")
		ask(t, r, says("c", "e", emit(wire.DialogConfirm{ID: "d"})))
		r.Close()
		time.Sleep(50 * time.Second)
		if i, err := s.Session(t.Context(), "ses-1"); err != nil || i.Owner != "a" {
			t.Errorf("a session with work is %+v, %v", i, err)
		}
		await(t, s, "ses-1", any1[wire.DialogClosed])
		time.Sleep(2 * time.Second)
		if i, err := s.Session(t.Context(), "ses-1"); err != nil || i.Owner != "" || i.Working {
			t.Errorf("a session without work is %+v, %v", i, err)
		}
	})
}

// The owner of an open question dies. Nobody has the session open, but the
// sweeper of another replica finds it, and the question ends in time.
func TestSweeperTakesWhatNobodyOwns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, stop := startHub(t, s, "a", session.Config{})
		create(t, a, "ses-1")
		r, err := a.Open(t.Context(), "ses-1")
		ok(t, err)
		ask(t, r, says("c", "e", emit(wire.DialogConfirm{ID: "d"})))
		began := time.Now()
		stop() // without handing anything over
		_, _ = startHub(t, s, "b", session.Config{SweepEvery: 500 * time.Millisecond})
		owner := await(t, s, "ses-1", func(o wire.OwnerChanged) bool { return o.Replica == "b" })
		if took := time.Since(began); took > 7*time.Second {
			t.Errorf("%s owns the session after %v", owner.Replica, took)
		}
		if p := await(t, s, "ses-1", any1[wire.DialogClosed]); p.Reason != wire.ClosedExpired {
			t.Errorf("the dialog is closed with %+v", p)
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
		create(t, h, "ses-1")
		r := enter(t, h, "ses-1")
		time.Sleep(time.Second)
		first := watch(t, r, "conn-0")
		synctest.Wait()
		if p := find[wire.Presence](history(t, s)); len(p) != 1 || p[0].Total != 1 || p[0].Connections[0].ConnectionID != "conn-0" {
			t.Errorf("the first tab is told at once as %+v", p)
		}
		for i := range 100 {
			watch(t, r, wire.ConnectionID(fmt.Sprintf("conn-%d", i+1)))
		}
		time.Sleep(time.Second)
		all := find[wire.Presence](history(t, s))
		if len(all) != 2 || all[1].Total != 101 || len(all[1].Connections) != 32 || all[1].Connections[0].ConnectionID != "conn-0" {
			t.Errorf("a hundred more are told as %+v", all)
		}
		first.leave()
		time.Sleep(time.Second)
		all = find[wire.Presence](history(t, s))
		if len(all) != 3 || all[2].Total != 100 {
			t.Errorf("one that leaves is told as %+v", all)
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
		create(t, h, "ses-old")
		create(t, h, "ses-used")
		r := enter(t, h, "ses-used")
		ask(t, r, says("c", "e", emit(window("win"))))
		time.Sleep(50 * time.Minute)
		if _, err := h.Info(t.Context(), "ses-old"); err != nil {
			t.Errorf("a session was deleted too early: %v", err)
		}
		time.Sleep(time.Hour)
		if _, err := h.Info(t.Context(), "ses-old"); code(err) != wire.CodeSessionNotFound {
			t.Errorf("a session nobody used is still there: %v", err)
		}
		if _, err := h.Info(t.Context(), "ses-used"); err != nil {
			t.Errorf("a session in use was deleted: %v", err)
		}
		if !slices.Equal(retired, []wire.SessionID{"ses-old"}) {
			t.Errorf("told of %v", retired)
		}
	})
}
