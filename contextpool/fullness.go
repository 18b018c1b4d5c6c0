package contextpool

import (
	"cmp"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// limits are those of the model that reads a conversation next.
func (p *Pool) limits() history.Limits {
	return history.Limits{
		Window: cmp.Or(p.cfg.Window, p.runner.Reads(p.Provider())), Threshold: p.cfg.CondenseAt,
	}
}

// read notes how much the model of a turn had to read for its newest call.
func (t *turn) read(u providers.Usage) {
	if t.Lasting {
		t.Context = max(u.Input+u.CacheRead+u.CacheWrite+u.Output, 0)
	}
}

// measure finds out how full a thread is that has changed, and keeps that. Nobody
// has read it yet, so it is an estimate.
func (p *Pool) measure(h *thread) {
	h.Tokens = history.Tokens(history.View(h.messages))
	p.keepThread(h)
}

// scaled is how many tokens there are after a change, given how many there were and
// the estimates of both: what a backend counted has more in it than the messages.
func scaled(had, before, after int) int {
	return min(had, int(float64(had)*float64(after)/float64(max(before, 1))))
}

// weigh notes how full the thread of a turn is that has ended. If that is too full,
// something is done about it before its next turn.
func (p *Pool) weigh(t *turn) {
	h := p.threads[t.Agent]
	if !t.Lasting || h == nil || !t.Remembered {
		return
	}
	p.grown = append(p.grown, t.Agent)
	if t.Context == 0 {
		p.measure(h)
		return
	}
	h.Tokens = t.Context
	p.keepThread(h)
}

// fullness is how full the memory of a monitor's main agent is, if that is known.
func (p *Pool) fullness(monitor wire.MonitorID) *wire.ContextUse {
	h := p.threads[mainAgent(monitor)]
	if h == nil || h.Tokens == 0 {
		return nil
	}
	return &wire.ContextUse{Tokens: h.Tokens, Window: p.limits().Window, Condensing: p.isCondensing(monitor)}
}

func sameUse(a, b *wire.ContextUse) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// relieveAll makes the threads shorter that became too full in a turn.
func (p *Pool) relieveAll() {
	for _, agent := range p.grown {
		if h := p.threads[agent]; h != nil && p.turnOf(agent) == nil { // else its next turn sees to it
			p.relieve(h, 0)
		}
	}
	p.grown = nil
}

// relieveFor makes the thread of the agent that a message is for shorter if the
// message would make it too full, and reports whether the message has to wait for
// that. A button that has a turn of its own adds nothing to a thread.
func (p *Pool) relieveFor(w *waiting) bool {
	agent := mainAgent(w.Monitor)
	if w.Window != "" {
		agent = w.Agent
	}
	h := p.threads[agent]
	if w.Action != "" || h == nil || h.Tried {
		return false
	}
	more := providers.Entry{Blocks: []providers.Block{{Kind: providers.BlockText, Text: w.Text}}}
	for i := range w.Images {
		more.Blocks = append(more.Blocks, providers.Block{Kind: providers.BlockImage, Image: &w.Images[i]})
	}
	return p.relieve(h, history.Tokens([]providers.Entry{more}))
}

// relieve makes a thread shorter if it is too full with so many tokens more. It
// reports whether the thread is being summed up, which takes a while; that is tried
// once before each turn. A thread that cannot be summed up is cut.
func (p *Pool) relieve(h *thread, more int) bool {
	if h.Tokens == 0 {
		return false
	}
	limits := p.limits()
	tokens := h.Tokens + more
	if limits.Decide(tokens) == history.Condense {
		if !h.Tried && p.condensable(h) == nil {
			p.condense(h, true)
			return true
		}
	}
	limits.Threshold = 0
	if limits.Decide(tokens) == history.Truncate {
		p.shrink(h)
	}
	return false
}

// shrink leaves out the older half of what an agent sees of its thread, and reports
// whether there was something to leave out. Its next turn begins with the rest.
func (p *Pool) shrink(h *thread) bool {
	if p.leaveOut(h) == 0 {
		return false
	}
	p.tidy(h)
	p.reopen(h)
	return true
}

// reopen has the next turn of an agent begin with what its thread is now, whatever
// it or its backend has of it.
func (p *Pool) reopen(h *thread) {
	h.stale, h.ID = false, ""
	p.keepThread(h)
	p.step.Then(func() { p.runner.Dispose(h.agent) })
}
