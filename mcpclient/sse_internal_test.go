package mcpclient

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/everdesk/everdesk/providers/outbound"
)

// All messages of a connection are in one stream, so only other responses have a bound.
func TestStreamsHaveNoTotalBound(t *testing.T) {
	t.Parallel()
	const sent = outbound.DefaultMaxBody + 1<<20
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", r.URL.Query().Get("type"))
		part := make([]byte, 1<<20)
		for range sent / len(part) {
			if _, err := w.Write(part); err != nil {
				return // the client has closed the connection
			}
		}
	}))
	t.Cleanup(server.Close)
	hosts, err := outbound.ParseHosts("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	operator := []Server{{Name: "sse", Type: SSE, URL: server.URL}, {Name: "http", Type: HTTP, URL: server.URL}}
	m := NewManager(Config{Operator: operator, Hosts: hosts})
	t.Cleanup(m.Close)
	for _, s := range operator {
		for _, ofUser := range []bool{false, true} {
			transport := entryTransport{next: m.clientOf(source{s, ofUser}).Transport}
			for kind, want := range map[string]error{"text/event-stream%3B%20charset=utf-8": nil, "application/json": outbound.ErrTooLarge, "": outbound.ErrTooLarge} {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"?type="+kind, nil)
				if err != nil {
					t.Fatal(err)
				}
				res, err := transport.RoundTrip(request)
				if err != nil {
					t.Fatal(err)
				}
				n, err := io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
				if !errors.Is(err, want) || want == nil && n != sent {
					t.Errorf("%s, of a user %v, %q: got %d bytes and the error %v, want %d bytes or the error %v", s.Type, ofUser, kind, n, err, sent, want)
				}
			}
		}
	}
}
