package session

import (
	"errors"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// A state that could not be read again is not stored, however small it is compressed.
func TestKeyframeOfALargeState(t *testing.T) {
	t.Parallel()
	if data, err := encodeKeyframe(wire.SessionState{Title: strings.Repeat("x", maxKeyframeState)}); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("a state of 64 MiB: got %d bytes and the error %v, want %v", len(data), err, store.ErrTooLarge)
	}
}
