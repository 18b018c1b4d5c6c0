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
	for _, k := range h.registry.appendSessions(nil) {
		if !k.isReady() || k.failure != nil {
			continue
		}
		all.Tabs += k.center.Tabs()
		all.Mailbox += k.mailbox.size()
		l := k.activeOwner.Load()
		if l == nil {
			if s, ok := k.betweenOwners(); ok && s.For > stuckAfter {
				all.Stuck++
			} else {
				all.Followed++
			}
			continue
		}
		_, busy := l.view.activity.current(age)
		l.view.gauge.addTo(&all, now, busy, h.env.cfg.StalledAfter)
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
func (p *gauges) questions() int { return p.approvals + p.prompts + p.plans }

// addTo adds the session to all. busy is the duration of its present activity, silence the time
// without progress from which on it counts as stalled.
func (p *gauges) addTo(all *Gauges, now time.Time, busy, silence time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all.Pool.Add(&p.pool)
	all.Approvals += p.approvals
	all.Prompts += p.prompts
	all.Plans += p.plans
	if !p.oldest.IsZero() && (all.Oldest.IsZero() || p.oldest.Before(all.Oldest)) {
		all.Oldest = p.oldest
	}
	switch {
	case busy > stuckAfter:
		all.Stuck++
	case p.questions() > 0:
		all.Waiting++
	case p.working && now.Sub(p.progress) > silence:
		all.Stalled++
	case p.working:
		all.Working++
	default:
		all.Idle++
	}
}

// reportGauges updates the gauges after a commit. Most commits change none of them. Only the
// session's goroutine writes the gauges, so it may read them without the lock.
func (v *introspection) reportGauges() {
	p := &v.gauge
	approvals, prompts := v.w.state.Notices().Questions()
	planned, _ := v.agents.activePlan()
	questions := approvals + prompts + planned.Questions
	progress := v.w.localTime(v.w.lastProgressAt)
	if questions == 0 && p.questions() == 0 && len(v.w.openQuestions) == 0 && p.working == v.w.working && p.progress.Equal(progress) &&
		!v.agents.gaugesChanged() {
		return
	}
	oldest := v.w.openQuestions.oldest(questions)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.progress, p.working = progress, v.w.working
	p.approvals, p.prompts, p.plans = approvals, prompts, planned.Questions
	p.oldest = v.w.localTime(oldest)
	v.agents.refreshGauges(&p.pool)
}
