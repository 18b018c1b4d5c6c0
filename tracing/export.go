package tracing

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// exporter sends spans to a collector as OTLP/JSON over HTTP. The SDK's own exporter would add
// gRPC, which doubles the size of the program, and generated protobuf code (see ADR 22). It logs
// once that sending fails and once that it works again; spans that it cannot send are lost.
type exporter struct {
	url         string
	header      http.Header
	client      *http.Client
	log         *slog.Logger
	unavailable atomic.Bool
	// ctx ends when [Tracer.Close] stops waiting for responses.
	ctx    context.Context
	cancel context.CancelFunc
}

func newExporter(endpoint, headers string, log *slog.Logger) (*exporter, error) {
	to, err := url.JoinPath(endpoint, "v1", "traces")
	if err != nil {
		return nil, err
	}
	header, err := parseHeaders(headers)
	if err != nil {
		return nil, err
	}
	header.Set("Content-Type", "application/json")
	header.Set("User-Agent", "everdesk")
	life, end := context.WithCancel(context.Background())
	return &exporter{
		url: to, header: header, log: log, ctx: life, cancel: end,
		client: &http.Client{Timeout: requestTimeout, Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxIdleConns: 1, IdleConnTimeout: time.Minute,
		}},
	}, nil
}

// CheckHeaders returns an error if [Config.Headers] are invalid.
func CheckHeaders(list string) error {
	_, err := parseHeaders(list)
	return err
}

// parseHeaders parses the format of OTEL_EXPORTER_OTLP_HEADERS: name=value, separated by commas,
// with URL-encoded values. Its error does not quote them: they may contain a secret.
func parseHeaders(list string) (http.Header, error) {
	header := http.Header{}
	for n, pair := range strings.Split(list, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || name == "" || err != nil || strings.ContainsAny(name+value, "\r\n\x00") {
			return nil, fmt.Errorf("want NAME=VALUE, separated by commas; entry %d is not", n+1)
		}
		header.Set(name, value)
	}
	return header, nil
}

// ExportSpans implements the SDK's SpanExporter. It never returns an error: the SDK would print
// each.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	err := e.send(ctx, spans)
	switch {
	case err != nil && !e.unavailable.Swap(true):
		e.log.WarnContext(ctx, "sending traces failed, dropping them", "endpoint", e.url, "err", err)
	case err == nil && e.unavailable.Swap(false):
		e.log.InfoContext(ctx, "sending traces resumed", "endpoint", e.url)
	}
	return nil
}

// send sends spans, with one retry if the collector asks for it.
func (e *exporter) send(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	body, err := json.Marshal(toOTLP(spans))
	if err != nil {
		return err
	}
	again, err := e.post(ctx, body)
	if !again || e.unavailable.Load() {
		return err
	}
	pause := time.NewTimer(exportInterval)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
		return err
	}
	_, err = e.post(ctx, body)
	return err
}

// post sends a request and reports whether a retry makes sense.
func (e *exporter) post(ctx context.Context, body []byte) (again bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	r.Header = e.header.Clone()
	answer, err := e.client.Do(r)
	if err != nil {
		return false, err
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, 64<<10) // so that the connection can be reused
	if answer.StatusCode/100 == 2 {
		return false, nil
	}
	switch answer.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	return again, fmt.Errorf("the collector answered %s", answer.Status)
}

// Shutdown implements the SDK's SpanExporter.
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}
