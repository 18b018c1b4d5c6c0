package gateway_test

import (
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/store/filestore"
)

// folderSize returns the number of bytes in the files of a folder.
func folderSize(t *testing.T, dir string) (size int64) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return size
}

// Requests that read are counted for the rate limits, which writes nothing to the file store.
func TestReadsWriteNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h := newBubbleHub(t, func(p *hubOptions) {
			p.limits.Off = false
			p.store = func(log *slog.Logger) (engine, error) {
				return joinFile(filestore.Open(dir, filestore.Config{Sync: filestore.SyncOff, Logger: log}))
			}
		})
		token := h.token("ann", time.Hour)
		h.post("/api/sessions", token, "").wantStatus(http.StatusCreated)
		h.get("/api/sessions", token).wantStatus(http.StatusOK)
		synctest.Wait()
		want := folderSize(t, dir)
		if want == 0 {
			t.Fatal("the folder is empty after a session was created, want files")
		}
		for range 300 {
			h.get("/api/sessions", token).wantStatus(http.StatusOK)
		}
		synctest.Wait()
		if got := folderSize(t, dir); got != want {
			t.Errorf("got a folder of %d bytes after 300 lists of sessions, want %d as before", got, want)
		}
	})
}
