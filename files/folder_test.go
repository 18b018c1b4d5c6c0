package files_test

import (
	"testing"

	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/files/filestest"
)

func TestFolderIsABackend(t *testing.T) {
	t.Parallel()
	filestest.Run(t, func(t *testing.T) files.Backend {
		t.Helper()
		b, err := files.OpenFolder(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
		return b
	})
}
