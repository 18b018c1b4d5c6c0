// Package tracing traces: it follows a user's message from the door that took it to
// the tabs that see its answer, over all replicas.
package tracing

import (
	_ "go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp" // until they are used
	_ "go.opentelemetry.io/otel/sdk/trace"
)
