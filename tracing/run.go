package tracing

import (
	"context"
	"errors"
	"regexp"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

var _ agentpool.Tracer = (*Tracer)(nil)

// run is the trace of one run of a turn.
type run struct {
	t       *Tracer
	root    trace.SpanContextConfig
	session wire.SessionID
	epoch   uint64
	run     agentpool.Run
	created time.Time

	mu    sync.Mutex // guards the following
	ctx   context.Context
	span  trace.Span
	usage providers.Usage
}

// Run implements [agentpool.Tracer].
func (t *Tracer) Run(e agentpool.SessionRef, r *agentpool.Run) agentpool.RunTrace {
	root, ok := t.sampledRoot(e.Session, r.Turn)
	if !ok {
		return nil
	}
	// A copy without the prompt: the trace may outlive the run.
	of := agentpool.Run{Role: r.Role, Kind: r.Kind, Turn: r.Turn, Provider: r.Provider, Attempt: r.Attempt, Waited: r.Waited}
	return &run{t: t, root: root, session: e.Session, epoch: e.Epoch, run: of, created: time.Now()}
}

// Began implements [agentpool.RunTrace].
func (r *run) Began() {
	now := time.Now()
	if r.run.Attempt == 1 && r.run.Kind != wire.AgentTask {
		_, queue := r.t.tracer.Start(childContext(r.root), spanQueue, trace.WithTimestamp(r.created.Add(-max(r.run.Waited, 0))), r.attributes())
		queue.End(trace.WithTimestamp(now))
	}
	r.begin(now)
}

// begin starts the span of the run, unless it has started.
func (r *run) begin(at time.Time) (context.Context, trace.Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.span == nil {
		r.ctx, r.span = r.t.tracer.Start(childContext(r.root), operationAgent+" "+string(r.run.Kind), trace.WithTimestamp(at), r.attributes(
			attribute.String(r.t.genAI(genOperation), operationAgent), attribute.String(r.t.genAI(genProvider), r.run.Provider),
			attribute.String(r.t.genAI(genAgentID), string(r.run.Role)), attribute.String(r.t.genAI(genAgentName), string(r.run.Kind)),
		))
	}
	return r.ctx, r.span
}

// attributes returns the attributes of all spans of the run.
func (r *run) attributes(more ...attribute.KeyValue) trace.SpanStartEventOption {
	return r.t.attributes(r.session, r.run.Turn, append(more,
		attribute.Int64(hubEpoch, int64(r.epoch)), //nolint:gosec // epochs are milliseconds
		attribute.Int(hubAttempt, r.run.Attempt))...)
}

// ModelCall implements [agentpool.RunTrace].
func (r *run) ModelCall(a providers.ModelCall) {
	ctx, _ := r.begin(a.Began)
	r.mu.Lock()
	r.usage = r.usage.Add(a.Usage)
	r.mu.Unlock()
	_, span := r.t.tracer.Start(ctx, operationChat+" "+a.Model, trace.WithTimestamp(a.Began), trace.WithSpanKind(trace.SpanKindClient), r.attributes(
		attribute.String(r.t.genAI(genOperation), operationChat), attribute.String(r.t.genAI(genProvider), r.run.Provider), attribute.String(r.t.genAI(genModel), a.Model),
	))
	if !a.First.IsZero() {
		span.SetAttributes(attribute.Float64(r.t.genAI(genFirstChunk), a.First.Sub(a.Began).Seconds()))
	}
	span.SetAttributes(r.usageAttributes(a.Usage)...)
	if a.Err != nil {
		setError(span, a.Err)
	}
	span.End(trace.WithTimestamp(a.Ended))
}

// usageAttributes returns the token counts of a model call. Cached tokens are part of the input.
func (r *run) usageAttributes(u providers.Usage) []attribute.KeyValue {
	if u == (providers.Usage{}) {
		return nil
	}
	return []attribute.KeyValue{
		attribute.Int(r.t.genAI(genInput), u.Input+u.CacheRead+u.CacheWrite), attribute.Int(r.t.genAI(genOutput), u.Output),
		attribute.Int(r.t.genAI(genCacheRead), u.CacheRead), attribute.Int(r.t.genAI(genCacheWrite), u.CacheWrite),
	}
}

// setError marks a span as failed with the class of the error, without its text, which may quote
// content.
func setError(span trace.Span, err error) {
	class := "cancelled"
	if f, ok := errors.AsType[*providers.Failure](err); ok {
		class = string(f.Class)
	} else if !errors.Is(err, context.Canceled) {
		class = "other"
	}
	span.SetAttributes(attribute.String(errorType, class))
	span.SetStatus(codes.Error, "")
}

// plainName matches valid names of tools. Names that a model made up are not exported.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,64}$`)

// Tool implements [agentpool.RunTrace].
func (r *run) Tool(c providers.ToolCall) func(providers.ToolResult) {
	tool := c.Name
	if !plainName.MatchString(tool) {
		tool = "unknown"
	}
	ctx, _ := r.begin(time.Now())
	_, span := r.t.tracer.Start(ctx, operationTool+" "+tool, r.attributes(
		attribute.String(r.t.genAI(genOperation), operationTool), attribute.String(r.t.genAI(genToolName), tool),
	))
	if plainName.MatchString(c.ID) {
		span.SetAttributes(attribute.String(r.t.genAI(genToolCall), c.ID))
	}
	return func(result providers.ToolResult) {
		if result.IsError {
			span.SetAttributes(attribute.String(errorType, "tool_error"))
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

// Ended implements [agentpool.RunTrace].
func (r *run) Ended(e agentpool.Ended, left bool) {
	_, span := r.begin(r.created)
	r.mu.Lock()
	span.SetAttributes(r.usageAttributes(r.usage)...)
	r.mu.Unlock()
	outcome := string(e.Outcome)
	switch {
	case left: // another replica continues the turn, or it is not needed any more
		outcome = "left"
	case e.Outcome == providers.Failed && e.Failure != nil:
		setError(span, e.Failure)
	}
	span.SetAttributes(attribute.String(hubOutcome, outcome))
	span.End()
}
