package session

import (
	"sync"
	"time"

	"github.com/everdesk/everdesk/contextpool"
)

// stuckAfter is how long one activity may take before the session counts as stuck.
const stuckAfter = 5 * time.Second

// Gauges are the gauges of all sessions of a hub.
type Gauges struct {
	// Sessions that are owned here, or should be; each counts once. Stuck sessions are in one
	// activity for too long, are used here and cannot be claimed, or are suspended. Waiting ones
	// have a question for a person. Stalled ones have unfinished work and agents without progress
	// for [Config.StalledAfter].
	Working, Waiting, Stalled, Stuck, Idle int
	// Followed counts the sessions of other replicas that are loaded here.
	Followed int
	Tabs     int
	// Mailbox counts the items in all mailboxes.
	Mailbox int
	// Pool are the gauges of agents and their queues.
	Pool contextpool.Gauges
	// Approvals, Prompts and the questions of Plans wait for a person; the oldest was opened at
	// Oldest.
	Approvals, Prompts, Plans int
	Oldest                    time.Time
}

// Gauges returns the gauges. It waits for no session.
func (h *Hub) Gauges() Gauges {
	var all Gauges
	all.Stuck = len(h.registry.suspendedStatuses())
	now, age := time.Now(), h.env.uptime()
	for _, ls := range h.registry.appendSessions(nil) {
		if !ls.isReady() || ls.failure != nil {
			continue
		}
		all.Tabs += ls.center.Tabs()
		all.Mailbox += ls.mailbox.size()
		ow := ls.activeOwner.Load()
		if ow == nil {
			if s, ok := ls.betweenOwners(); ok && s.For > stuckAfter {
				all.Stuck++
			} else {
				all.Followed++
			}
			continue
		}
		_, busy := ow.view.activity.current(age)
		ow.view.gauge.addTo(&all, now, busy, h.env.cfg.StalledAfter)
	}
	return all
}

// gauges are the levels of one owned session, for any goroutine.
type gauges struct {
	mu                        sync.Mutex // guards the following; held briefly
	progress                  time.Time  // when agents last made progress
	working                   bool
	approvals, prompts, plans int
	oldest                    time.Time
	pool                      contextpool.Gauges
}

// questions is the number of questions that wait for a person.
func (g *gauges) questions() int { return g.approvals + g.prompts + g.plans }

// addTo adds the session to all. busy is the duration of its present activity, silence the time
// without progress from which on it counts as stalled.
func (g *gauges) addTo(all *Gauges, now time.Time, busy, silence time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	all.Pool.Add(&g.pool)
	all.Approvals += g.approvals
	all.Prompts += g.prompts
	all.Plans += g.plans
	if !g.oldest.IsZero() && (all.Oldest.IsZero() || g.oldest.Before(all.Oldest)) {
		all.Oldest = g.oldest
	}
	switch {
	case busy > stuckAfter:
		all.Stuck++
	case g.questions() > 0:
		all.Waiting++
	case g.working && now.Sub(g.progress) > silence:
		all.Stalled++
	case g.working:
		all.Working++
	default:
		all.Idle++
	}
}

// reportGauges updates the gauges after a commit. Most commits change none of them. Only the
// session's goroutine writes the gauges, so it may read them without the lock.
func (in *introspection) reportGauges() {
	g := &in.gauge
	approvals, prompts := in.w.state.Notices().Questions()
	planned, _ := in.agents.activePlan()
	questions := approvals + prompts + planned.Questions
	progress := in.w.localTime(in.w.lastProgressAt)
	if questions == 0 && g.questions() == 0 && len(in.w.openQuestions) == 0 && g.working == in.w.working && g.progress.Equal(progress) &&
		!in.agents.gaugesChanged() {
		return
	}
	oldest := in.w.openQuestions.oldest(questions)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.progress, g.working = progress, in.w.working
	g.approvals, g.prompts, g.plans = approvals, prompts, planned.Questions
	g.oldest = in.w.localTime(oldest)
	in.agents.refreshGauges(&g.pool)
}
