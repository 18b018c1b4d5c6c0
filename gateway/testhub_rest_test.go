package gateway_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/wire"
)

// reply is a complete HTTP response.
type reply struct {
	t      testing.TB
	what   string
	status int
	header http.Header
	body   []byte
}

// request is an HTTP request of a test.
type request struct {
	token  string
	body   string // JSON unless the header says otherwise
	header http.Header
	host   string
}

// rest sends a request and reads the response. It does not follow redirects.
func (h *testHub) rest(method, path string, r request) reply {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), method, "http://"+h.addr+path, strings.NewReader(r.body))
	if err != nil {
		h.t.Fatal(err)
	}
	if r.header != nil {
		req.Header = r.header.Clone()
	}
	if r.body != "" && req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	if r.host != "" {
		req.Host = r.host
	}
	transport := h.transport()
	defer transport.CloseIdleConnections()
	client := &http.Client{
		Transport: transport, Timeout: h.wait,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(req)
	if err != nil {
		h.t.Fatalf("%s %.200s: got error %v, want an answer", method, path, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Fatalf("%s %.200s: read: %v", method, path, err)
	}
	return reply{h.t, method + " " + path, res.StatusCode, res.Header, body}
}

// wantStatus checks the status.
func (r reply) wantStatus(status int) reply {
	r.t.Helper()
	if r.status != status {
		r.t.Fatalf("%.200s: %d %.500s, want %d", r.what, r.status, r.body, status)
	}
	return r
}

// decode decodes a JSON response.
func (r reply) decode(into any) {
	r.t.Helper()
	if got := r.header.Get("Content-Type"); got != "application/json" {
		r.t.Errorf("%.200s: got Content-Type %q, want application/json", r.what, got)
	}
	if err := json.Unmarshal(r.body, into); err != nil {
		r.t.Fatalf("%.200s: got %.500s, error %v, want JSON", r.what, r.body, err)
	}
}

// problem is a problem document with all its members.
type problem struct {
	wire.Problem
	Field        string         `json:"field"`
	MessageID    wire.MessageID `json:"messageId"`
	RetryAfterMS int            `json:"retry_after_ms"`
}

// wantProblem checks for a problem document with a status and a code.
func (r reply) wantProblem(status int, code wire.Code) problem {
	r.t.Helper()
	var p problem
	if got := r.header.Get("Content-Type"); got != "application/problem+json" {
		r.t.Fatalf("%.200s: %d %q %.500s, want a problem with %d", r.what, r.status, got, r.body, status)
	}
	if err := json.Unmarshal(r.body, &p); err != nil {
		r.t.Fatalf("%.200s: got %.500s, error %v, want a problem in JSON", r.what, r.body, err)
	}
	if r.status != status || p.Status != status || p.Code != code || p.Title != http.StatusText(status) || p.Detail == "" {
		r.t.Errorf("%.200s: %d %.500s, want %d with code %d", r.what, r.status, r.body, status, code)
	}
	return p
}

// get sends a GET request.
func (h *testHub) get(path, token string) reply {
	h.t.Helper()
	return h.rest(http.MethodGet, path, request{token: token})
}

// post sends a POST request.
func (h *testHub) post(path, token, body string) reply {
	h.t.Helper()
	return h.rest(http.MethodPost, path, request{token: token, body: body})
}

// userToken returns a token of a user for an hour.
func (h *testHub) userToken(name string, roles ...string) string {
	h.t.Helper()
	return h.token(name, time.Hour, roles...)
}

// withAuthMode sets the authentication mode.
func withAuthMode(m auth.Mode) func(*hubOptions) {
	return func(p *hubOptions) { p.auth = auth.Config{Mode: m} }
}

// sessionPath returns the path of a session.
func sessionPath(id wire.SessionID, rest ...string) string {
	return "/api/sessions/" + string(id) + strings.Join(rest, "")
}

// badgeRequest returns a request for actions that put a badge on an app.
func badgeRequest(app string) string {
	return `{"actions":[{"type":"app.badge","appId":"` + app + `","count":3}]}`
}

func contains(body []byte, text string) bool { return bytes.Contains(body, []byte(text)) }

// stream sends a request with a body of unknown length.
func (h *testHub) stream(method, path, token string, body io.Reader) (reply, error) {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), method, "http://"+h.addr+path, io.MultiReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport, Timeout: h.wait}).Do(req)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	return reply{h.t, method + " " + path, res.StatusCode, res.Header, answer}, err
}
