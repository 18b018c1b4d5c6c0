package browser

import (
	"errors"
	"runtime"
	"testing"
)

// An action that waits for the browser of a session never gets one that was ended meanwhile: nothing would end a browser
// that it starts there.
func TestWaitingActionGetsTheBrowserOfTheSession(t *testing.T) {
	t.Parallel()
	m := New(Config{})
	t.Cleanup(m.Shutdown)
	for range 100 {
		_, release, err := m.acquire(t.Context(), "ses-1", true)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			s, release, err := m.acquire(t.Context(), "ses-1", true)
			if err != nil {
				t.Errorf("got error %v, want none", err)
				return
			}
			defer release()
			m.mu.Lock()
			defer m.mu.Unlock()
			if m.sessions["ses-1"] != s {
				t.Error("got a slot that the manager does not know, want that of the session")
			}
		}()
		for range 100 {
			runtime.Gosched() // the action waits
		}
		release() // no browser was started, so release removes the slot
		<-done
	}
	if _, _, err := m.acquire(t.Context(), "ses-1", false); !errors.Is(err, ErrNoPage) {
		t.Errorf("without a browser: got error %v, want %v", err, ErrNoPage)
	}
}
