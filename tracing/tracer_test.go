package tracing

import (
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// All replicas compute the same trace id of a message and sample the same messages.
func TestNamesAgree(t *testing.T) {
	t.Parallel()
	one, two := &Tracer{sampler: sdk.TraceIDRatioBased(0.5)}, &Tracer{sampler: sdk.TraceIDRatioBased(0.5)}
	followed, seen := 0, map[string]bool{}
	const all = 1000
	for n := range all {
		id := wire.MessageID(rune('a'+n%26)) + wire.MessageID(rune('0'+n/26))
		a, yes := one.sampledRoot("ses-1", id)
		b, also := two.sampledRoot("ses-1", id)
		if a.TraceID != b.TraceID || a.SpanID != b.SpanID || yes != also {
			t.Fatalf("roots of %s: got %v and %v, sampled %t and %t, want the same", id, a, b, yes, also)
		}
		if seen[a.TraceID.String()] || !a.TraceID.IsValid() || !a.SpanID.IsValid() {
			t.Errorf("root of %s: got %v, want a valid one that is new", id, a)
		}
		seen[a.TraceID.String()] = true
		if yes {
			followed++
		}
	}
	if followed < all/3 || followed > all*2/3 {
		t.Errorf("%d of %d are followed, want about half", followed, all)
	}
	if other, _ := one.sampledRoot("ses-2", "a0"); seen[other.TraceID.String()] {
		t.Error("two sessions share a trace")
	}
	if _, ok := one.sampledRoot("ses-1", ""); ok {
		t.Error("a message without an id is followed")
	}
}

func TestParseHeaders(t *testing.T) {
	t.Parallel()
	got, err := parseHeaders(" api-key = a%20b ,, other=x=y")
	if err != nil || got.Get("Api-Key") != "a b" || got.Get("Other") != "x=y" || len(got) != 2 {
		t.Errorf("headers: got %v, error %v, want Api-Key %q and Other %q", got, err, "a b", "x=y")
	}
	for _, bad := range []string{"secret", "=x", "a=%zz", "a=b%0d%0ac: d"} {
		if err := CheckHeaders(bad); err == nil {
			t.Errorf("headers %q: got them accepted, want them refused", bad)
		}
	}
}

// Messages that are never answered do not accumulate.
func TestReceivedSpansAreBounded(t *testing.T) {
	t.Parallel()
	tr := &Tracer{sampler: sdk.AlwaysSample(), pending: map[key]receivedMessage{}}
	for n := range maxPending + 100 {
		tr.MessageReceived("ses-1", wire.MessageID(string(rune(n+256))), "not a traceparent")
	}
	if len(tr.pending) != maxPending {
		t.Errorf("%d messages are remembered, want %d", len(tr.pending), maxPending)
	}
}
