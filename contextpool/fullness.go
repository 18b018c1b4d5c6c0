package contextpool

import (
	"cmp"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// contextLimits returns the limits for the model that reads a thread next.
func (p *Pool) limits() history.Limits {
	return history.Limits{
		Window: cmp.Or(p.cfg.Window, p.runner.Reads(p.Provider())), Threshold: p.cfg.CondenseAt,
	}
}

// recordContext sets Context from the usage of the newest model call.
func (t *turn) read(u providers.Usage) {
	if t.Lasting {
		t.Context = max(u.Input+u.CacheRead+u.CacheWrite+u.Output, 0)
	}
}

// estimateTokens sets the size of a changed thread to an estimate and stores it. No model has
// read the thread in its current form.
func (p *Pool) measure(h *thread) {
	h.Tokens = history.Tokens(history.View(h.messages))
	p.keepThread(h)
}

// scaleTokens estimates the size after a change from the size before it and the estimates of
// both. The backend's count includes more than the messages.
func scaled(had, before, after int) int {
	return min(had, int(float64(had)*float64(after)/float64(max(before, 1))))
}

// recordThreadSize stores the size of the thread of a turn that has ended. advance then
// compacts the thread if it is too large.
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

// contextUse returns the size of the main agent's thread, or nil if it is unknown.
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

// compactGrownThreads compacts the threads that became too large in a turn.
func (p *Pool) relieveAll() {
	for _, agent := range p.grown {
		if h := p.threads[agent]; h != nil && p.turnOf(agent) == nil { // the end of a running turn records the agent again
			p.relieve(h, 0)
		}
	}
	p.grown = nil
}

// compactForMessage compacts the thread of the message's agent if the message would make it too
// large, and reports whether the message has to wait for the summary. A button with a turn of
// its own adds nothing to the thread.
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

// compactThread summarises a thread that would be too large with more tokens added, or hides
// its older half if it cannot be summarised. It reports whether a summary was started, which
// takes a while; that is tried once before each turn.
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

// truncateThread hides the older half of the visible messages and reports whether there was
// anything to hide. The agent's next turn begins with the rest.
func (p *Pool) shrink(h *thread) bool {
	if p.leaveOut(h) == 0 {
		return false
	}
	p.tidy(h)
	p.reopen(h)
	return true
}

// resetProviderSession closes the agent's provider session and drops the backend's thread id,
// so that the next turn begins with the current thread.
func (p *Pool) reopen(h *thread) {
	h.stale, h.ID = false, ""
	p.keepThread(h)
	p.step.Then(func() { p.runner.Dispose(h.agent) })
}
