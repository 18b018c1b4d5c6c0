package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/checkpoints"
	"github.com/everdesk/everdesk/gateway/rest"
	"github.com/everdesk/everdesk/wire"
)

// oneCheckpoint has one checkpoint with a window and files.
type oneCheckpoint struct {
	rest.Checkpoints
	files map[string]string
}

func (oneCheckpoint) Available() error { return nil }

func (oneCheckpoint) Windows(_ context.Context, _ wire.SessionID, hash string) ([]byte, error) {
	if hash != "0123456" {
		return nil, checkpoints.ErrUnknown
	}
	return []byte(`{"windows":[{"windowId":"w","monitorId":"monitor-0","title":"T","bounds":{"x":1,"y":2,"w":3,"h":4},"content":{"renderer":"text","data":"<b>hello"}}]}`), nil
}

func (c oneCheckpoint) File(_ context.Context, _ wire.SessionID, hash, path string, limit int64) (checkpoints.File, error) {
	text, ok := c.files[path]
	switch {
	case !ok || hash != "0123456":
		return checkpoints.File{}, fmt.Errorf("%w: %s", checkpoints.ErrUnknown, path)
	case int64(len(text)) > limit:
		return checkpoints.File{}, checkpoints.ErrTooLarge
	}
	return checkpoints.File{Hash: "abc", Content: []byte(text)}, nil
}

// What a checkpoint holds is served to those who may see the session, and its files cannot run as script on the hub's origin.
func TestContentOfACheckpoint(t *testing.T) {
	t.Parallel()
	const script = "<script>alert(1)</script>"
	files := map[string]string{"a.html": script, "d/한 x.svg": script, "a.js": script, "a.txt": script, "a.csv": "x,y", "large": strings.Repeat("x", 8<<20+1)}
	h := newTestHub(t, func(p *hubOptions) { p.checkpoints = oneCheckpoint{files: files} })
	ada := h.userToken("ada")
	id := h.newSession("ada")
	at := func(path string) string { return sessionPath(id, "/checkpoints/0123456/"+path) }
	for path, media := range map[string]string{"a.html": "", "d/%ED%95%9C%20x.svg": "", "a.js": "", "a.csv": "", "a.txt": "text/plain; charset=utf-8"} {
		got := h.get(at("files/"+path), ada).wantStatus(http.StatusOK)
		inline := strings.HasPrefix(got.header.Get("Content-Disposition"), "inline")
		if media == "" {
			media = "application/octet-stream"
		}
		if !strings.HasPrefix(got.header.Get("Content-Security-Policy"), "sandbox; default-src 'none'") || got.header.Get("X-Content-Type-Options") != "nosniff" ||
			got.header.Get("Content-Type") != media || inline != (path == "a.txt") || got.header.Get("ETag") != `"abc"` {
			t.Errorf("%s: got %v, want %s in a sandbox", path, got.header, media)
		}
		if path == "a.html" && string(got.body) != script {
			t.Errorf("%s: got %q, want %q", path, got.body, script)
		}
	}
	h.get(at("files/none"), ada).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	h.get(at("files/large"), ada).wantProblem(http.StatusRequestEntityTooLarge, wire.CodeMessageTooLarge)
	var list struct {
		Windows []struct {
			WindowID wire.WindowID
			Content  struct{ Renderer, Data string }
		}
	}
	h.get(at("windows"), ada).wantStatus(http.StatusOK).decode(&list)
	if len(list.Windows) != 1 || list.Windows[0].WindowID != "w" || list.Windows[0].Content.Renderer != "text" || list.Windows[0].Content.Data != "<b>hello" {
		t.Errorf("windows of a checkpoint: got %+v, want w with its text", list.Windows)
	}
	h.get(sessionPath(id, "/checkpoints/7654321/windows"), ada).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	for _, path := range []string{"files/a.txt", "windows"} {
		h.get(at(path), "").wantProblem(http.StatusUnauthorized, wire.CodeAuthRequired)
		h.get(at(path), h.userToken("eve")).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	}
}
