package tracing

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"

	"go.opentelemetry.io/otel/trace"

	"github.com/everdesk/everdesk/wire"
)

// rootSpan is the trace of a message and its first span, as a hash of what the message
// is called. It is never zero: nobody finds a message that has such a hash.
func rootSpan(session wire.SessionID, message wire.MessageID) trace.SpanContextConfig {
	var room [256]byte
	text := append(room[:0], "everdesk trace\x00"...)
	text = append(text, session...)
	text = append(text, 0)
	text = append(text, message...)
	sum := sha256.Sum256(text)
	c := trace.SpanContextConfig{TraceFlags: trace.FlagsSampled, Remote: true}
	copy(c.TraceID[:], sum[:])
	copy(c.SpanID[:], sum[len(c.TraceID):])
	return c
}

// rootKey is where the name of a trace is whose first span is begun.
type rootKey struct{}

// idGenerator names spans: the first one of a trace as the context says, others by chance.
type idGenerator struct{}

// NewIDs implements the SDK's IDGenerator.
func (idGenerator) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	c, _ := ctx.Value(rootKey{}).(trace.SpanContextConfig)
	return c.TraceID, c.SpanID
}

// NewSpanID implements the SDK's IDGenerator.
func (idGenerator) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	// Chance is enough to tell spans of one trace apart; zero means none.
	binary.BigEndian.PutUint64(id[:], rand.Uint64()|1) //nolint:gosec // G404: nobody gains by guessing it
	return id
}
