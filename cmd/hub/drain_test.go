package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// drain --wait reports why it could not poll the state of the replica.
func TestDrainThatNobodyCanFollow(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer server.Close()
	var out strings.Builder
	err := drain(t.Context(), program{
		args: []string{"one", "--server", server.URL, "--token", "t", "--wait", "50ms"}, stdout: &out, stderr: &out,
	})
	if err == nil || !strings.Contains(err.Error(), "one is not drained after 50ms") || !strings.Contains(err.Error(), "list replicas: ") {
		t.Errorf("%q, %v", out.String(), err)
	}
}
