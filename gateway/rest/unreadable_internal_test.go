package rest

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/files"
)

// A file that became a link after it was listed does not prevent the download of the others.
func TestUnreadableFilesAreLeftOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store, err := files.Open(dir, files.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	for _, name := range []string{"a.txt", "b.txt"} {
		if _, err := store.Save(t.Context(), "ses", name, strings.NewReader("text"), 4); err != nil {
			t.Fatal(err)
		}
	}
	exports := sessionFiles{files: store, log: slog.New(slog.DiscardHandler)}
	exported, err := exports.filesOf(t.Context(), "ses")
	if err != nil || len(exported) != 2 {
		t.Fatalf("files of an export: got %+v and the error %v, want two", exported, err)
	}
	listed, err := store.ListAll(t.Context(), "ses", "")
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "ses", "a.txt")
	if err := errors.Join(os.Remove(link), os.Symlink("b.txt", link)); err != nil {
		t.Fatal(err)
	}
	if _, err := exported[0].Open(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open for an export: got error %v, want %v", err, fs.ErrNotExist)
	}
	answer := httptest.NewRecorder()
	c := echo.New().NewContext(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody), answer)
	if err := (&fileHandlers{files: store}).writeArchive(c, "ses", "", listed); err != nil {
		t.Fatalf("archive: got error %v, want none", err)
	}
	archive, err := zip.NewReader(bytes.NewReader(answer.Body.Bytes()), int64(answer.Body.Len()))
	if err != nil || len(archive.File) != 1 || archive.File[0].Name != "b.txt" {
		t.Errorf("archive: got %+v and the error %v, want b.txt", archive, err)
	}
}

// Few imports hold a session in memory at once; the others wait.
func TestImportsWait(t *testing.T) {
	t.Parallel()
	s := sessionFiles{imports: make(chan struct{}, 1)}
	release, err := s.acquireImport(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.acquireImport(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("a second import: got error %v, want %v", err, context.Canceled)
	}
	waits := make(chan error, 1)
	go func() {
		_, err := s.acquireImport(t.Context())
		waits <- err
	}()
	release()
	if err := <-waits; err != nil {
		t.Errorf("an import that waited: got error %v, want none", err)
	}
}
