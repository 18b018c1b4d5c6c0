package tracing

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"

	"go.opentelemetry.io/otel/trace"

	"github.com/everdesk/everdesk/wire"
)

// rootSpan returns the trace id and the root span id of a message: a hash of the session and the
// message id. That they are zero is practically impossible.
func rootSpan(session wire.SessionID, message wire.MessageID) trace.SpanContextConfig {
	var buf [256]byte
	text := append(buf[:0], "everdesk trace\x00"...)
	text = append(text, session...)
	text = append(text, 0)
	text = append(text, message...)
	sum := sha256.Sum256(text)
	c := trace.SpanContextConfig{TraceFlags: trace.FlagsSampled, Remote: true}
	copy(c.TraceID[:], sum[:])
	copy(c.SpanID[:], sum[len(c.TraceID):])
	return c
}

// rootKey is the context key of the ids for a new root span.
type rootKey struct{}

// idGenerator takes the ids of a root span from the context, and generates random ones for other
// spans.
type idGenerator struct{}

// NewIDs implements the SDK's IDGenerator.
func (idGenerator) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	c, _ := ctx.Value(rootKey{}).(trace.SpanContextConfig)
	return c.TraceID, c.SpanID
}

// NewSpanID implements the SDK's IDGenerator.
func (idGenerator) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	// Random ids are enough within one trace; zero is invalid.
	binary.BigEndian.PutUint64(id[:], rand.Uint64()|1) //nolint:gosec // unpredictability is not needed
	return id
}
