package mcpclient

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/everdesk/everdesk/providers/outbound"
)

// All messages of an SSE server are in one response, so only other responses have a bound.
func TestStreamsHaveNoTotalBound(t *testing.T) {
	t.Parallel()
	const sent = outbound.DefaultMaxBody + 1<<20
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
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
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			res, err := m.clientOf(source{s, ofUser}).Do(request)
			if err != nil {
				t.Fatal(err)
			}
			n, err := io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
			if s.Type == SSE && (err != nil || n != sent) {
				t.Errorf("%s, of a user %v: got %d bytes, %v, want %d", s.Type, ofUser, n, err, sent)
			}
			if s.Type == HTTP && !errors.Is(err, outbound.ErrTooLarge) {
				t.Errorf("%s, of a user %v: got %d bytes, %v, want %v", s.Type, ofUser, n, err, outbound.ErrTooLarge)
			}
		}
	}
}
