package agentpool

import "github.com/everdesk/everdesk/providers"

// Tracer traces runs. It must not block.
type Tracer interface {
	// Run starts the trace of a run; nil means that the run is not traced.
	Run(e SessionRef, r *Run) RunTrace
}

// RunTrace traces one run. ModelCall and Tool are safe for concurrent use.
type RunTrace interface {
	// Began is called when the run has its slot.
	Began()
	// ModelCall is called after each model call.
	ModelCall(a providers.ModelCall)
	// Tool is called when a tool call begins; the returned function when it has ended.
	Tool(c providers.ToolCall) (ended func(providers.ToolResult))
	// Ended is called with the end of the run. left says that the run no longer reports, for
	// example because another replica owns the session.
	Ended(e Ended, left bool)
}

// traceModelCall traces a model call of the run that uses the session.
func (t *providerSession) traceModelCall(a providers.ModelCall) {
	t.mu.Lock()
	ar := t.run
	t.mu.Unlock()
	if ar != nil && ar.trace != nil {
		ar.trace.ModelCall(a)
	}
}

// tracedCall executes a tool call with its trace.
func (ar *activeRun) tracedCall(call providers.ToolCall, with func() providers.ToolResult) (r providers.ToolResult) {
	if ar.trace == nil {
		return with()
	}
	ended := ar.trace.Tool(call)
	defer func() { ended(r) }()
	r.IsError = true // in case it panics
	r = with()
	return r
}
