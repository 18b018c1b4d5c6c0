//go:build s3server

package main

import (
	"net/http"
	"strings"
	"testing"
)

// An app that a user installs on one hub opens on the other, and so does its data: both are in the bucket.
func TestTwoHubsShareAppsInS3(t *testing.T) {
	t.Parallel()
	c, s := startColdHubsInS3(t)
	id := createSession(t, c.first.url)
	here := "/api/sessions/" + string(id)
	c.first.request(t, http.MethodPut, "/api/apps/notes", "", nil)
	for _, hub := range []*server{c.first, c.second} {
		if got := hub.request(t, http.MethodGet, here+"/apps", "", nil); !strings.Contains(got, `"id":"notes"`) {
			t.Errorf("apps on %s: got %s, want notes", hub.url, got)
		}
		if got := hub.request(t, http.MethodGet, here+"/apps/notes/index.html", "", nil); !strings.Contains(got, "yaar.app.register") {
			t.Errorf("the page on %s: got %d bytes, want that of the app", hub.url, len(got))
		}
	}
	c.second.request(t, http.MethodPut, here+"/app-data/notes/a.json", "application/octet-stream", strings.NewReader("{}"))
	if got := c.first.request(t, http.MethodGet, here+"/app-data/notes/a.json", "", nil); got != "{}" {
		t.Errorf("the data on the other hub: got %q, want {}", got)
	}
	if stored := s.Files(t, "/.apps/"); len(stored) == 0 {
		t.Error("the bucket has no objects of apps, want those of notes")
	}
}
