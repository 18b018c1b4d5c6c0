package gateway_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// A client cannot answer a ping that is queued behind a snapshot. It does not count as silent while
// it reads the snapshot, but does when it stops reading.
func TestSlowDownloadIsNotSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newBubbleHub(t, func(p *hubOptions) { p.gateway.FrameBytes = 1 << 20 })
		id := h.newSession("ann")
		token := h.token("ann", time.Hour)
		x := h.mustDial("/ws/"+string(id), as(token))
		const windows, size = 4, 400_000
		for i := range windows {
			x.send(wire.Emit{Actions: []wire.Action{wire.WindowCreate{
				WindowID: wire.WindowID(fmt.Sprint("w", i)), Title: "w", Bounds: wire.Bounds{W: 100, H: 100},
				Content: wire.TextContent{Data: strings.Repeat("x", size)},
			}}, MessageID: wire.MessageID(fmt.Sprint("m", i))})
			next[wire.Emitted](x)
		}
		slow, err := h.pipes.DialContext(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer slow.Close()
		_, err = fmt.Fprintf(slow, "GET /ws/%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
			"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: everdesk.v2\r\n\r\n", id, h.addr, token)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		buf := make([]byte, 10_000)
		for total := 0; total < windows*size; {
			n, err := slow.Read(buf)
			if total += n; err != nil {
				t.Fatalf("cut after %v and %d bytes: %v", time.Since(start), total, err)
			}
			time.Sleep(time.Second)
		}
		if took := time.Since(start); took < 2*time.Minute {
			t.Errorf("time of the download: got %v, want at least 2 minutes", took)
		}
		time.Sleep(2 * time.Minute) // without sending or reading
		for err == nil {
			_, err = slow.Read(buf)
		}
		if took := time.Since(start); took > 10*time.Minute {
			t.Errorf("life of a silent connection: got %v, want at most 10 minutes", took)
		}
	})
}
