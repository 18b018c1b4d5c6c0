package mcpclient

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// The operator's server is reachable at a private address also if a variable of the environment names its host. A secret,
// which may be that of a user, makes no address reachable.
func TestOperatorURLsWithVariables(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	m := NewManager(Config{
		Operator: []Server{
			{Name: "named", Type: HTTP, URL: "http://${env:MCP_HOST}/mcp?key=${secret:KEY}"},
			{Name: "short", Type: HTTP, URL: "http://${MCP_HOST}/mcp"},
			{Name: "default", Type: HTTP, URL: "http://${OTHER:-" + u.Host + "}/mcp"},
			{Name: "secret", Type: HTTP, URL: "http://${secret:MCP_HOST}/mcp"},
		},
		Env: func(name string) (string, bool) { return u.Host, name == "MCP_HOST" },
	})
	t.Cleanup(m.Close)
	for name, want := range map[string]bool{"named": true, "short": true, "default": true, "secret": false} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := m.operator[name].Do(req)
		if err == nil {
			_ = res.Body.Close()
		}
		if got := err == nil; got != want {
			t.Errorf("the server of %s is reachable: got %v (%v), want %v", name, got, err, want)
		}
		if err != nil && !strings.Contains(err.Error(), "--web-hosts") {
			t.Errorf("the error for the server of %s: got %v, want it to name --web-hosts", name, err)
		}
	}
}
