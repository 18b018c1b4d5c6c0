package tracing

import (
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// The types below are the part of OTLP/JSON that the exporter sends. In that
// encoding ids are hexadecimal, 64-bit integers are strings and enumerations are
// numbers.

type otlpTraces struct {
	ResourceSpans []otlpResourceSpans `json:"resourceSpans"`
}

type otlpResourceSpans struct {
	Resource   otlpResource     `json:"resource"`
	ScopeSpans []otlpScopeSpans `json:"scopeSpans"`
}

type otlpResource struct {
	Attributes []otlpAttribute `json:"attributes"`
}

type otlpScopeSpans struct {
	Scope otlpScope  `json:"scope"`
	Spans []otlpSpan `json:"spans"`
}

type otlpScope struct {
	Name string `json:"name"`
}

type otlpSpan struct {
	TraceID      string          `json:"traceId"`
	SpanID       string          `json:"spanId"`
	ParentSpanID string          `json:"parentSpanId,omitempty"`
	Name         string          `json:"name"`
	Kind         int             `json:"kind"`
	Flags        uint32          `json:"flags"`
	Start        int64           `json:"startTimeUnixNano,string"`
	End          int64           `json:"endTimeUnixNano,string"`
	Attributes   []otlpAttribute `json:"attributes"`
	Links        []otlpLink      `json:"links,omitempty"`
	Status       otlpStatus      `json:"status"`
}

type otlpLink struct {
	TraceID string `json:"traceId"`
	SpanID  string `json:"spanId"`
	Flags   uint32 `json:"flags"`
}

type otlpStatus struct {
	Code int `json:"code,omitempty"`
}

type otlpAttribute struct {
	Key   string    `json:"key"`
	Value otlpValue `json:"value"`
}

// otlpValue has exactly one field set.
type otlpValue struct {
	String *string  `json:"stringValue,omitempty"`
	Int    *string  `json:"intValue,omitempty"`
	Bool   *bool    `json:"boolValue,omitempty"`
	Double *float64 `json:"doubleValue,omitempty"`
}

// Numbers of OTLP enumerations.
const (
	otlpKindInternal = 1
	otlpKindServer   = 2
	otlpKindClient   = 3
	otlpKindProducer = 4

	otlpStatusError = 2
)

// toOTLP converts spans, which all have the same resource and scope.
func toOTLP(spans []sdk.ReadOnlySpan) otlpTraces {
	out := make([]otlpSpan, len(spans))
	for i, s := range spans {
		out[i] = toOTLPSpan(s)
	}
	return otlpTraces{ResourceSpans: []otlpResourceSpans{{
		Resource: otlpResource{Attributes: toOTLPAttributes(spans[0].Resource().Attributes())},
		ScopeSpans: []otlpScopeSpans{{
			Scope: otlpScope{Name: spans[0].InstrumentationScope().Name}, Spans: out,
		}},
	}}}
}

func toOTLPSpan(s sdk.ReadOnlySpan) otlpSpan {
	self := s.SpanContext()
	out := otlpSpan{
		TraceID: self.TraceID().String(), SpanID: self.SpanID().String(), Name: s.Name(), Kind: toOTLPKind(s.SpanKind()),
		Flags: uint32(self.TraceFlags()), Start: s.StartTime().UnixNano(), End: s.EndTime().UnixNano(),
		Attributes: toOTLPAttributes(s.Attributes()),
	}
	if parent := s.Parent().SpanID(); parent.IsValid() {
		out.ParentSpanID = parent.String()
	}
	if s.Status().Code == codes.Error {
		out.Status.Code = otlpStatusError
	}
	for _, l := range s.Links() {
		to := l.SpanContext
		out.Links = append(out.Links, otlpLink{TraceID: to.TraceID().String(), SpanID: to.SpanID().String(), Flags: uint32(to.TraceFlags())})
	}
	return out
}

func toOTLPKind(k trace.SpanKind) int {
	switch k {
	case trace.SpanKindServer:
		return otlpKindServer
	case trace.SpanKindClient:
		return otlpKindClient
	case trace.SpanKindProducer:
		return otlpKindProducer
	default:
		return otlpKindInternal
	}
}

func toOTLPAttributes(list []attribute.KeyValue) []otlpAttribute {
	out := make([]otlpAttribute, len(list))
	for i, a := range list {
		var v otlpValue
		switch a.Value.Type() {
		case attribute.BOOL:
			v.Bool = new(a.Value.AsBool())
		case attribute.INT64:
			v.Int = new(strconv.FormatInt(a.Value.AsInt64(), 10))
		case attribute.FLOAT64:
			v.Double = new(a.Value.AsFloat64())
		default:
			v.String = new(a.Value.String())
		}
		out[i] = otlpAttribute{Key: string(a.Key), Value: v}
	}
	return out
}
