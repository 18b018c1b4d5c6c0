package admin

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
)

// drain --wait reports why it could not poll the state of the replica.
func TestDrainThatCannotBeFollowed(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer server.Close()
	code, out, stderr := execute(t.Context(), command.Local{}, "drain", "one", "--server", server.URL, "--token", "t", "--wait", "50ms")
	if code != command.ExitFailure || !strings.Contains(stderr, "one is not drained after 50ms") || !strings.Contains(stderr, "list replicas: ") {
		t.Errorf("drain: got code %d, %q, %q, want code %d and that one is not drained after 50ms", code, out, stderr, command.ExitFailure)
	}
}
