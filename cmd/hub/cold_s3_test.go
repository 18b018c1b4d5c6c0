//go:build s3server

// These tests need an S3 server: make test-s3 builds versitygw from the Go proxy and runs them.

package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/files/s3files/s3test"
	"github.com/everdesk/everdesk/wire"
)

// startColdHubsInS3 starts two hubs on one Redis and one bucket.
func startColdHubsInS3(t *testing.T) (*coldHubs, *s3test.Server) {
	t.Helper()
	s := s3test.New(t)
	m := testProviders(t)[0]
	for name, value := range s3test.Credentials() {
		m.env = append(m.env, name+"="+value)
	}
	return startColdHubsWith(t, m, "--files", s.Address("hubs"), "--files-dir", t.TempDir()), s
}

// One hub moves a session to the bucket, and the other opens it. While the server is dead, the session is unavailable, with
// a code that says to try again, and nothing is quarantined. It opens when the server is back, and its object goes with it.
func TestColdSessionsInS3(t *testing.T) {
	t.Parallel()
	c, s := startColdHubsInS3(t)
	id := createSession(t, c.first.url)
	here := "/api/sessions/" + string(id)
	const turns = 6
	wantRows := func(when string) {
		t.Helper()
		if rows := c.second.request(t, http.MethodGet, here+"/rows", "", nil); strings.Count(rows, spoken) < 2*turns {
			t.Errorf("%s: rows %s, want %d messages and answers", when, rows, turns)
		}
	}
	c.sendTurns(t, id, turns)
	c.awaitCold(t, id)
	c.first.kill()
	wantRows("cold")
	if !c.isCold(t, id) {
		t.Errorf("session %s came back because it was read, want it cold", id)
	}
	begin := time.Now()
	c.second.request(t, http.MethodGet, here+"/snapshot", "", nil)
	t.Logf("a cold session was opened from a bucket in %v", time.Since(begin))
	wantRows("opened")

	c.awaitCold(t, id)
	s.Kill()
	for _, path := range []string{"/snapshot", "/rows"} {
		begin := time.Now()
		status, body := c.second.answer(t, here+path)
		t.Logf("%s without the server: %d after %v", path, status, time.Since(begin))
		if status != http.StatusServiceUnavailable && status != http.StatusGatewayTimeout || !strings.Contains(body, `"recoverable":true`) {
			t.Errorf("%s without the server: got %d %s, want an error that is recoverable", path, status, body)
		}
	}
	if got := c.second.listed(t); len(got) != 1 || got[0] != string(id) {
		t.Errorf("list without the server: %v, want %s", got, id)
	}
	s.Start(t)
	c.second.request(t, http.MethodGet, here+"/snapshot", "", nil)
	wantRows("after the server was back")

	c.awaitCold(t, id)
	c.second.request(t, http.MethodDelete, here, "", nil)
	if status, body := c.second.answer(t, here); status != http.StatusNotFound {
		t.Errorf("deleted session: got %d %s, want %d", status, body, http.StatusNotFound)
	}
	if left := s.Files(t, string(id)); len(left) > 0 {
		t.Errorf("objects of a deleted session: %v, want none", left)
	}
}

// A file that one hub has accepted is read, changed and deleted through the other.
func TestTwoHubsShareFilesInS3(t *testing.T) {
	t.Parallel()
	c, _ := startColdHubsInS3(t)
	id := createSession(t, c.first.url)
	path := fmt.Sprintf("/api/sessions/%s/files/%s", id, "notes/plan.md")
	for n, hub := range []*server{c.first, c.second, c.first} {
		text := fmt.Sprintf("version %d", n)
		hub.request(t, http.MethodPut, path, "text/markdown", strings.NewReader(text))
		for _, reader := range []*server{c.first, c.second} {
			if status, body := reader.answer(t, path); status != http.StatusOK || body != text {
				t.Errorf("file after change %d: got %d %q, want %q", n, status, body, text)
			}
		}
	}
	c.second.request(t, http.MethodDelete, path, "", nil)
	if status, body := c.first.answer(t, path); status != http.StatusNotFound || !strings.Contains(body, fmt.Sprintf(`"code":%d`, wire.CodeInvalidMessage)) {
		t.Errorf("deleted file: got %d %s, want %d", status, body, http.StatusNotFound)
	}
}
