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
	// exportInterval also bounds the spans that a killed process loses.
	exportInterval = time.Second
	queueSize      = 4096
	requestTimeout = 5 * time.Second
	// shutdownTimeout bounds the sending of remaining spans in Close.
	shutdownTimeout = 2 * time.Second
)

// Config configures a [Tracer].
type Config struct {
	// Endpoint is the URL of the collector, without /v1/traces.
	Endpoint string
	// Headers are added to requests, in the format of OTEL_EXPORTER_OTLP_HEADERS.
	Headers string
	// Ratio is the share of messages that is traced. Replicas with the same ratio choose the same
	// messages.
	Ratio float64
	// GenAI names the attributes of agents, models and tools as the semantic conventions for generative
	// AI do. Those are in development; otherwise the names begin with everdesk and do not change.
	GenAI   bool
	Replica wire.ReplicaID
	Version string
	Logger  *slog.Logger
}

// Tracer records the traces of messages.
type Tracer struct {
	cfg      Config
	exporter *exporter
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	sampler  sdk.Sampler

	pendingCount atomic.Int64 // len(pending), to avoid the lock when it is 0
	mu           sync.Mutex   // guards the following
	pending      map[key]receivedMessage
	lastSweep    time.Time
}

// New returns a tracer. It connects to the collector when there is something to send.
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
		return nil, fmt.Errorf("describe the traced service: %w", err)
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

// Close sends the remaining spans, for at most shutdownTimeout.
func (t *Tracer) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	defer t.exporter.cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.cfg.Logger.WarnContext(ctx, "sending remaining traces failed", "err", err)
	}
}

// sampledRoot returns the root span of a message's trace, and whether the message is traced.
func (t *Tracer) sampledRoot(session wire.SessionID, message wire.MessageID) (trace.SpanContextConfig, bool) {
	if message == "" {
		return trace.SpanContextConfig{}, false
	}
	root := rootSpan(session, message)
	verdict := t.sampler.ShouldSample(sdk.SamplingParameters{TraceID: root.TraceID})
	return root, verdict.Decision == sdk.RecordAndSample
}

// childContext returns a context in which new spans are children of the root.
func childContext(root trace.SpanContextConfig) context.Context {
	return trace.ContextWithRemoteSpanContext(context.Background(), trace.NewSpanContext(root))
}

// attributes returns the attributes of every span.
func (t *Tracer) attributes(session wire.SessionID, message wire.MessageID, more ...attribute.KeyValue) trace.SpanStartEventOption {
	return trace.WithAttributes(append(more,
		attribute.String(hubSession, string(session)), attribute.String(hubMessage, string(message)),
		attribute.String(hubReplica, string(t.cfg.Replica)),
	)...)
}
