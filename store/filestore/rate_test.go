package filestore_test

import (
	"fmt"
	"io/fs"
	"os"
	"testing"
	"time"

	"github.com/everdesk/everdesk/store/filestore"
)

// Rate limits count requests that only read, so counting must not write.
func TestRateLimitsWriteNothing(t *testing.T) {
	t.Parallel()
	// written returns the size of a store's folder after counting that many events.
	written := func(events int) (size int64) {
		dir := t.TempDir()
		s, err := filestore.Open(dir, filestore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range events {
			if _, err := s.Rates.Take(t.Context(), fmt.Sprint("user-", i), 10, time.Minute); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		err = fs.WalkDir(os.DirFS(dir), ".", func(_ string, d fs.DirEntry, err error) error {
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
	if got, want := written(3000), written(0); got != want {
		t.Errorf("got a folder of %d bytes after 3000 counts, want the %d of an unused store", got, want)
	}
}
