package admin

import (
	"net/http"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
)

// Without --server the request goes to the admin address of the local hub.
func TestReplicasAtTheAdminAddress(t *testing.T) {
	t.Parallel()
	d := newAdminServer(t, map[string]http.HandlerFunc{
		"GET /api/admin/replicas": answerWith(map[string]any{"replicas": []any{map[string]any{"id": "one", "state": "serving"}}}),
	})
	for _, args := range [][]string{{"replicas"}, {"admin", "replicas"}} {
		code, out, stderr := execute(t.Context(), command.Local{Addr: "127.0.0.1:1", AdminAddr: d.Listener.Addr().String()}, append(args, "--token", "t")...)
		if code != command.ExitOK || !strings.Contains(out, "one ") {
			t.Errorf("hub %v: got code %d, %q, %q, want code %d and the replica one", args, code, out, stderr, command.ExitOK)
		}
	}
}

// At an address without the admin API the error names the possible causes.
func TestReplicasElsewhere(t *testing.T) {
	t.Parallel()
	d := newAdminServer(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"status":404,"detail":"Nothing is at that address."}`))
	}})
	for _, args := range [][]string{
		{"replicas"},
		{"drain", "one", "--reason", "x"},
		{"admin", "overview"},
		{"admin", "sessions"},
		{"admin", "tail", "ses-1"},
		{"admin", "interrupt", "ses-1", "--reason", "x"},
		{"admin", "drain", "one", "--reason", "x"},
		{"admin", "audit"},
	} {
		code, _, stderr := execute(t.Context(), command.Local{}, append(args, "--token", "t", "--server", d.URL)...)
		if code != command.ExitFailure || !strings.Contains(stderr, "--admin-addr") || !strings.Contains(stderr, "as --server") {
			t.Errorf("hub %v: got code %d, %q, want code %d and a hint at --admin-addr", args, code, stderr, command.ExitFailure)
		}
	}
}
