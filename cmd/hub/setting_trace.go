package main

import (
	"context"
	"errors"
	"strconv"

	"github.com/everdesk/everdesk/tracing"
)

// traceConfig holds the settings of tracing.
type traceConfig struct {
	endpoint string // empty means off
	headers  string
	ratio    float64
	// genAI names attributes as the semantic conventions for generative AI do.
	genAI bool
}

// traceSettings returns the settings of tracing.
func traceSettings() []setting {
	return []setting{
		{
			name: "otlp-endpoint", arg: "URL",
			help: "the URL of an OpenTelemetry collector that receives traces of messages, as in\n" +
				"http://collector:4318; without it nothing is traced",
			parse: func(c *config, s string) error {
				if s == "" {
					return nil
				}
				return parseModelURL(&c.trace.endpoint, s)
			},
		},
		{
			name: "otlp-headers", arg: "NAME=VALUE,…", older: "OTEL_EXPORTER_OTLP_HEADERS", show: hidden,
			help:  "headers for the collector, such as a key; values are URL-encoded",
			parse: func(c *config, s string) error { c.trace.headers = s; return tracing.CheckHeaders(s) },
		},
		{
			name: "trace-ratio", arg: "PART", value: "1.0",
			help:  "the part of all messages that is traced, from 0 to 1; use the same on all replicas",
			parse: func(c *config, s string) error { return parseRatio(&c.trace.ratio, s) },
		},
		{
			name: "trace-genai", value: "false",
			help: "name the attributes of agents, models and tools in traces as the semantic conventions of OpenTelemetry\n" +
				"for generative AI do, as in gen_ai.request.model; they are in development and may change. Otherwise\n" +
				"the names begin with everdesk",
			parse: func(c *config, s string) (err error) { c.trace.genAI, err = parseSwitch(s); return err },
		},
	}
}

func parseRatio(field *float64, s string) error {
	part, err := strconv.ParseFloat(s, 64)
	if err != nil || !(part >= 0 && part <= 1) { // false for NaN as well
		return errors.New("want a number from 0 to 1, as in 0.1")
	}
	*field = part
	return nil
}

// tracer creates the tracer; nil if tracing is off.
func (c config) tracer(ctx context.Context, p process) (*tracing.Tracer, error) {
	if c.trace.endpoint == "" {
		return nil, nil
	}
	p.log.InfoContext(ctx, "tracing enabled", "endpoint", c.trace.endpoint, "ratio", c.trace.ratio)
	return tracing.New(ctx, tracing.Config{
		Endpoint: c.trace.endpoint, Headers: c.trace.headers, Ratio: c.trace.ratio, GenAI: c.trace.genAI, Replica: p.replica, Version: version(), Logger: p.log,
	})
}
