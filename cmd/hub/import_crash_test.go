package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// request sends a request to a hub and returns the body of the answer, or "" if the hub is killed
// before it has answered.
func (s *server) request(t *testing.T, method, path, media string, body io.Reader) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", media)
	req.Close = true // the next request may go to the next process
	answer, err := (&http.Client{}).Do(req)
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return ""
	}
	if answer.StatusCode/100 != 2 {
		t.Fatalf("%s %s: got %s %s, want success", method, path, answer.Status, text)
	}
	return string(text)
}

// filesIn returns the paths of all files in and below a folder.
func filesIn(t *testing.T, folder string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		switch {
		case os.IsNotExist(err): // removed meanwhile
			return nil
		case err == nil && d.Type().IsRegular():
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// listed returns the ids of the sessions that a hub lists.
func (s *server) listed(t *testing.T) (ids []string) {
	t.Helper()
	var list struct {
		Sessions []struct{ SessionID, Title string }
	}
	if err := json.Unmarshal([]byte(s.request(t, http.MethodGet, "/api/sessions", "", nil)), &list); err != nil {
		t.Fatal(err)
	}
	for _, one := range list.Sessions {
		ids = append(ids, one.SessionID)
		if one.Title != "together" {
			t.Errorf("%s is listed as %q, want the title of the export", one.SessionID, one.Title)
		}
	}
	return ids
}

// dieInImport kills the hub when an import has written the given number of files to a folder, or is
// complete. With 0 it kills the hub after half of the import is sent.
func (s *server) dieInImport(t *testing.T, packed, folder string, files int) {
	t.Helper()
	before := len(filesIn(t, folder))
	body, send := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.request(t, http.MethodPost, "/api/sessions/import", "application/zip", body)
		_ = body.Close() // ends pending writes to send
	}()
	half := len(packed) / 2
	if _, err := io.WriteString(send, packed[:half]); err != nil {
		t.Fatal(err)
	}
	if files > 0 {
		go func() {
			_, _ = io.WriteString(send, packed[half:]) // the hub may be killed meanwhile
			_ = send.Close()
		}()
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for over := false; !over && len(filesIn(t, folder))-before < files; {
		select {
		case <-tick.C:
		case <-done:
			over = true
		}
	}
	s.kill()
	_ = send.Close()
	<-done
}

// A hub that is killed during an import leaves the whole session or none, and no files of a session
// that does not exist.
func TestCrashInAnImport(t *testing.T) {
	t.Parallel()
	folder, temporary := t.TempDir(), t.TempDir()
	demo := testProviders(t)[0]
	demo.env = append(demo.env, "TMPDIR="+temporary)
	s := serveProcess(t, demo, "--files-dir", folder)
	origin := string(createSession(t, s.url))
	const files = 10
	want := map[string]string{} // checksums by name
	data := make([]byte, 100<<10)
	for n := range files {
		_, _ = rand.NewChaCha8([32]byte{byte(n)}).Read(data) // never fails
		name := fmt.Sprintf("folder/%d.bin", n)
		want[name] = fmt.Sprint(sha256.Sum256(data))
		s.request(t, http.MethodPut, "/api/sessions/"+origin+"/files/"+name, "application/octet-stream", bytes.NewReader(data))
	}
	packed := s.request(t, http.MethodGet, "/api/sessions/"+origin+"/export", "", nil)
	for _, point := range []int{0, 1, 4, 7, files, math.MaxInt} { // the last is after the import
		s.dieInImport(t, packed, folder, point)
		s.again(t)
		for _, id := range s.listed(t) {
			for name, sum := range want {
				data := s.request(t, http.MethodGet, "/api/sessions/"+id+"/files/"+name, "", nil)
				if got := fmt.Sprint(sha256.Sum256([]byte(data))); got != sum {
					t.Errorf("killed at %d files, %s of %s has %d bytes and another sum, want that of the export", point, name, id, len(data))
				}
			}
		}
	}
	eventually(t, func() (string, bool) {
		left, ids := filesIn(t, temporary), s.listed(t)
		for _, name := range filesIn(t, folder) {
			id, _, _ := strings.Cut(strings.TrimPrefix(name, folder+"/"), "/")
			if !slices.Contains(ids, id) {
				left = append(left, name)
			}
		}
		return fmt.Sprintf("listed are %v, and of no session are the files %v", ids, left), len(left) == 0 && len(ids) >= 2 && slices.Contains(ids, origin)
	})
}
