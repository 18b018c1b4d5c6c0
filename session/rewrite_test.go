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

// receiptFor is the receipt for a batch that is not stored.
func receiptFor(b store.Batch) store.Receipt {
	return store.Receipt{Top: wire.Position{Epoch: b.Prev.Epoch, Seq: b.Prev.Seq + uint64(len(b.Events))}}
}

// openLargeTexts opens windows with long texts.
func openLargeTexts(t *testing.T, r *session.Handle, windows, size int) {
	t.Helper()
	for i := range windows {
		w := window(wire.WindowID(fmt.Sprintf("w%d", i)))
		w.Content = wire.TextContent{Data: strings.Repeat("x", size)}
		deliverAndWait(t, r, command("c", wire.MessageID(fmt.Sprintf("m%d", i)), emit(w)))
	}
}

// The store becomes unavailable during a rewrite. Nothing is lost.
func TestInterruptedRewriteStartsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openFaultStore(t)
		a, _ := startHub(t, m, "a", session.Config{})
		createSession(t, a, "ses-1")
		r := openHandle(t, a, "ses-1")
		openLargeTexts(t, r, 20, 200_000)
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
				return receiptFor(b), nil
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
		m.onRenew(func(wire.ReplicaID) error {
			if phase.Load() == isAway {
				return store.ErrUnavailable
			}
			return nil
		})
		deliverAndWait(t, r, command("c", "lost", emit(window("lost"))))
		deliverAndWait(t, r, command("c", "after", emit(window("after"))))
		deliverBarrier(t, r)
		state, err := r.Snapshot(t.Context(), nil)
		requireNoError(t, err)
		if len(state.Windows) != 22 || phase.Load() != isBack {
			t.Errorf("after the store was away there are %d windows, want 22", len(state.Windows))
		}
		kept, err := m.Load(t.Context(), "ses-1")
		requireNoError(t, err)
		if n := len(kept.Tables["windows"]); n != 22 {
			t.Errorf("the store has %d windows, want 22", n)
		}
	})
}

// The state of a session may be larger than a batch.
func TestRewriteOfALargeSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openFaultStore(t)
		a, b, _ := startPair(t, m)
		r := openHandle(t, a, "ses-1")
		openLargeTexts(t, r, 10, 1_000_000)
		deliverAndWait(t, r, command("c", "row", wire.UserMessage{Content: strings.Repeat("y", 600_000)}))
		follower := openHandle(t, b, "ses-1")
		tabs := []*tab{attachTab(t, r, "conn-a"), attachTab(t, follower, "conn-b")}
		time.Sleep(2 * time.Second)
		var once atomic.Bool
		m.onCommit(func(_ context.Context, _ store.Lease, b store.Batch, do commitFunc) (store.Receipt, error) {
			if !once.Swap(true) {
				return receiptFor(b), nil
			}
			return do()
		})
		deliverAndWait(t, r, command("c", "lost", emit(window("lost"))))
		if p, is := deliverAndWait(t, r, command("c", "after", emit(window("after")))).Data.(wire.Actions); !is {
			t.Errorf("the command that met the gap is answered with %+v, want Actions", p)
		}
		waitPosition(t, follower, deliverBarrier(t, r))
		x, y := snapshotBytes(t, r), snapshotBytes(t, follower)
		if !bytes.Equal(x, y) || len(x) < 10_000_000 {
			t.Errorf("snapshots have %d and %d bytes, want the same of at least 10 MB", len(x), len(y))
		}
		for _, w := range tabs {
			nextEvent(t, w, func(s wire.SessionState) bool { return s.Reason == wire.SnapshotUnknown && len(s.Windows) == 12 })
		}
	})
}

// The loss of a batch without events is noticed as well.
func TestLostBatchWithoutEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openFaultStore(t)
		a, _ := startHub(t, m, "a", session.Config{})
		createSession(t, a, "ses-1")
		r := openHandle(t, a, "ses-1")
		requireNoError(t, a.Share(t.Context(), "ses-1", "mallory", session.ShareOperator))
		time.Sleep(time.Second)
		var once atomic.Bool
		m.onCommit(func(_ context.Context, _ store.Lease, b store.Batch, do commitFunc) (store.Receipt, error) {
			if !once.Swap(true) {
				return receiptFor(b), nil
			}
			return do()
		})
		requireNoError(t, a.Share(t.Context(), "ses-1", "mallory", ""))
		deliverBarrier(t, r)
		i, err := a.Info(t.Context(), "ses-1")
		requireNoError(t, err)
		if len(i.Shares) != 0 {
			t.Errorf("after the store lost it, the session is shared with %v, want no other user", i.Shares)
		}
	})
}

// The step in which a turn ends meets the loss, of itself or of the turn's earlier output. Some
// tabs have not seen it, so the end is repeated with the whole text: a snapshot does not contain
// the answer that a caller waits for.
func TestTurnEndDuringALossIsRepeated(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]string{"the end": `"isComplete":true`, "its words": `"delta":"done"`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSyncDeployment(t)
				m := &lossyStore{agentStore: s.agentStore}
				s.openStore = func(*testing.T) agentStore { return m }
				o := startAgentHub(t, s, hubConfig{logger: discardLogger()})
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
						return receiptFor(b), nil
					}
					losing.Store(false)
					lost.Store(true)
					return store.Receipt{}, &store.GapError{Top: b.Prev, Number: b.Number - 1}
				}))
				d.sendText(firstMonitor, "m", "/say done", "/sleep 1s") // so that the end is a step of its own
				time.Sleep(20 * time.Second)
				deliverBarrier(t, d.handle)
				events, err := s.Read(t.Context(), "ses-1", wire.Position{}, 1000)
				requireNoError(t, err)
				ends, text := 0, ""
				for _, e := range events {
					decoded, err := (wire.Native{}).DecodeEvent(e.Frame)
					requireNoError(t, err)
					switch p := decoded.Data.(type) {
					case wire.SessionState:
						for _, a := range p.Agents { // it may still run
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
					t.Errorf(`the log has %d ends of the turn, which says %q, want one end and "done"`, ends, text)
				}
				d.sendText(firstMonitor, "after", "/say more")
				d.waitTurnEnd("after")
			})
		})
	}
}
