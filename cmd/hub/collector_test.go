package main

import (
	"cmp"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/everdesk/everdesk/wire"
)

// seenSpan is what a collector was told.
type seenSpan struct {
	name, trace, id, parent string
	start, end              uint64
	links                   []string
	failed                  bool
	attributes              map[string]any
	resource                map[string]any
}

func (s seenSpan) by() any { return s.attributes["everdesk.replica"] }

// collector takes traces.
type collector struct {
	url string

	mu     sync.Mutex // guards the following
	spans  []seenSpan
	raw    [][]byte
	grown  chan struct{} // closed when there are more
	header http.Header   // of the last request
}

func startCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{grown: make(chan struct{})}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var data otlp.TracesData
		if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &data) != nil {
			t.Errorf("the collector got a bad request for %s: %v", r.URL.Path, err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		c.take(&data, body, r.Header)
	}))
	t.Cleanup(s.Close)
	c.url = s.URL
	return c
}

func (c *collector) take(data *otlp.TracesData, raw []byte, header http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range data.GetResourceSpans() {
		resource := values(r.GetResource().GetAttributes())
		for _, scope := range r.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				span := seenSpan{
					name: s.GetName(), trace: hex.EncodeToString(s.GetTraceId()), id: hex.EncodeToString(s.GetSpanId()),
					parent: hex.EncodeToString(s.GetParentSpanId()), start: s.GetStartTimeUnixNano(), end: s.GetEndTimeUnixNano(),
					failed:     s.GetStatus().GetCode() == otlp.Status_STATUS_CODE_ERROR,
					attributes: values(s.GetAttributes()), resource: resource,
				}
				for _, l := range s.GetLinks() {
					span.links = append(span.links, hex.EncodeToString(l.GetTraceId())+"-"+hex.EncodeToString(l.GetSpanId()))
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

func values(list []*common.KeyValue) map[string]any {
	out := map[string]any{}
	for _, a := range list {
		switch v := a.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			out[a.GetKey()] = v.StringValue
		case *common.AnyValue_IntValue:
			out[a.GetKey()] = v.IntValue
		case *common.AnyValue_BoolValue:
			out[a.GetKey()] = v.BoolValue
		case *common.AnyValue_DoubleValue:
			out[a.GetKey()] = v.DoubleValue
		}
	}
	return out
}

// about waits until the spans of a message are enough, and returns them in the order
// in which they began.
func (c *collector) about(t *testing.T, message wire.MessageID, enough func([]seenSpan) bool) []seenSpan {
	t.Helper()
	late := time.After(patienceOfTests)
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

// has reports whether there is a span of that name with an attribute.
func has(spans []seenSpan, name, attribute string, value any) bool {
	return slices.ContainsFunc(spans, func(s seenSpan) bool { return s.name == name && s.attributes[attribute] == value })
}

// oneTrace checks that spans are one trace with one root, and returns that.
func oneTrace(t *testing.T, spans []seenSpan) seenSpan {
	t.Helper()
	var root seenSpan
	ids := map[string]bool{}
	for _, s := range spans {
		if ids[s.id] {
			t.Errorf("two spans have the id %s", s.id)
		}
		ids[s.id] = true
		switch {
		case s.parent == "" && root.id != "":
			t.Errorf("%s and %s are both without a parent", root.name, s.name)
		case s.parent == "":
			root = s
		}
		if s.trace != spans[0].trace {
			t.Errorf("%s is in trace %s and %s in %s", s.name, s.trace, spans[0].name, spans[0].trace)
		}
		if s.end < s.start {
			t.Errorf("%s ends before it begins", s.name)
		}
	}
	for _, s := range spans {
		if s.parent != "" && !ids[s.parent] {
			t.Errorf("the parent of %s is not there", s.name)
		}
	}
	return root
}
