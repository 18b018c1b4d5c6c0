package agenttest

import (
	"os"
	"sync"
	"testing"
)

// Homes gives every test a folder that its providers share, as the processes of one machine do.
type Homes struct {
	mu  sync.Mutex
	all map[*testing.T]string
}

// Of returns the folder of a test. It is removed when the test ends.
func (h *Homes) Of(t *testing.T) string {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if home, ok := h.all[t]; ok {
		return home
	}
	home, err := os.MkdirTemp("", "agent-home-") //nolint:usetesting // programs that end late may still write to it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	if h.all == nil {
		h.all = map[*testing.T]string{}
	}
	h.all[t] = home
	return home
}
