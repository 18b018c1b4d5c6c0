package agentpool_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// A provider session that ends at the moment of its reuse is opened again at once, even if it
// still has events to deliver.
func TestProviderSessionEndsAtReuse(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(r *rig, s *fakeSession){
		"while it is sent to": func(r *rig, s *fakeSession) {
			r.provider.onSend = func(context.Context, providers.Message) error {
				r.provider.onSend = nil
				s.exit()
				return providers.ErrClosed
			}
		},
		"with more to say": func(r *rig, s *fakeSession) {
			r.on = func(report agentpool.Report) error {
				if _, began := report.(agentpool.Began); began {
					s.wg.Go(s.exit)
					s.wg.Go(func() { s.spec.OnEvent(providers.Event{Kind: providers.EventTaken, Message: "unknown"}) })
					time.Sleep(time.Second) // both wait for delivery
				}
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, agentpool.Limits{}, func(r *rig) {
				r.Start(mainRun("1"))
				r.expectSessions(r.t, 1, 1)
				end(r, r.provider.latest)
				r.Start(mainRun("2"))
				time.Sleep(2 * time.Second)
				r.expectSessions(r.t, 2, 1)
				r.expect(r.t, "1 began", "1 completed", "2 began", "2 completed")
			})
		})
	}
}

// A backend that requests approvals without end is denied, and its earlier requests are still
// decided.
func TestApprovalsWithoutEnd(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{}, func(r *rig) {
		const bound = 1000
		d := &approvalDesktop{verdict: tools.Verdict{Confirmed: true, Answered: true}}
		runner := r.pool.Session(r.t.Context(), agentpool.SessionRef{Session: "ses-1", Sink: r.reportRecorder, Desktop: tools.Desktop{Users: d}})
		r.provider.runTurn = func(p *turn) (providers.Outcome, error) {
			for i := range bound + 10 {
				id := strconv.Itoa(i)
				p.emit(providers.Event{Kind: providers.EventApproval, Approval: id, Tool: providers.ToolCall{Name: "rm"}})
				p.emit(providers.Event{Kind: providers.EventApprovalGone, Approval: id})
				time.Sleep(time.Millisecond)
			}
			for _, id := range []string{"0", "more"} {
				p.emit(providers.Event{Kind: providers.EventApproval, Approval: id, Tool: providers.ToolCall{Name: "rm"}})
			}
			time.Sleep(5 * time.Second)
			return providers.Completed, nil
		}
		runner.Start(ephemeralRun("1"))
		time.Sleep(time.Minute)
		synctest.Wait()
		_, sent, _ := r.provider.received()
		answers := map[string]string{}
		for _, m := range sent {
			answers[m.ID] = m.Text
		}
		if answers["0"] != "yes" || answers["more"] != "no" {
			r.t.Errorf("answer to a known request is %q, to one more %q; want yes and no", answers["0"], answers["more"])
		}
		if len(d.asked) != bound+1 {
			r.t.Errorf("the user was asked %d times, want %d", len(d.asked), bound+1)
		}
	})
}

// An approval can be requested while the provider session is being opened, more than once, and
// again after it was cancelled.
func TestApprovalsOutOfOrder(t *testing.T) {
	t.Parallel()
	wanted := providers.Event{Kind: providers.EventApproval, Approval: "a", Tool: providers.ToolCall{Name: "rm"}}
	canceled := providers.Event{Kind: providers.EventApprovalGone, Approval: "a"}
	yes := providers.Message{ID: "a", Text: "yes"}
	for name, c := range map[string]struct {
		opening, playing []providers.Event
		asked            int
		want             []providers.Message
	}{
		"early":                        {opening: []providers.Event{wanted}, asked: 1, want: []providers.Message{yes}},
		"early and canceled":           {opening: []providers.Event{wanted, canceled}, want: []providers.Message{}},
		"twice":                        {playing: []providers.Event{wanted, wanted}, asked: 1, want: []providers.Message{yes}},
		"twice and canceled":           {playing: []providers.Event{wanted, wanted, canceled}, asked: 1, want: []providers.Message{}},
		"canceled and requested again": {playing: []providers.Event{wanted, canceled, wanted}, asked: 2, want: []providers.Message{yes}},
		"early and in the turn":        {opening: []providers.Event{wanted}, playing: []providers.Event{wanted}, asked: 1, want: []providers.Message{yes}},
		"early, canceled in between":   {opening: []providers.Event{wanted}, playing: []providers.Event{canceled}, asked: 1, want: []providers.Message{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, agentpool.Limits{}, func(r *rig) {
				d := &approvalDesktop{verdict: tools.Verdict{Confirmed: true, Answered: true}}
				runner := r.pool.Session(r.t.Context(), agentpool.SessionRef{Session: "ses-1", Sink: r.reportRecorder, Desktop: tools.Desktop{Users: d}})
				r.provider.onOpen = func(_ context.Context, spec providers.Spec) error {
					for _, e := range c.opening {
						spec.OnEvent(e)
					}
					return nil
				}
				r.provider.runTurn = func(p *turn) (providers.Outcome, error) {
					for _, e := range c.playing {
						time.Sleep(time.Millisecond)
						p.emit(e)
					}
					time.Sleep(5 * time.Second)
					return providers.Completed, nil
				}
				runner.Start(ephemeralRun("1"))
				time.Sleep(time.Minute)
				synctest.Wait()
				_, sent, _ := r.provider.received()
				var answers []providers.Message
				for _, m := range sent {
					if m.Mode == "" {
						answers = append(answers, m)
					}
				}
				if diff := cmp.Diff(c.want, append([]providers.Message{}, answers...)); diff != "" {
					r.t.Errorf("answers (-want +got):\n%s", diff)
				}
				if len(d.asked) != c.asked {
					r.t.Errorf("the user was asked %d times, want %d", len(d.asked), c.asked)
				}
				if c.asked == 2 && d.asked[0].ID == d.asked[1].ID {
					r.t.Errorf("the canceled and the new question have the same id %s, want two ids", d.asked[0].ID)
				}
			})
		})
	}
}

// A slot that cannot be renewed does not delay the renewal of other slots.
func TestRenewalContinuesAfterFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		m := &interceptedStore{Semaphores: s}
		l := newLimiter(t, m, agentpool.Limits{Agents: 100, PerSession: 1})
		good, err := l.Try(t.Context(), claim("good"))
		ok(t, err)
		holder := m.asked[0].Holder
		m.change(func() {
			m.renew = func(s store.Slot, do func() error) error {
				if s.Holder != holder {
					return errors.New("this one does not work")
				}
				return do()
			}
		})
		slots := []*agentpool.Slot{good}
		for i := range 30 {
			bad, err := l.Try(t.Context(), claim(wire.SessionID(fmt.Sprint("bad-", i))))
			ok(t, err)
			slots = append(slots, bad)
		}
		for range 60 {
			time.Sleep(time.Minute)
			expectUse(t, s, "agents", 1, 0)
			expectUse(t, s, "agents:session:good", 1, 0)
		}
		for _, slot := range slots {
			slot.Release()
		}
	})
}
