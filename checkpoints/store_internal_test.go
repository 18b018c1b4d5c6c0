package checkpoints

import (
	"testing"
	"testing/synctest"
	"time"
)

// Saves of a process wait for each other as long as it takes: waiting is no slowness of a folder.
func TestSavesWaitForEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &Store{cfg: Config{Timeout: time.Second}, saves: make(chan struct{}, 1)}
		end, err := s.beginSave(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		begun := make(chan error, 1)
		go func() {
			_, err := s.beginSave(t.Context())
			begun <- err
		}()
		time.Sleep(time.Hour)
		select {
		case err := <-begun:
			t.Errorf("a second save beside the first: got error %v, want it to wait", err)
		default:
		}
		end()
		if err := <-begun; err != nil {
			t.Errorf("a save after an hour: got error %v, want it to begin", err)
		}
	})
}
