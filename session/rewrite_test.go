package session_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// acknowledged is the receipt for a batch that nobody keeps.
func acknowledged(b store.Batch) store.Receipt {
	return store.Receipt{Top: wire.Position{Epoch: b.Prev.Epoch, Seq: b.Prev.Seq + uint64(len(b.Events))}}
}

// large opens windows with long texts.
func large(t *testing.T, r *session.Handle, windows, size int) {
	t.Helper()
	for i := range windows {
		w := window(wire.WindowID(fmt.Sprintf("w%d", i)))
		w.Content = wire.TextContent{Data: strings.Repeat("x", size)}
		ask(t, r, says("c", wire.MessageID(fmt.Sprintf("m%d", i)), emit(w)))
	}
}

// The store goes away in the midst of a rewrite. Nothing is lost by that.
func TestInterruptedRewriteIsBegunAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openMeddler(t)
		a, _ := startHub(t, m, "a", session.Config{})
		create(t, a, "ses-1")
		r := enter(t, a, "ses-1")
		large(t, r, 20, 200_000)
		time.Sleep(2 * time.Second)
		const (
			forgets = iota
			hasGap
			isRewritten
			isAway
			isBack
		)
		var phase, batches atomic.Int64
		m.onCommit(func(_ context.Context, _ store.Lease, b store.Batch, do commitFunc) (store.Receipt, error) {
			switch phase.Load() {
			case forgets:
				phase.Store(hasGap)
				return acknowledged(b), nil
			case hasGap:
				receipt, err := do()
				if err != nil {
					phase.Store(isRewritten)
				}
				return receipt, err
			case isRewritten:
				if batches.Add(1) == 1 {
					return do()
				}
				phase.Store(isAway)
				time.AfterFunc(8*time.Second, func() { phase.Store(isBack) })
				return store.Receipt{}, store.ErrUnavailable
			case isAway:
				return store.Receipt{}, store.ErrUnavailable
			}
			return do()
		})
		m.onRenew(func(store.Lease) error {
			if phase.Load() == isAway {
				return store.ErrUnavailable
			}
			return nil
		})
		ask(t, r, says("c", "lost", emit(window("lost"))))
		ask(t, r, says("c", "after", emit(window("after"))))
		settled(t, r)
		state, err := r.Snapshot(t.Context(), nil)
		ok(t, err)
		if len(state.Windows) != 22 || phase.Load() != isBack {
			t.Errorf("after the store was away there are %d windows, want 22", len(state.Windows))
		}
		kept, err := m.Load(t.Context(), "ses-1")
		ok(t, err)
		if n := len(kept.Tables["windows"]); n != 22 {
			t.Errorf("the store has %d windows, want 22", n)
		}
	})
}

// What a session shows may be more than a batch holds.
func TestRewriteOfMuch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openMeddler(t)
		a, b, _ := pair(t, m)
		r := enter(t, a, "ses-1")
		large(t, r, 10, 1_000_000)
		ask(t, r, says("c", "row", wire.UserMessage{Content: strings.Repeat("y", 600_000)}))
		follower := enter(t, b, "ses-1")
		tabs := []*tab{watch(t, r, "conn-a"), watch(t, follower, "conn-b")}
		time.Sleep(2 * time.Second)
		var once atomic.Bool
		m.onCommit(func(_ context.Context, _ store.Lease, b store.Batch, do commitFunc) (store.Receipt, error) {
			if !once.Swap(true) {
				return acknowledged(b), nil
			}
			return do()
		})
		ask(t, r, says("c", "lost", emit(window("lost"))))
		if p, is := ask(t, r, says("c", "after", emit(window("after")))).Data.(wire.Actions); !is {
			t.Errorf("the command that met the gap is answered with %+v", p)
		}
		upTo(t, follower, settled(t, r))
		x, y := snapshotBytes(t, r), snapshotBytes(t, follower)
		if !bytes.Equal(x, y) || len(x) < 10_000_000 {
			t.Errorf("snapshots of %d and %d bytes differ", len(x), len(y))
		}
		for _, w := range tabs {
			next(t, w, func(s wire.SessionState) bool { return s.Reason == wire.SnapshotUnknown && len(s.Windows) == 12 })
		}
	})
}

// A batch without events can be forgotten as well.
func TestForgottenShareIsTakenBackAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openMeddler(t)
		a, _ := startHub(t, m, "a", session.Config{})
		create(t, a, "ses-1")
		r := enter(t, a, "ses-1")
		ok(t, a.Share(t.Context(), "ses-1", "mallory", session.ShareOperator))
		time.Sleep(time.Second)
		var once atomic.Bool
		m.onCommit(func(_ context.Context, _ store.Lease, b store.Batch, do commitFunc) (store.Receipt, error) {
			if !once.Swap(true) {
				return acknowledged(b), nil
			}
			return do()
		})
		ok(t, a.Share(t.Context(), "ses-1", "mallory", ""))
		settled(t, r)
		i, err := a.Info(t.Context(), "ses-1")
		ok(t, err)
		if len(i.Shares) != 0 {
			t.Errorf("after the store forgot it, the session is shared with %v", i.Shares)
		}
	})
}

// The step in which a turn ends meets the loss, of itself or of what the turn said
// before. Not everybody was shown it, so the end is said again, with the whole text: a
// state does not tell whoever waits for an answer.
func TestEndThatMeetsTheLossIsSaid(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]string{"the end": `"isComplete":true`, "its words": `"delta":"done"`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := inBubble(t)
				m := &forgetful{engine: s.engine}
				s.open = func(*testing.T) engine { return m }
				o := agentHub(t, s, hubConfig{logger: silence()})
				d := o.newDesktop(t, "ses-1")
				var losing, lost atomic.Bool
				m.commit.Store(new(func(b store.Batch, do commitFunc) (store.Receipt, error) {
					has := func(what string) bool {
						return slices.ContainsFunc(b.Events, func(f []byte) bool { return bytes.Contains(f, []byte(what)) })
					}
					losing.CompareAndSwap(false, !lost.Load() && has(from))
					switch {
					case !losing.Load():
						return do()
					case !has(`"isComplete":true`):
						return acknowledged(b), nil
					}
					losing.Store(false)
					lost.Store(true)
					return store.Receipt{}, &store.GapError{Top: b.Prev, Number: b.Number - 1}
				}))
				d.say(first, "m", "/say done", "/sleep 1s") // so that the end is a step of its own
				time.Sleep(20 * time.Second)
				settled(t, d.handle)
				events, err := s.Read(t.Context(), "ses-1", wire.Position{}, 1000)
				ok(t, err)
				ends, text := 0, ""
				for _, e := range events {
					decoded, err := (wire.Native{}).DecodeEvent(e.Frame)
					ok(t, err)
					switch p := decoded.Data.(type) {
					case wire.SessionState:
						for _, a := range p.Agents { // it may run still
							text = a.Text
						}
					case wire.AgentResponse:
						if p.Delta != "" {
							text = text[:min(p.Offset, len(text))] + p.Delta
						}
						if p.IsComplete {
							ends++
						}
					}
				}
				if !lost.Load() || ends != 1 || text != "done" {
					t.Errorf("the log has %d ends of the turn, which says %q", ends, text)
				}
				d.say(first, "after", "/say more")
				d.ends("after")
			})
		})
	}
}
