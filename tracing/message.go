package tracing

import (
	"context"
	"maps"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

var _ session.Tracer = (*Tracer)(nil)

// Bounds of the received messages without an answer: their number, and their age when the number is
// reached.
const (
	maxPending = 4096
	pendingTTL = time.Minute
)

// key identifies a message.
type key struct {
	session wire.SessionID
	message wire.MessageID
}

// receivedMessage is a message that this replica has read.
type receivedMessage struct {
	at time.Time
	// clientSpan is the client's span, if it sent a traceparent.
	clientSpan trace.SpanContext
}

// MessageReceived records that this replica has read a message. The client's traceparent becomes a
// link: a client cannot choose the trace id.
func (t *Tracer) MessageReceived(session wire.SessionID, message wire.MessageID, traceparent string) {
	if _, ok := t.sampledRoot(session, message); !ok {
		return
	}
	v := receivedMessage{at: time.Now()}
	if traceparent != "" {
		carrier := propagation.MapCarrier{"traceparent": traceparent}
		v.clientSpan = trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.pending) >= maxPending && v.at.Sub(t.lastSweep) > time.Second {
		t.lastSweep = v.at
		maps.DeleteFunc(t.pending, func(_ key, old receivedMessage) bool { return v.at.Sub(old.at) > pendingTTL })
	}
	k := key{session, message}
	if _, again := t.pending[k]; !again && len(t.pending) < maxPending {
		t.pending[k] = v
	}
	t.pendingCount.Store(int64(len(t.pending)))
}

// Committed implements [session.Tracer].
func (t *Tracer) Committed(session wire.SessionID, epoch uint64, events []broadcast.Event, began time.Time) {
	now := time.Now()
	for i := range events {
		e := &events[i]
		message, promise := answerIn(e.Data)
		root, ok := t.sampledRoot(session, message)
		if !ok {
			continue
		}
		_, span := t.tracer.Start(childContext(root), spanAppend, trace.WithTimestamp(began), t.attributes(session, message,
			attribute.String(hubAnswer, promise), attribute.Int64(hubEpoch, int64(epoch)), //nolint:gosec // epochs are milliseconds
			attribute.Int(hubEvents, len(events)), attribute.String(hubPosition, e.At.String())))
		span.End(trace.WithTimestamp(now))
	}
}

// answerIn returns the message that an event answers, and the kind of answer.
func answerIn(data wire.ServerPayload) (wire.MessageID, string) {
	switch p := data.(type) {
	case wire.MessageAccepted:
		if !p.Duplicate {
			return p.MessageID, "accepted"
		}
	case wire.MessageQueued:
		if !p.Duplicate {
			return p.MessageID, "queued"
		}
	case wire.MessageRejected:
		if !p.Duplicate {
			return p.MessageID, "rejected"
		}
	case wire.AgentResponse:
		if p.IsComplete {
			return p.MessageID, "ended"
		}
	case wire.TurnInterrupted:
		return p.MessageID, "interrupted"
	}
	return "", ""
}

// Published implements [session.Tracer].
func (t *Tracer) Published(session wire.SessionID, events []broadcast.Event, tabs int, began time.Time) {
	for i := range events {
		e := &events[i]
		switch p := e.Data.(type) {
		case wire.MessageAccepted:
			t.endAccept(session, p.MessageID, p.Duplicate, attribute.String(hubAnswer, "accepted"), attribute.String(hubTaken, string(p.How)))
		case wire.MessageQueued:
			t.endAccept(session, p.MessageID, p.Duplicate, attribute.String(hubAnswer, "queued"))
		case wire.MessageRejected:
			t.endAccept(session, p.MessageID, p.Duplicate, attribute.String(hubAnswer, "rejected"), attribute.Int(errorType, int(p.Code)))
		case wire.AgentResponse:
			if p.IsComplete {
				t.recordDelivery(session, p.MessageID, e, string(p.Outcome), tabs, began)
			}
		case wire.TurnInterrupted:
			t.recordDelivery(session, p.MessageID, e, "interrupted", tabs, began)
		}
	}
}

// endAccept ends the root span of a trace, if it began on this replica. For a repeated message it
// creates another span below the root.
func (t *Tracer) endAccept(session wire.SessionID, message wire.MessageID, duplicate bool, more ...attribute.KeyValue) {
	if t.pendingCount.Load() == 0 {
		return
	}
	k := key{session, message}
	t.mu.Lock()
	v, ok := t.pending[k]
	delete(t.pending, k)
	t.pendingCount.Store(int64(len(t.pending)))
	t.mu.Unlock()
	if !ok {
		return
	}
	root := rootSpan(session, message)
	options := []trace.SpanStartOption{
		trace.WithTimestamp(v.at), trace.WithSpanKind(trace.SpanKindServer), t.attributes(session, message, more...),
	}
	if v.clientSpan.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: v.clientSpan}))
	}
	ctx := childContext(root)
	if duplicate {
		options = append(options, trace.WithAttributes(attribute.Bool(hubDuplicate, true)))
	} else {
		ctx = context.WithValue(context.Background(), rootKey{}, root)
		options = append(options, trace.WithNewRoot())
	}
	_, span := t.tracer.Start(ctx, spanAccept, options...)
	span.End()
}

// recordDelivery records that the end of a turn was written to the tabs of this replica, if it has
// any.
func (t *Tracer) recordDelivery(session wire.SessionID, message wire.MessageID, e *broadcast.Event, outcome string, tabs int, began time.Time) {
	if tabs == 0 {
		return
	}
	root, ok := t.sampledRoot(session, message)
	if !ok {
		return
	}
	_, span := t.tracer.Start(childContext(root), spanDeliver, trace.WithTimestamp(began), trace.WithSpanKind(trace.SpanKindProducer),
		t.attributes(session, message, attribute.Int(hubTabs, tabs), attribute.String(hubOutcome, outcome), attribute.String(hubPosition, e.At.String())))
	if outcome == string(wire.OutcomeFailed) {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}
