package tracing

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
)

// form is how a collector wants spans. They are all of one resource and one scope.
func form(spans []sdk.ReadOnlySpan) *otlp.TracesData {
	out := make([]*otlp.Span, len(spans))
	for i, s := range spans {
		out[i] = formSpan(s)
	}
	return &otlp.TracesData{ResourceSpans: []*otlp.ResourceSpans{{
		Resource: &resource.Resource{Attributes: formAttributes(spans[0].Resource().Attributes())},
		ScopeSpans: []*otlp.ScopeSpans{{
			Scope: &common.InstrumentationScope{Name: spans[0].InstrumentationScope().Name}, Spans: out,
		}},
	}}}
}

func formSpan(s sdk.ReadOnlySpan) *otlp.Span {
	about, parent := s.SpanContext(), s.Parent()
	id, of := about.SpanID(), about.TraceID()
	out := &otlp.Span{
		TraceId: of[:], SpanId: id[:], Name: s.Name(), Kind: formKind(s.SpanKind()),
		StartTimeUnixNano: uint64(s.StartTime().UnixNano()), EndTimeUnixNano: uint64(s.EndTime().UnixNano()),
		Attributes: formAttributes(s.Attributes()), Flags: uint32(about.TraceFlags()), Status: &otlp.Status{},
	}
	if parent.SpanID().IsValid() {
		above := parent.SpanID()
		out.ParentSpanId = above[:]
	}
	if s.Status().Code == codes.Error {
		out.Status.Code = otlp.Status_STATUS_CODE_ERROR
	}
	for _, l := range s.Links() {
		trace, span := l.SpanContext.TraceID(), l.SpanContext.SpanID()
		out.Links = append(out.Links, &otlp.Span_Link{TraceId: trace[:], SpanId: span[:], Flags: uint32(l.SpanContext.TraceFlags())})
	}
	return out
}

func formKind(k trace.SpanKind) otlp.Span_SpanKind {
	switch k {
	case trace.SpanKindServer:
		return otlp.Span_SPAN_KIND_SERVER
	case trace.SpanKindClient:
		return otlp.Span_SPAN_KIND_CLIENT
	case trace.SpanKindProducer:
		return otlp.Span_SPAN_KIND_PRODUCER
	default:
		return otlp.Span_SPAN_KIND_INTERNAL
	}
}

func formAttributes(list []attribute.KeyValue) []*common.KeyValue {
	out := make([]*common.KeyValue, len(list))
	for i, a := range list {
		v := &common.AnyValue{}
		switch a.Value.Type() {
		case attribute.BOOL:
			v.Value = &common.AnyValue_BoolValue{BoolValue: a.Value.AsBool()}
		case attribute.INT64:
			v.Value = &common.AnyValue_IntValue{IntValue: a.Value.AsInt64()}
		case attribute.FLOAT64:
			v.Value = &common.AnyValue_DoubleValue{DoubleValue: a.Value.AsFloat64()}
		default:
			v.Value = &common.AnyValue_StringValue{StringValue: a.Value.String()}
		}
		out[i] = &common.KeyValue{Key: string(a.Key), Value: v}
	}
	return out
}
