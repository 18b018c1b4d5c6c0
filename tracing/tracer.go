package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/everdesk/everdesk/wire"
)

// How spans are sent.
const (
	// exportInterval is how often, and so how much a process that is killed loses.
	exportInterval = time.Second
	queueSize      = 4096
	requestTimeout = 5 * time.Second
	// shutdownTimeout is how long the end waits for the rest to be sent.
	shutdownTimeout = 2 * time.Second
)

// Config is what a tracer is made of.
type Config struct {
	// Endpoint is where the collector is, without /v1/traces.
	Endpoint string
	// Headers are sent along, in the form of OTEL_EXPORTER_OTLP_HEADERS.
	Headers string
	// Ratio is the part of all messages that is followed. All replicas choose the
	// same ones if it is the same.
	Ratio   float64
	Replica wire.ReplicaID
	Version string
	Logger  *slog.Logger
}

// Tracer follows messages.
type Tracer struct {
	cfg      Config
	exporter *exporter
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	sampler  sdk.Sampler

	pendingCount atomic.Int64 // spares those who show something the lock
	mu           sync.Mutex   // guards the following
	pending      map[key]receivedMessage
	lastSweep    time.Time
}

// New makes a tracer. It connects to nobody before there is something to send.
func New(ctx context.Context, cfg Config) (*Tracer, error) {
	exporter, err := newExporter(cfg.Endpoint, cfg.Headers, cfg.Logger)
	if err != nil {
		return nil, fmt.Errorf("trace to %q: %w", cfg.Endpoint, err)
	}
	about, err := resource.New(ctx, resource.WithFromEnv(), resource.WithAttributes(
		attribute.String("service.name", "everdesk"),
		attribute.String("service.instance.id", string(cfg.Replica)),
		attribute.String("service.version", cfg.Version),
	))
	if err != nil {
		return nil, fmt.Errorf("say who traces: %w", err)
	}
	provider := sdk.NewTracerProvider(
		sdk.WithResource(about), sdk.WithIDGenerator(idGenerator{}), sdk.WithSampler(sdk.AlwaysSample()),
		sdk.WithBatcher(exporter,
			sdk.WithBatchTimeout(exportInterval), sdk.WithMaxQueueSize(queueSize), sdk.WithExportTimeout(2*requestTimeout)),
	)
	return &Tracer{
		cfg: cfg, exporter: exporter, provider: provider, tracer: provider.Tracer("github.com/everdesk/everdesk"),
		sampler: sdk.TraceIDRatioBased(cfg.Ratio), pending: map[key]receivedMessage{},
	}, nil
}

// Close sends what is left, but not for long.
func (t *Tracer) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	defer t.exporter.cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.cfg.Logger.WarnContext(ctx, "not all traces were sent", "err", err)
	}
}

// sampledRoot is the first span of a message's trace, if that is followed.
func (t *Tracer) sampledRoot(session wire.SessionID, message wire.MessageID) (trace.SpanContextConfig, bool) {
	if message == "" {
		return trace.SpanContextConfig{}, false
	}
	root := rootSpan(session, message)
	verdict := t.sampler.ShouldSample(sdk.SamplingParameters{TraceID: root.TraceID})
	return root, verdict.Decision == sdk.RecordAndSample
}

// childContext is a context in which spans are below the first one of a trace.
func childContext(root trace.SpanContextConfig) context.Context {
	return trace.ContextWithRemoteSpanContext(context.Background(), trace.NewSpanContext(root))
}

// attributes are the attributes that every span has.
func (t *Tracer) attributes(session wire.SessionID, message wire.MessageID, more ...attribute.KeyValue) trace.SpanStartEventOption {
	return trace.WithAttributes(append(more,
		attribute.String(deskSession, string(session)), attribute.String(deskMessage, string(message)),
		attribute.String(deskReplica, string(t.cfg.Replica)),
	)...)
}
