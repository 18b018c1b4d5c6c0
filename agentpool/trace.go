package agentpool

import "github.com/everdesk/everdesk/providers"

// Tracer follows what runs do. It must not wait.
type Tracer interface {
	// Run follows a run that was started; nil follows nothing.
	Run(e SessionRef, r *Run) RunTrace
}

// RunTrace follows one run. Asked and Tool may be called by many goroutines.
type RunTrace interface {
	// Began says that the run has its slot.
	Began()
	// Asked says that a call of the model is over.
	Asked(a providers.Asked)
	// Tool says that a tool is called, and what it returns that it has ended.
	Tool(c providers.ToolCall) (ended func(providers.ToolResult))
	// Ended says how the run ended; left that nobody hears of it any more, as
	// when somebody else owns the session.
	Ended(e Ended, left bool)
}

// asked tells of a call of the model in whoever's turn it is.
func (t *providerSession) asked(a providers.Asked) {
	t.mu.Lock()
	l := t.turn
	t.mu.Unlock()
	if l != nil && l.trace != nil {
		l.trace.Asked(a)
	}
}

// use uses a tool.
func (l *activeRun) use(call providers.ToolCall, with func() providers.ToolResult) (r providers.ToolResult) {
	if l.trace == nil {
		return with()
	}
	ended := l.trace.Tool(call)
	defer func() { ended(r) }()
	r.IsError = true // unless it returns
	r = with()
	return r
}
