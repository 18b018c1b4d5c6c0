package main

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// seenSpan is a span that a collector received.
type seenSpan struct {
	name, trace, id, parent string
	start, end              uint64
	links                   []string
	failed                  bool
	attributes              map[string]any
	resource                map[string]any
}

func (s seenSpan) by() any { return s.attributes["everdesk.replica"] }

// collector is an OpenTelemetry collector that records the spans it receives.
type collector struct {
	url string

	mu     sync.Mutex // guards the following
	spans  []seenSpan
	raw    [][]byte
	grown  chan struct{} // closed and replaced when spans arrive
	header http.Header   // of the last request
}

func startCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{grown: make(chan struct{})}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var data otlpTraces
		if err == nil {
			err = json.Unmarshal(body, &data)
		}
		if kind := r.Header.Get("Content-Type"); err != nil || r.URL.Path != "/v1/traces" || kind != "application/json" {
			t.Errorf("the collector got %q at %s (%v), want application/json at /v1/traces", kind, r.URL.Path, err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		c.take(&data, body, r.Header)
	}))
	t.Cleanup(s.Close)
	c.url = s.URL
	return c
}

// otlpTraces is OTLP/JSON as specified, independent of the exporter's own types.
type otlpTraces struct {
	ResourceSpans []struct {
		Resource   struct{ Attributes []otlpAttribute }
		ScopeSpans []struct {
			Spans []struct {
				Name, TraceID, SpanID, ParentSpanID string
				StartTimeUnixNano                   uint64 `json:",string"`
				EndTimeUnixNano                     uint64 `json:",string"`
				Status                              struct{ Code int }
				Attributes                          []otlpAttribute
				Links                               []struct{ TraceID, SpanID string }
			}
		}
	}
}

type otlpAttribute struct {
	Key   string
	Value struct {
		StringValue *string
		IntValue    *int64 `json:",string"`
		BoolValue   *bool
		DoubleValue *float64
	}
}

func (c *collector) take(data *otlpTraces, raw []byte, header http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range data.ResourceSpans {
		resource := values(r.Resource.Attributes)
		for _, scope := range r.ScopeSpans {
			for _, s := range scope.Spans {
				span := seenSpan{
					name: s.Name, trace: s.TraceID, id: s.SpanID, parent: s.ParentSpanID,
					start: s.StartTimeUnixNano, end: s.EndTimeUnixNano, failed: s.Status.Code == 2,
					attributes: values(s.Attributes), resource: resource,
				}
				for _, l := range s.Links {
					span.links = append(span.links, l.TraceID+"-"+l.SpanID)
				}
				c.spans = append(c.spans, span)
			}
		}
	}
	c.raw = append(c.raw, raw)
	c.header = header
	close(c.grown)
	c.grown = make(chan struct{})
}

func values(list []otlpAttribute) map[string]any {
	out := map[string]any{}
	for _, a := range list {
		switch v := a.Value; {
		case v.StringValue != nil:
			out[a.Key] = *v.StringValue
		case v.IntValue != nil:
			out[a.Key] = *v.IntValue
		case v.BoolValue != nil:
			out[a.Key] = *v.BoolValue
		case v.DoubleValue != nil:
			out[a.Key] = *v.DoubleValue
		}
	}
	return out
}

// about waits until enough returns true for the spans of a message, and returns them in the order
// of their start.
func (c *collector) about(t *testing.T, message wire.MessageID, enough func([]seenSpan) bool) []seenSpan {
	t.Helper()
	late := time.After(waitTimeout)
	for {
		c.mu.Lock()
		grown := c.grown
		var spans []seenSpan
		for _, s := range c.spans {
			if s.attributes["everdesk.message_id"] == string(message) {
				spans = append(spans, s)
			}
		}
		c.mu.Unlock()
		slices.SortStableFunc(spans, func(a, b seenSpan) int { return cmp.Compare(a.start, b.start) })
		if enough(spans) {
			return spans
		}
		select {
		case <-grown:
		case <-late:
			t.Fatalf("the collector has only these spans of %s: %s", message, namesOf(spans))
		}
	}
}

func namesOf(spans []seenSpan) (names []string) {
	for _, s := range spans {
		names = append(names, s.name)
	}
	return names
}

// has reports whether a span of that name has the attribute with that value.
func has(spans []seenSpan, name, attribute string, value any) bool {
	return slices.ContainsFunc(spans, func(s seenSpan) bool { return s.name == name && s.attributes[attribute] == value })
}

// oneTrace checks that the spans are one trace with one root, and returns the root.
func oneTrace(t *testing.T, spans []seenSpan) seenSpan {
	t.Helper()
	var root seenSpan
	ids := map[string]bool{}
	for _, s := range spans {
		if ids[s.id] {
			t.Errorf("span ids: got %s twice, want it once", s.id)
		}
		ids[s.id] = true
		switch {
		case s.parent == "" && root.id != "":
			t.Errorf("spans without a parent: got %s and %s, want one", root.name, s.name)
		case s.parent == "":
			root = s
		}
		if s.trace != spans[0].trace {
			t.Errorf("trace of %s: got %s, want %s as %s has", s.name, s.trace, spans[0].trace, spans[0].name)
		}
		if s.end < s.start {
			t.Errorf("%s: got the end %v before the start %v, want it later", s.name, s.end, s.start)
		}
	}
	for _, s := range spans {
		if s.parent != "" && !ids[s.parent] {
			t.Errorf("the parent of %s is not there", s.name)
		}
	}
	return root
}
