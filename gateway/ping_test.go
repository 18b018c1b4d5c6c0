package gateway_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"
)

// servingGoroutines returns the number of goroutines that serve connections.
func servingGoroutines() int {
	stacks := make([]byte, 4<<20)
	return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("ws.(*conn).serve("))
}

// A client that sends WebSocket pings, as some libraries do every 20 s, gets pongs with the same data and
// has no goroutine between them.
func TestPingsKeepNoGoroutine(t *testing.T) { //nolint:paralleltest // it counts the goroutines of the process
	h := newTestHub(t)
	raw := h.dialRaw(h.newSession("ann"))
	r := bufio.NewReader(raw.conn)
	for round := range 3 {
		data := fmt.Sprintf("ping-%d", round)
		frame := []byte{0x89, 0x80 | byte(len(data)), 1, 2, 3, 4}
		for i := range len(data) {
			frame = append(frame, data[i]^frame[2+i%4])
		}
		if _, err := raw.conn.Write(frame); err != nil {
			t.Fatal(err)
		}
		want := append([]byte{0x8a, byte(len(data))}, data...)
		var got []byte
		for !bytes.HasSuffix(got, want) {
			b, err := r.ReadByte()
			if err != nil {
				t.Fatalf("round %d: got %d bytes and %v, want a pong", round, len(got), err)
			}
			got = append(got, b)
		}
		timeout := time.After(time.Minute)
		for servingGoroutines() > 0 {
			select {
			case <-time.After(time.Millisecond):
			case <-timeout:
				t.Fatalf("round %d: %d goroutines serve an idle connection after a ping, want none", round, servingGoroutines())
			}
		}
	}
	if _, err := raw.conn.Write([]byte{0x88, 0x80, 1, 2, 3, 4}); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, r) // until the hub closes the connection
}
