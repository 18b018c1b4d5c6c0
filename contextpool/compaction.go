package contextpool

import (
	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// compaction decides when a thread is summarised or truncated.
type compaction struct {
	*services
	budget  *monitorBudget
	turns   *turnSet
	threads *threadSet
	starter *turnStarter
}

// Reasons why a thread cannot be summarised now.
var (
	errBusy       = &history.Error{Code: wire.ReasonAgentBusy, Text: "the agent is busy"}
	errNoProvider = &history.Error{Code: wire.ReasonNoProvider, Text: "no agent could summarise the conversation"}
	errOverBudget = &history.Error{Code: wire.ReasonOverBudget, Text: "the monitor has used up its budget"}
	errTooMany    = &history.Error{Code: wire.ReasonTooManyAgents, Text: "too many agents are running"}
)

// condense implements [Pool.Condense].
func (c *compaction) condense(monitor wire.MonitorID) error {
	h := c.threads.byAgent[mainAgent(monitor)]
	if h == nil {
		return history.ErrTooShort
	}
	if err := c.checkCondensable(h); err != nil {
		return err
	}
	c.starter.beginCondense(h, false)
	return nil
}

// isCondensing reports whether the thread of the monitor's main agent is being summarised.
func (c *compaction) isCondensing(monitor wire.MonitorID) bool {
	t := c.turns.ofMain(monitor)
	return t != nil && t.Condensing != nil
}

// checkCondensable returns the reason why a thread cannot be summarised now, or nil.
func (c *compaction) checkCondensable(h *thread) error {
	_, err := history.CondenseInput(h.messages)
	switch {
	case c.turns.ofAgent(h.agent) != nil:
		return errBusy
	case err != nil:
		return err
	case !c.providers.HasProvider(c.turns.provider()):
		return errNoProvider
	case !h.isMain():
		return c.checkWindowTurn(h.Monitor)
	case !c.budget.allowsTurn(h.Monitor):
		return errOverBudget
	}
	return nil
}

// checkWindowTurn returns the reason why a turn of a window agent cannot begin now, or nil.
// Such turns do not count against the monitor's limit of concurrent turns.
func (c *compaction) checkWindowTurn(monitor wire.MonitorID) error {
	if _, _, denied := c.budget.denied(monitor); denied {
		return errOverBudget
	}
	if len(c.turns.byKey) >= maxTurns {
		return errTooMany
	}
	return nil
}

// contextUse returns the size of the main agent's thread, or nil if it is unknown.
func (c *compaction) contextUse(monitor wire.MonitorID) *wire.ContextUse {
	h := c.threads.byAgent[mainAgent(monitor)]
	if h == nil || h.Tokens == 0 {
		return nil
	}
	return &wire.ContextUse{Tokens: h.Tokens, Window: c.threads.contextLimits().Window, Condensing: c.isCondensing(monitor)}
}

func sameUse(a, b *wire.ContextUse) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// compactGrown compacts the threads that became too large in a turn.
func (c *compaction) compactGrown() {
	for _, agent := range c.threads.grown {
		if h := c.threads.byAgent[agent]; h != nil && c.turns.ofAgent(agent) == nil { // the end of a running turn records the agent again
			c.compactThread(h, 0)
		}
	}
	c.threads.grown = nil
}

// compactForMessage compacts the thread of the message's agent if the message would make it too
// large, and reports whether the message has to wait for the summary. A button with a turn of
// its own adds nothing to the thread.
func (c *compaction) compactForMessage(w *queuedMessage) bool {
	agent := mainAgent(w.Monitor)
	if w.Window != "" {
		agent = w.Agent
	}
	h := c.threads.byAgent[agent]
	if w.Action != "" || h == nil || h.Tried {
		return false
	}
	more := providers.Entry{Blocks: []providers.Block{{Kind: providers.BlockText, Text: w.Text}}}
	for i := range w.Images {
		more.Blocks = append(more.Blocks, providers.Block{Kind: providers.BlockImage, Image: &w.Images[i]})
	}
	return c.compactThread(h, history.Tokens([]providers.Entry{more}))
}

// compactThread summarises a thread that would be too large with more tokens added, or hides
// its older half if it cannot be summarised. It reports whether a summary was started, which
// takes a while; that is tried once before each turn.
func (c *compaction) compactThread(h *thread, more int) bool {
	if h.Tokens == 0 {
		return false
	}
	limits := c.threads.contextLimits()
	tokens := h.Tokens + more
	if limits.Decide(tokens) == history.Condense {
		if !h.Tried && c.checkCondensable(h) == nil {
			c.starter.beginCondense(h, true)
			return true
		}
	}
	limits.Threshold = 0
	if limits.Decide(tokens) == history.Truncate {
		c.threads.truncate(h)
	}
	return false
}
