package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/wire"
)

// coldHubs are two hubs on one Redis and one folder of files that move unused sessions there.
type coldHubs struct {
	redis  *redistest.Server
	files  string // the folder, or empty
	first  *server
	second *server
}

func startColdHubs(t *testing.T) *coldHubs {
	t.Helper()
	dir := t.TempDir()
	c := startColdHubsWith(t, testProviders(t)[0], "--files-dir", dir)
	c.files = dir
	return c
}

// startColdHubsWith starts hubs whose files are where args say.
func startColdHubsWith(t *testing.T, m testProvider, args ...string) *coldHubs {
	t.Helper()
	c := &coldHubs{redis: redistest.Standalone(t)}
	args = append([]string{"--store", c.redis.URL(), "--dormant-after", "1s", "--cold-after", "1s", "--lease", "1s"}, args...)
	c.first, c.second = serveProcess(t, m, args...), serveProcess(t, m, args...)
	return c
}

// objects returns the paths of the objects of cold sessions.
func (c *coldHubs) objects(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(filesIn(t, filepath.Join(c.files, ".cold")), func(path string) bool {
		return strings.HasSuffix(path, filepath.Join(string(storageSession), storageName))
	})
}

// isCold reports whether Redis has a reference of a session instead of its content.
func (c *coldHubs) isCold(t *testing.T, id wire.SessionID) bool {
	t.Helper()
	keys, err := c.redis.Client(t).Keys(t.Context(), "*:s:"+string(id)+":pack").Result()
	if err != nil {
		t.Fatal(err)
	}
	return len(keys) == 1 && strings.HasPrefix(c.redis.Client(t).Get(t.Context(), keys[0]).Val(), "\x03")
}

// spoken is in each message and in each answer.
const spoken = "of the cold session"

// sendTurns sends messages through the first hub and waits for their answers.
func (c *coldHubs) sendTurns(t *testing.T, id wire.SessionID, turns int) {
	t.Helper()
	here := "/api/sessions/" + string(id)
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	for n := range turns {
		c.first.request(t, http.MethodPost, here+"/messages", "application/json", strings.NewReader(fmt.Sprintf(`{"content":"/say part %d %s"}`, n, spoken)))
		for strings.Count(c.first.request(t, http.MethodGet, here+"/rows", "", nil), spoken) < 2*(n+1) {
			select {
			case <-ctx.Done():
				t.Fatalf("session %s never had %d answers", id, n+1)
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
}

// awaitCold waits until a session is cold.
func (c *coldHubs) awaitCold(t *testing.T, id wire.SessionID) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	for !c.isCold(t, id) {
		select {
		case <-ctx.Done():
			t.Fatalf("session %s never became cold", id)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// answer returns the status and body of a response.
func (s *server) answer(t *testing.T, path string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	resp, err := (&http.Client{}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// An unused session moves to the storage of files. It is listed and can be read there, also through
// a hub that did not move it, and after kill -9 of the one that did; opening it brings everything back. Without its object
// the answer has a code, and the session is quarantined.
func TestColdSessionsOfTwoHubs(t *testing.T) {
	t.Parallel()
	c := startColdHubs(t)
	id := createSession(t, c.first.url)
	here := "/api/sessions/" + string(id)
	const turns = 6
	c.sendTurns(t, id, turns)
	c.awaitCold(t, id)
	c.first.kill()
	if got := c.second.listed(t); len(got) != 1 || got[0] != string(id) {
		t.Errorf("list with a cold session: %v, want %s", got, id)
	}
	if rows := c.second.request(t, http.MethodGet, here+"/rows", "", nil); strings.Count(rows, spoken) < 2*turns {
		t.Errorf("rows of a cold session: %s, want %d messages and answers", rows, turns)
	}
	// The words are those of the fourth message; the title is that of the first.
	if found := c.second.request(t, http.MethodGet, "/api/sessions?q=part+3+cold", "", nil); !strings.Contains(found, string(id)) || !strings.Contains(found, spoken) {
		t.Errorf("search for words of a cold session: got %s, want %s with its message", found, id)
	}
	if found := c.second.request(t, http.MethodGet, "/api/sessions?q=part+77+cold", "", nil); strings.Contains(found, string(id)) {
		t.Errorf("search for other words: got %s, want nothing", found)
	}
	if !c.isCold(t, id) {
		t.Errorf("session %s came back because it was listed, read and searched, want it cold", id)
	}
	begin := time.Now()
	c.second.request(t, http.MethodGet, here+"/snapshot", "", nil)
	t.Logf("a cold session was opened in %v", time.Since(begin))
	if rows := c.second.request(t, http.MethodGet, here+"/rows", "", nil); strings.Count(rows, spoken) < 2*turns {
		t.Errorf("rows of the session that came back: %s, want %d messages and answers", rows, turns)
	}
	if metrics := c.second.request(t, http.MethodGet, "/metrics", "", nil); !strings.Contains(metrics, "everdesk_session_warm_seconds_count 1") {
		t.Error("metrics do not count the session that came back, want everdesk_session_warm_seconds_count 1")
	}

	// A folder that is not mounted is no damage.
	c.awaitCold(t, id)
	folder, away := filepath.Join(c.files, ".cold"), filepath.Join(c.files, ".away")
	if err := os.Rename(folder, away); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/snapshot", "/rows"} {
		if status, body := c.second.answer(t, here+path); status != http.StatusServiceUnavailable || !strings.Contains(body, "not the one that has the cold sessions") {
			t.Errorf("%s without the folder: got %d %s, want %d and why", path, status, body, http.StatusServiceUnavailable)
		}
	}
	if status, body := c.second.answer(t, "/readyz"); status != http.StatusOK || !strings.Contains(body, problem.OtherFiles) {
		t.Errorf("readyz without the folder: got %d %s, want %d and %q", status, body, http.StatusOK, problem.OtherFiles)
	}
	if err := errors.Join(os.RemoveAll(folder), os.Rename(away, folder)); err != nil {
		t.Fatal(err)
	}
	c.second.request(t, http.MethodGet, here+"/snapshot", "", nil)
	if _, body := c.second.answer(t, "/readyz"); strings.Contains(body, problem.OtherFiles) {
		t.Errorf("readyz with the folder: got %s, want no detail", body)
	}

	c.awaitCold(t, id)
	for _, path := range c.objects(t) {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"/snapshot", "/rows"} {
		if status, body := c.second.answer(t, here+path); status/100 == 2 || !strings.Contains(body, fmt.Sprintf(`"code":%d`, wire.CodeSessionInvalidState)) {
			t.Errorf("%s without the object: got %d %s, want the code %d", path, status, body, wire.CodeSessionInvalidState)
		}
	}
	if got := c.second.listed(t); len(got) != 1 {
		t.Errorf("list with a damaged session: %v, want it", got)
	}
}

// The object of a session is deleted with it.
func TestDeletedColdSessionHasNoObject(t *testing.T) {
	t.Parallel()
	c := startColdHubs(t)
	id := createSession(t, c.first.url)
	c.sendTurns(t, id, 4)
	c.awaitCold(t, id)
	c.second.request(t, http.MethodDelete, "/api/sessions/"+string(id), "", nil)
	if left := c.objects(t); len(left) > 0 {
		t.Errorf("objects of a deleted session: %v, want none", left)
	}
}
