//go:build s3server

package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// A hub whose files are in a bucket has no checkpoints and says why. Its sessions work: an answer does not wait for a
// checkpoint, and a restore is refused before anything changes.
func TestHubWithoutCheckpointsInS3(t *testing.T) {
	t.Parallel()
	c, _ := startColdHubsInS3(t)
	id := createSession(t, c.first.url)
	here := "/api/sessions/" + string(id)
	c.first.request(t, http.MethodPut, here+"/files/report.md", "text/markdown", strings.NewReader("first"))
	c.sendTurns(t, id, 1)
	for _, hub := range []*server{c.first, c.second} {
		got := hub.request(t, http.MethodGet, here+"/checkpoints", "", nil)
		if !strings.Contains(got, `"available":false`) || !strings.Contains(got, "in a bucket") || !strings.Contains(got, `"checkpoints":[]`) {
			t.Errorf("checkpoints: got %s, want none because the files are in a bucket", got)
		}
	}
	if rows := c.first.request(t, http.MethodGet, here+"/rows", "", nil); strings.Contains(rows, `"checkpoint`) {
		t.Errorf("rows: got %s, want none about checkpoints", rows)
	}
	order := strings.NewReader(`{"hash":"0123456789abcdef0123456789abcdef01234567"}`)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.first.url+here+"/checkpoints/restore", order)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Close = true
	resp, err := (&http.Client{}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusConflict || !strings.Contains(string(body), "checkpoints") {
		t.Errorf("restore: got %s %s (error %v), want %d and that there are no checkpoints", resp.Status, body, err, http.StatusConflict)
	}
	if got := c.second.request(t, http.MethodGet, here+"/files/report.md", "", nil); got != "first" {
		t.Errorf("the file after the refused restore: got %q, want %q", got, "first")
	}
}
