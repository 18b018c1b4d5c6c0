package contextpool

import (
	"cmp"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// contextLimits returns the limits for the model that reads a thread next.
func (p *Pool) contextLimits() history.Limits {
	return history.Limits{
		Window: cmp.Or(p.cfg.Window, p.providers.ContextWindow(p.Provider())), Threshold: p.cfg.CondenseAt,
	}
}

// recordContext sets Context from the usage of the newest model call.
func (t *turn) recordContext(u providers.Usage) {
	if t.Lasting {
		t.Context = max(u.Input+u.CacheRead+u.CacheWrite+u.Output, 0)
	}
}

// estimateTokens sets the size of a changed thread to an estimate and stores it. No model has
// read the thread in its current form.
func (p *Pool) estimateTokens(h *thread) {
	h.Tokens = history.Tokens(history.View(h.messages))
	p.storeThread(h)
}

// scaleTokens estimates the size after a change from the size before it and the estimates of
// both. The backend's count includes more than the messages.
func scaleTokens(had, before, after int) int {
	return min(had, int(float64(had)*float64(after)/float64(max(before, 1))))
}

// recordThreadSize stores the size of the thread of a turn that has ended. advance then
// compacts the thread if it is too large.
func (p *Pool) recordThreadSize(t *turn) {
	h := p.threads[t.Agent]
	if !t.Lasting || h == nil || !t.InThread {
		return
	}
	p.grownThreads = append(p.grownThreads, t.Agent)
	if t.Context == 0 {
		p.estimateTokens(h)
		return
	}
	h.Tokens = t.Context
	p.storeThread(h)
}

// contextUse returns the size of the main agent's thread, or nil if it is unknown.
func (p *Pool) contextUse(monitor wire.MonitorID) *wire.ContextUse {
	h := p.threads[mainAgent(monitor)]
	if h == nil || h.Tokens == 0 {
		return nil
	}
	return &wire.ContextUse{Tokens: h.Tokens, Window: p.contextLimits().Window, Condensing: p.isCondensing(monitor)}
}

func sameUse(a, b *wire.ContextUse) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// compactGrownThreads compacts the threads that became too large in a turn.
func (p *Pool) compactGrownThreads() {
	for _, agent := range p.grownThreads {
		if h := p.threads[agent]; h != nil && p.turnOfAgent(agent) == nil { // the end of a running turn records the agent again
			p.compactThread(h, 0)
		}
	}
	p.grownThreads = nil
}

// compactForMessage compacts the thread of the message's agent if the message would make it too
// large, and reports whether the message has to wait for the summary. A button with a turn of
// its own adds nothing to the thread.
func (p *Pool) compactForMessage(w *queuedMessage) bool {
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
	return p.compactThread(h, history.Tokens([]providers.Entry{more}))
}

// compactThread summarises a thread that would be too large with more tokens added, or hides
// its older half if it cannot be summarised. It reports whether a summary was started, which
// takes a while; that is tried once before each turn.
func (p *Pool) compactThread(h *thread, more int) bool {
	if h.Tokens == 0 {
		return false
	}
	limits := p.contextLimits()
	tokens := h.Tokens + more
	if limits.Decide(tokens) == history.Condense {
		if !h.Tried && p.checkCondensable(h) == nil {
			p.beginCondense(h, true)
			return true
		}
	}
	limits.Threshold = 0
	if limits.Decide(tokens) == history.Truncate {
		p.truncateThread(h)
	}
	return false
}

// truncateThread hides the older half of the visible messages and reports whether there was
// anything to hide. The agent's next turn begins with the rest.
func (p *Pool) truncateThread(h *thread) bool {
	if p.hideOlderHalf(h) == 0 {
		return false
	}
	p.boundThread(h)
	p.resetProviderSession(h)
	return true
}

// resetProviderSession closes the agent's provider session and drops the backend's thread id,
// so that the next turn begins with the current thread.
func (p *Pool) resetProviderSession(h *thread) {
	h.stale, h.ID = false, ""
	p.storeThread(h)
	p.step.AfterCommit(func() { p.runner.Dispose(h.agent) })
}
