package contextpool_test

import (
	"maps"
	"slices"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/providers"
)

// runner records the calls of the pool.
type runner struct {
	slots  int // free slots for TryReserve
	window int // context window of models in tokens
	steers bool
	has    []string
	userProviders
	scripted []string // providers that call no model

	runs        map[string]agentpool.Run // runs that have not ended
	started     []agentpool.Run
	steered     []agentpool.Steering
	interrupted []string
	disposed    []string
	launched    int
}

func (c *runner) TryReserve() *agentpool.Slot {
	if c.slots == 0 {
		return nil
	}
	c.slots--
	return &agentpool.Slot{}
}

func (c *runner) Start(r agentpool.Run) {
	c.runs[r.ID] = r
	c.started = append(c.started, r)
}

func (c *runner) Steer(s agentpool.Steering) { c.steered = append(c.steered, s) }

func (c *runner) Interrupt(run, reason string) {
	c.interrupted = append(c.interrupted, run+": "+reason)
}

func (c *runner) Caps(provider string) providers.Caps {
	return providers.Caps{Steer: c.steers, Window: c.window, Prefix: c.prefix, Scripted: slices.Contains(c.scripted, provider)}
}

func (c *runner) HasProvider(provider string) bool { return slices.Contains(c.has, provider) }
func (c *runner) Launch()                          { c.launched++ }

func (c *runner) Dispose(agent string) {
	c.disposed = append(c.disposed, agent)
	maps.DeleteFunc(c.runs, func(_ string, r agentpool.Run) bool { return r.Agent == agent })
}
