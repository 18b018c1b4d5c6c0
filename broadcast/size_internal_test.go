package broadcast

import (
	"testing"
	"unsafe"
)

// An idle tab is this struct and nothing else, and there may be very many.
func TestTabIsSmall(t *testing.T) {
	t.Parallel()
	if size := unsafe.Sizeof(Tab{}); size > 400 {
		t.Errorf("a tab takes %d bytes", size)
	}
}
