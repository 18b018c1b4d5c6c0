package gateway

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/openapi"
)

// The router and the API description have the same routes.
func TestDescriptionHasTheRoutersRoutes(t *testing.T) {
	t.Parallel()
	s := New(Config{}, slog.New(slog.DiscardHandler), Deps{Auth: &auth.Authority{}})
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(s.description(), &doc); err != nil {
		t.Fatal(err)
	}
	routed := map[string]bool{}
	for _, r := range s.echo.Routes() {
		path := openapi.DocumentPath(r.Path)
		if r.Method == http.MethodHead && doc.Paths[path]["get"] != nil {
			continue // every GET route has one
		}
		routed[r.Method+" "+path] = true
		if doc.Paths[path][strings.ToLower(r.Method)] == nil {
			t.Errorf("%s %s is routed, but not described", r.Method, r.Path)
		}
	}
	for path, methods := range doc.Paths {
		for method := range methods {
			if !routed[strings.ToUpper(method)+" "+path] {
				t.Errorf("%s %s is described, but not routed", method, path)
			}
		}
	}
	if len(routed) < 30 {
		t.Errorf("routes: got %d, want at least 30", len(routed))
	}
}

func TestNamesWithAHash(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"assets/index-DiwrgTda.js": true, "assets/style.4f3a9b2c.css": true, "assets/a-B1_cdefgh.woff2": true,
		"icon-1024x1024.png": false, "splash-2048X2732.png": false, "photo-20240131.jpg": false, "log.1700000000.txt": false,
		"index.html": false, "apple-touch-icon.png": false, "service-worker.js": false, "site-manifest.json": false,
		"NanumSquareNeoOTF-Bd.otf": false, "ABCDEFGH.js": false, "logo512.png": false, "a-1234567.js": false, "": false, ".js": false,
	} {
		if got := isHashed(name); got != want {
			t.Errorf("does %q have a hash: got %v, want %v", name, got, want)
		}
	}
}
