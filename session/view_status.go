package session

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// Activities of a session without an owner: its handles here wait until it is claimed, or it is
// suspended after too many panics.
const (
	ActivityClaim  = "claim"
	ActivityClosed = "closed"
)

// Status describes a session that is owned here, or should be.
type Status struct {
	ID    wire.SessionID
	User  string
	Title string
	Epoch uint64
	// Top is the position of the newest event, and Updated when it was written.
	Top     wire.Position
	Updated time.Time
	// Progress is when agents last made progress, by the local clock.
	Progress time.Time
	// Tabs counts the tabs of all replicas.
	Tabs     int
	Monitors int
	Windows  int
	// Agents counts the running agents, Queued the messages that wait for one, and Questions the
	// questions that wait for a person.
	Agents    int
	Queued    int
	Questions int
	// Budget is the use of the fullest budget, in per cent.
	Budget int
	// Errors counts the failed turns since the session was loaded, and LastError is the code of the
	// last one.
	Errors    int
	LastError wire.Code
	// Tokens and Cost (US dollars) are those of the turns that ended since then.
	Tokens int64
	Cost   float64
	// Working says that the session has unfinished work and needs an owner, Stalled that its agents
	// have made no progress for [Config.StalledAfter] although it is working.
	Working, Stalled bool
	// Stuck says that the session did not answer in time. Activity is then what it executes, since
	// For, and the other fields are those of its last answer, if there was one.
	Stuck    bool
	Activity string
	For      time.Duration
}

// statusTimeout is how long a session has to answer. Steps take milliseconds.
const statusTimeout = 100 * time.Millisecond

// Statuses returns the status of all sessions that are owned here. It asks them concurrently and
// waits at most statusTimeout. A session in which nothing has happened since it was last asked is
// not asked again. Sessions that are used here and have no owner, and suspended sessions, are
// included as stuck.
func (h *Hub) Statuses(ctx context.Context) []Status {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	sessions := h.registry.appendSessions(nil)
	all := append(make([]Status, 0, len(sessions)), h.registry.suspendedStatuses()...)
	var asked []*owner
	for _, ls := range sessions {
		ow := ls.activeOwner.Load()
		if ow == nil {
			if s, ok := ls.betweenOwners(); ok {
				all = append(all, s)
			}
			continue
		}
		if s := ow.view.requests.last.Load(); s != nil && s.Budget == 0 && ow.view.requests.lastIsFresh.Load() && ls.mailbox.isIdle() {
			all = append(all, *s)
			continue
		}
		asked = append(asked, ow)
	}
	all = append(all, requestStatuses(ctx, asked)...)
	for i := range all {
		all[i].Stalled = all[i].Working && time.Since(all[i].Progress) > h.env.cfg.StalledAfter
	}
	return all
}

// requestStatuses asks owners for their status until ctx ends; an owner that has not answered by
// then is stuck.
func requestStatuses(ctx context.Context, asked []*owner) []Status {
	answers := make([]atomic.Pointer[Status], len(asked))
	looks := make([]*statusRequest, len(asked))
	allAnswered := make(chan struct{}, 1) // holds a token once all have answered
	var open atomic.Int64
	open.Store(int64(len(asked)))
	for i, ow := range asked {
		looks[i] = &statusRequest{run: func(in *introspection) {
			answers[i].Store(in.report())
			if open.Add(-1) == 0 {
				allAnswered <- struct{}{}
			}
		}}
		ow.view.requestStatus(looks[i])
	}
	if len(asked) > 0 {
		select {
		case <-allAnswered:
		case <-ctx.Done():
		}
	}
	all := make([]Status, len(asked))
	for i, ow := range asked {
		if s := answers[i].Load(); s != nil {
			all[i] = *s
			continue
		}
		ow.view.requests.cancel(looks[i])
		all[i] = ow.view.stuck()
	}
	return all
}

// betweenOwners returns the status of a session without an owner, and whether it is used here and
// has had none for longer than a change of owners takes.
func (ls *liveSession) betweenOwners() (Status, bool) {
	without := ls.ownership.ownerlessFor()
	if without == 0 || !ls.isReady() || ls.failure != nil || ls.isUnused() && ls.mailbox.isIdle() {
		return Status{}, false
	}
	s := Status{ID: ls.id, Epoch: ls.epoch(), Tabs: ls.center.Tabs(), Stuck: true, Activity: ActivityClaim, For: without}
	return s, s.For > statusTimeout
}

// stuck returns what is known of a session that does not answer.
func (in *introspection) stuck() Status {
	s := Status{ID: in.live.id, Epoch: in.held.lease.Epoch}
	if seen := in.requests.last.Load(); seen != nil {
		s = *seen
	}
	s.Stuck = true
	s.Activity, s.For = in.activity.current(in.live.env.uptime())
	return s
}

// report returns the status of the session. The session's goroutine calls it between two steps.
func (in *introspection) report() *Status {
	s := &Status{
		ID: in.live.id, User: in.w.user, Title: in.w.state.Title(), Epoch: in.held.lease.Epoch, Top: in.w.top, Updated: in.w.lastEventAt,
		Progress: in.w.localTime(in.w.lastProgressAt),
		Tabs:     in.presence.total, Monitors: in.w.state.MonitorCount(), Windows: in.w.state.WindowCount(),
		Working: in.w.working,
	}
	dialogs, prompts := in.w.state.Notices().Questions()
	s.Questions = dialogs + prompts
	if now, ok := in.agents.activePlan(); ok {
		s.Questions += now.Questions
	}
	if in.agents != nil {
		g := in.agents.pool.View.Overview()
		s.Agents, s.Queued, s.Budget = g.Running, g.Waiting, g.Budget
		s.Errors, s.LastError, s.Tokens, s.Cost = g.Failed, g.LastFailure, g.Tokens, g.Cost
	}
	in.requests.last.Store(s)
	in.requests.lastIsFresh.Store(true)
	return s
}
