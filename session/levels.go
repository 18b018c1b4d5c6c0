package session

import (
	"sync"
	"time"

	"github.com/everdesk/everdesk/contextpool"
)

// stuckAfter is when a session that does not come to an end with what it does counts as stuck.
const stuckAfter = 5 * time.Second

// Levels is how much there is in the sessions of a hub.
type Levels struct {
	// The sessions that are owned, or should be: Stuck ones do not come to an end with
	// what they do, cannot be owned although they are used here, or are closed for a
	// while. Waiting ones have a question for a person, Stalled ones have work and
	// agents that have shown nothing for [Config.StalledAfter]. Each is one of the five.
	Working, Waiting, Stalled, Stuck, Idle int
	// Followed sessions are those of others.
	Followed int
	Tabs     int
	// Mailbox is what sessions have not got to yet.
	Mailbox int
	// Pool is the agents and what waits for them.
	Pool contextpool.Gauges
	// Approvals, Prompts and the questions of Plans wait for a person, the oldest
	// since Oldest.
	Approvals, Prompts, Plans int
	Oldest                    time.Time
}

// Levels counts. It asks no session and is quick.
func (h *Hub) Levels() Levels {
	var all Levels
	all.Stuck = len(h.suspendedStatuses())
	now, age := time.Now(), h.uptime()
	for _, k := range h.appendSessions(nil) {
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
		_, busy := l.activity.current(age)
		l.gauge.addTo(&all, now, busy, h.cfg.StalledAfter)
	}
	return all
}

// gauges is what everybody may know of a session that is owned here.
type gauges struct {
	mu                        sync.Mutex // guards the following; held for a moment only
	progress                  time.Time  // when agents got on last
	working                   bool
	approvals, prompts, plans int
	oldest                    time.Time
	pool                      contextpool.Gauges
}

// questions is how many wait for a person.
func (p *gauges) questions() int { return p.approvals + p.prompts + p.plans }

// addTo adds one session to all, which has been in what it does for so long and may be
// silent for a while.
func (p *gauges) addTo(all *Levels, now time.Time, busy, silence time.Duration) {
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

// reportGauges tells the gauges what is so after a commit. Most change nothing of that, and only
// the goroutine of the session changes the gauges: it may read it without the lock.
func (l *owner) reportGauges() {
	p := &l.gauge
	approvals, prompts := l.state.Questions()
	planned, _ := l.agents.activePlan()
	questions := approvals + prompts + planned.Questions
	progress := l.localTime(l.lastProgressAt)
	if questions == 0 && p.questions() == 0 && len(l.openQuestions) == 0 && p.working == l.working && p.progress.Equal(progress) &&
		!l.agents.levelsChanged() {
		return
	}
	oldest := l.openQuestions.oldest(questions)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.progress, p.working = progress, l.working
	p.approvals, p.prompts, p.plans = approvals, prompts, planned.Questions
	p.oldest = l.localTime(oldest)
	l.agents.refreshLevels(&p.pool)
}

// size is how much is in the box.
func (b *mailbox) size() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.items) + len(b.heldLocal)
}
