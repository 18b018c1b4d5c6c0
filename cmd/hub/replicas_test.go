package main

import (
	"net/http"
	"strings"
	"testing"
)

// Without --server the request goes to the admin address of the local hub.
func TestReplicasAtTheAdminAddress(t *testing.T) {
	t.Parallel()
	d := newAdminDesk(t, map[string]http.HandlerFunc{
		"GET /api/admin/replicas": answerWith(map[string]any{"replicas": []any{map[string]any{"id": "one", "state": "serving"}}}),
	})
	for _, command := range [][]string{{"replicas"}, {"admin", "replicas"}} {
		var out, stderr strings.Builder
		code := run(t.Context(), append(command, "--token", "t", "--addr", "127.0.0.1:1", "--admin-addr", d.Listener.Addr().String()), nil, &out, &stderr)
		if code != exitOK || !strings.Contains(out.String(), "one ") {
			t.Errorf("hub %v: code %d, %q, %q", command, code, out.String(), stderr.String())
		}
	}
}

// At an address without the admin API the error names the possible causes.
func TestReplicasElsewhere(t *testing.T) {
	t.Parallel()
	d := newAdminDesk(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"status":404,"detail":"Nothing is at that address."}`))
	}})
	for _, command := range [][]string{
		{"replicas"},
		{"drain", "one", "--reason", "x"},
		{"admin", "overview"},
		{"admin", "sessions"},
		{"admin", "tail", "ses-1"},
		{"admin", "interrupt", "ses-1", "--reason", "x"},
		{"admin", "drain", "one", "--reason", "x"},
		{"admin", "audit"},
	} {
		var out, stderr strings.Builder
		code := run(t.Context(), append(command, "--token", "t", "--server", d.URL), nil, &out, &stderr)
		if code != exitFailure || !strings.Contains(stderr.String(), "--admin-addr") || !strings.Contains(stderr.String(), "as --server") {
			t.Errorf("hub %v: code %d, %q", command, code, stderr.String())
		}
	}
}
