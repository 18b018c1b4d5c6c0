package gateway_test

import (
	"bufio"
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/everdesk/everdesk/ratelimit"
	"github.com/everdesk/everdesk/wire"
)

// The tests of attacks on memory. They measure the memory of the process, so nothing else may run
// at the same time.

// allocatedBy returns the bytes that do allocated, whether or not they were freed.
func allocatedBy(do func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// heapInUse returns the live heap.
func heapInUse() int64 {
	runtime.GC()
	runtime.GC() // the second collection frees the pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A frame that would grow to 64 MiB when decompressed costs less than 4 MiB of memory. The hub
// does not negotiate compression: a frame that claims to be compressed violates the protocol and
// is closed with 1002. An uncompressed frame of that size is closed with 1009.
func TestAttackDeflateBomb(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	h := newTestHub(t)
	v := as(h.token("ann", time.Minute))
	v.header = header("Sec-WebSocket-Extensions", "permessage-deflate; client_max_window_bits")
	id := h.newSession("ann")
	x, a := h.tryDial("/ws/"+string(id), v)
	if x == nil {
		t.Fatalf("connection: got %d, want it accepted", a.status)
	}
	if got := a.header.Get("Sec-WebSocket-Extensions"); got != "" {
		t.Errorf("negotiated extensions: got %q, want none", got)
	}
	// One block that is repeated 64 times.
	var part bytes.Buffer
	w, err := flate.NewWriter(&part, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, 1<<20)
	if _, err := w.Write(zeros); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	deflated := bytes.Repeat(part.Bytes(), 64)
	if len(deflated) > 80<<10 {
		t.Fatalf("size of the bomb: got %d bytes, want at most 80 KiB", len(deflated))
	}
	if n, err := io.Copy(io.Discard, io.LimitReader(flate.NewReader(bytes.NewReader(deflated)), 64<<20)); n != 64<<20 {
		t.Fatalf("inflated bomb: got %d bytes, error %v, want %d", n, err, 64<<20)
	}
	for _, bomb := range []struct {
		name  string
		head  byte
		size  uint64
		sent  []byte
		close int
	}{
		{"compressed", 0xc1, uint64(len(deflated)), deflated, int(websocket.StatusProtocolError)},
		{"not compressed", 0x81, 64 << 20, zeros[:128<<10], int(wire.CloseTooBig)},
		{"2^62 bytes", 0x81, 1 << 62, zeros[:128<<10], int(wire.CloseTooBig)},
	} {
		raw := h.dialRaw(id)
		code := 0
		growth := allocatedBy(func() {
			go raw.frame(bomb.head, bomb.size, bomb.sent) // the hub does not read all of it
			code = raw.closeCode()
		})
		if code != bomb.close || growth > 4<<20 {
			t.Errorf("%s: got closed with %d and %d KiB allocated, want %d and at most 4 MiB", bomb.name, code, growth>>10, bomb.close)
		}
	}
	x.wantAlive()
}

// rawConn is a client without a WebSocket library.
type rawConn struct {
	t    testing.TB
	conn io.ReadWriteCloser
}

// frame sends a masked frame with the first byte head and an announced size. The hub may close the
// connection before it has read all of it.
func (r rawConn) frame(head byte, size uint64, payload []byte) {
	b := []byte{head, 0x80 | 127}
	b = binary.BigEndian.AppendUint64(b, size)
	b = append(b, 0, 0, 0, 0) // the zero mask
	_, _ = r.conn.Write(append(b, payload...))
}

// closeCode reads frames until the close frame.
func (r rawConn) closeCode() int {
	r.t.Helper()
	for {
		var head [2]byte
		if _, err := io.ReadFull(r.conn, head[:]); err != nil {
			r.t.Fatal(err)
		}
		size := uint64(head[1] & 0x7f)
		var long [8]byte
		switch size {
		case 126:
			io.ReadFull(r.conn, long[6:])
			size = binary.BigEndian.Uint64(long[:])
		case 127:
			io.ReadFull(r.conn, long[:])
			size = binary.BigEndian.Uint64(long[:])
		}
		payload := make([]byte, size)
		if _, err := io.ReadFull(r.conn, payload); err != nil {
			r.t.Fatal(err)
		}
		if head[0] == 0x88 && size >= 2 {
			return int(binary.BigEndian.Uint16(payload))
		}
	}
}

// dialRaw makes the handshake and returns the underlying connection.
func (h *testHub) dialRaw(id wire.SessionID) rawConn {
	h.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+h.addr+"/ws/"+string(id), nil)
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header = header("Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13",
		"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==", "Authorization", "Bearer "+h.token("ann", time.Minute))
	transport := &http.Transport{}
	h.t.Cleanup(transport.CloseIdleConnections)
	res, err := transport.RoundTrip(req) //nolint:bodyclose // the body is the connection, closed below
	if err != nil {
		h.t.Fatal(err)
	}
	conn, ok := res.Body.(io.ReadWriteCloser)
	if !ok {
		h.t.Fatalf("handshake: got %s, want a connection", res.Status)
	}
	h.t.Cleanup(func() { conn.Close() })
	return rawConn{h.t, conn}
}

// A flood of connects from one address is refused with 429 beyond the limit. The last 3,000 of
// 4,000 must not increase the memory.
func TestAttackFloodOfConnects(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	h := newTestHub(t, func(p *hubOptions) { p.limits = ratelimit.Config{} })
	path := "/ws/" + string(h.newSession("ann"))
	handshake := "GET " + path + " HTTP/1.1\r\nHost: " + h.addr + "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
	var d net.Dialer
	// flood connects n times and returns how many connects were accepted.
	flood := func(n int) (let int) {
		for range n {
			c, err := d.DialContext(t.Context(), "tcp", h.addr)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(c, handshake); err != nil {
				t.Fatal(err)
			}
			res, err := http.ReadResponse(bufio.NewReaderSize(c, 512), nil)
			switch {
			case err != nil:
				t.Fatal(err)
			case res.StatusCode == http.StatusSwitchingProtocols:
				let++
			case res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") == "":
				t.Fatalf("refused connection: got %d, Retry-After %q, want %d with a time", res.StatusCode, res.Header.Get("Retry-After"), http.StatusTooManyRequests)
			}
			res.Body.Close()
			if tcp, ok := c.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0) // else ports would run out
			}
			_ = c.Close()
		}
		return let
	}
	start := time.Now()
	let := flood(1000)
	written := len(h.log.String())
	before := heapInUse()
	let += flood(3000)
	// The log of this test is in memory.
	growth := heapInUse() - before - 3*int64(len(h.log.String())-written)
	minutes := int(time.Since(start)/time.Minute) + 1
	if let == 0 || let > 30*minutes {
		t.Errorf("%d unauthenticated connects were accepted within %d minutes, want at most 30 in each", let, minutes)
	}
	if got := h.server.Refusals().Rates; got != uint64(4_000-let) {
		t.Errorf("counted refusals: got %d, want %d", got, 4_000-let)
	}
	if growth > 1<<20 {
		t.Errorf("heap after 3000 connects: got %d KiB more, want at most 1 MiB", growth>>10)
	}
	// Authenticated clients are not affected; a user has a limit too.
	v := as(h.token("ann", time.Minute))
	for i := range 10 {
		x := h.mustDial(path, v)
		x.emit(wire.MessageID(fmt.Sprintf("m-%d", i)))
	}
	h.wantRefused(path, v, http.StatusTooManyRequests, wire.CodeRateLimited)
}
