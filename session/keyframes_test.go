package session_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/wire"
)

// foldFilm returns the hash of the state that the film of a session ends with, and the number of its
// events.
func foldFilm(t *testing.T, h *session.Hub, log session.Log, id wire.SessionID) (start session.FilmStart, hash string, events int) {
	t.Helper()
	start, known, err := h.FilmStart(t.Context(), id)
	requireNoError(t, err)
	if !known {
		t.Fatal("the beginning of the film is not known, want a keyframe or the whole log")
	}
	state := desktop.New(id)
	if start.State != nil {
		state.Apply(wire.Event{Session: id, Data: *start.State})
	}
	for after := start.After; ; {
		page, err := log.Read(t.Context(), id, after, 1000)
		requireNoError(t, err)
		if len(page) == 0 {
			return start, state.Hash(), events
		}
		for _, e := range page {
			event, err := wire.Native{}.DecodeEvent(e.Frame)
			requireNoError(t, err)
			state.Apply(event)
			after = e.At
			events++
		}
	}
}

// A film begins with the session while the log has all of it, and later with a keyframe. Folding the
// events from there on gives the present state, also after another owner.
func TestFilmBeginsWhereTheLogIsWhole(t *testing.T) {
	t.Parallel()
	s, err := filestore.Open(t.TempDir(), filestore.Config{Sync: filestore.SyncOff, Limits: store.Limits{LogEvents: 2000}})
	requireNoError(t, err)
	t.Cleanup(func() { requireNoError(t, s.Close()) })
	joined := joinFile(s)
	h, stop := startHub(t, joined, "a", session.Config{})
	const id = "ses-1"
	createSession(t, h, id)
	r := openHandle(t, h, id)
	deliverAndWait(t, r, command("c", "first", emit(window("first"))))
	check := func(when string) session.FilmStart {
		t.Helper()
		start, hash, events := foldFilm(t, h, joined, id)
		got, err := r.Snapshot(t.Context(), nil)
		requireNoError(t, err)
		if want := desktop.HashOf(got); hash != want {
			t.Errorf("%s: the film of %d events ends with the state %s, want the present one, %s", when, events, hash, want)
		}
		return start
	}
	if start := check("at the beginning"); start.State != nil || !start.After.IsZero() {
		t.Errorf("the film begins after %v, want it to begin with the session", start.After)
	}
	fill := func(part string, n int) {
		t.Helper()
		for i := range n {
			w := window(wire.WindowID(fmt.Sprint("w", i%20)))
			w.Title = fmt.Sprint(part, i)
			if c := command("c", wire.MessageID(fmt.Sprint(part, i)), emit(w)); i%100 == 99 {
				deliverAndWait(t, r, c)
			} else {
				deliver(t, r, c)
			}
		}
	}
	fill("a", 1700)
	// Another owner continues.
	r.Close()
	stop()
	h, _ = startHub(t, joined, "b", session.Config{})
	r = openHandle(t, h, id)
	fill("b", 1700)
	if _, err := joined.Read(t.Context(), id, wire.Position{Epoch: 1}, 1); !errors.Is(err, store.ErrTrimmed) {
		t.Fatalf("the log still has its beginning (%v), want a smaller log for this test", err)
	}
	start := check("after the log lost its beginning")
	if start.State == nil {
		t.Fatal("the film begins without a state, want a keyframe")
	}
	if len(start.State.Windows) == 0 || start.State.LastMessageID != start.After {
		t.Errorf("the keyframe has %d windows at %v, want those of %v", len(start.State.Windows), start.State.LastMessageID, start.After)
	}
}

// The state at a position of the log is the one that the log gives there, from the beginning of the session and
// from keyframes alike. Positions that the log does not have are errors.
func TestStateAtAPositionOfTheLog(t *testing.T) {
	t.Parallel()
	s, err := filestore.Open(t.TempDir(), filestore.Config{Sync: filestore.SyncOff, Limits: store.Limits{LogEvents: 2000}})
	requireNoError(t, err)
	t.Cleanup(func() { requireNoError(t, s.Close()) })
	joined := joinFile(s)
	h, _ := startHub(t, joined, "a", session.Config{})
	const id = "ses-1"
	createSession(t, h, id)
	r := openHandle(t, h, id)
	for _, events := range []int{40, 3600} {
		for i := range events {
			w := window(wire.WindowID(fmt.Sprint("w", i%20)))
			w.Title = fmt.Sprint(events, " ", i)
			if c := command("c", wire.MessageID(fmt.Sprint(events, "-", i)), emit(w)); i%100 == 39 {
				deliverAndWait(t, r, c)
			} else {
				deliver(t, r, c)
			}
		}
		deliverAndWait(t, r, command("c", wire.MessageID(fmt.Sprint(events, "-end")), emit(window("end"))))
		start, known, err := h.FilmStart(t.Context(), id)
		requireNoError(t, err)
		if !known || (start.State != nil) != (events > 2000) {
			t.Fatalf("the film begins at %v with a state: %v (known: %v), want one only after many events", start.After, start.State != nil, known)
		}
		state := desktop.New(id)
		if start.State != nil {
			state.Apply(wire.Event{Session: id, Data: *start.State})
		}
		if start.State != nil {
			got, err := h.StateAt(t.Context(), id, start.After)
			requireNoError(t, err)
			if want := state.Hash(); desktop.HashOf(got.State) != want {
				t.Fatalf("at %v, the position of a keyframe: got another state, want that of the keyframe", start.After)
			}
		}
		seen := 0
		for after := start.After; ; {
			page, err := joined.Read(t.Context(), id, after, 97)
			requireNoError(t, err)
			if len(page) == 0 {
				break
			}
			for i, stored := range page {
				e, err := wire.Native{}.DecodeEvent(stored.Frame)
				requireNoError(t, err)
				state.Apply(e)
				after = stored.At
				if i != 0 && i != len(page)-1 {
					continue
				}
				seen++
				got, err := h.StateAt(t.Context(), id, after)
				requireNoError(t, err)
				if want := state.Hash(); desktop.HashOf(got.State) != want || !got.Time.Equal(e.Time) || got.State.LastMessageID != after {
					t.Fatalf("at %v: got a state of %v at %v, want the one of the log at %v", after, got.State.LastMessageID, got.Time, e.Time)
				}
			}
		}
		if seen == 0 {
			t.Fatal("the log has no events, want some")
		}
	}
	top, err := r.Snapshot(t.Context(), nil)
	requireNoError(t, err)
	at := top.LastMessageID
	for _, bad := range []struct {
		at   wire.Position
		want error
	}{
		{wire.Position{Epoch: at.Epoch, Seq: at.Seq + 1}, store.ErrAhead},
		{wire.Position{Epoch: at.Epoch - 1, Seq: 1 << 40}, store.ErrTrimmed},
		{wire.Position{Epoch: 1, Seq: 1}, store.ErrTrimmed},
	} {
		if m, err := h.StateAt(t.Context(), id, bad.at); !errors.Is(err, bad.want) {
			t.Errorf("at %v: got a state of %v and %v, want %v", bad.at, m.State.LastMessageID, err, bad.want)
		}
	}
	if _, err := h.StateAt(t.Context(), "ses-none", at); err == nil {
		t.Error("a session that does not exist has a state, want an error")
	}
}

// unreadableStore is a store whose log can only be read from its beginning.
type unreadableStore struct {
	joinedStore
	on atomic.Bool
}

func (u *unreadableStore) Read(ctx context.Context, id wire.SessionID, after wire.Position, limit int) ([]store.Event, error) {
	if u.on.Load() && !after.IsZero() {
		return nil, store.ErrUnavailable
	}
	return u.joinedStore.Read(ctx, id, after, limit)
}

// A store that does not answer is reported. It is no reason to begin the film later.
func TestFilmReportsAStoreThatFails(t *testing.T) {
	t.Parallel()
	s, err := filestore.Open(t.TempDir(), filestore.Config{Sync: filestore.SyncOff, Limits: store.Limits{LogEvents: 1000}})
	requireNoError(t, err)
	t.Cleanup(func() { requireNoError(t, s.Close()) })
	joined := &unreadableStore{joinedStore: joinFile(s)}
	h, _ := startHub(t, joined, "a", session.Config{})
	const id = "ses-1"
	createSession(t, h, id)
	r := openHandle(t, h, id)
	for i := range 3200 {
		w := window("w")
		w.Title = strconv.Itoa(i)
		if c := command("c", wire.MessageID("m"+w.Title), emit(w)); i%100 == 99 {
			deliverAndWait(t, r, c)
		} else {
			deliver(t, r, c)
		}
	}
	start, known, err := h.FilmStart(t.Context(), id)
	requireNoError(t, err)
	if !known || start.State == nil {
		t.Fatalf("the film begins at %v (known: %v), want a keyframe for this test", start.After, known)
	}
	joined.on.Store(true)
	if start, known, err := h.FilmStart(t.Context(), id); err == nil {
		t.Errorf("the film of a store that fails begins after %v (known: %v), want an error", start.After, known)
	}
}
