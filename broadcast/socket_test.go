package broadcast_test

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/wire"
)

// A descriptor is given to the next who opens something as soon as it is closed. What is
// for a tab must not be written there.
func TestClosedSocketIsNotWrittenTo(t *testing.T) {
	t.Parallel()
	b := newTestCenter(t, broadcast.Config{})
	for range 20 {
		c := b.attach(broadcast.TabConfig{})
		c.greeting()
		if err := c.server.Close(); err != nil {
			t.Fatal(err)
		}
		var opened []*os.File
		for i := range 8 { // one of them has it
			f, err := os.Create(filepath.Join(t.TempDir(), strconv.Itoa(i)))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			opened = append(opened, f)
		}
		b.show(title(1))
		c.Send(wire.Event{Data: wire.Ping{}})
		for _, f := range opened {
			if info, err := f.Stat(); err != nil || info.Size() > 0 {
				t.Errorf("file opened after the socket was closed: got %d bytes, error %v, want it empty", info.Size(), err)
			}
		}
		c.Detach()
	}
}

// Closing a socket while it is written to ends its tab and does not affect other tabs.
func TestCloseWhileWriting(t *testing.T) {
	t.Parallel()
	b := newTestCenter(t, broadcast.Config{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				server, client := tcpPair(t)
				tab, err := b.Attach(t.Context(), broadcast.TabConfig{Conn: server})
				if err != nil {
					t.Errorf("attach: %v", err)
					return
				}
				in := bufio.NewReader(client)
				if _, _, err := readFrame(in); err != nil {
					t.Errorf("read: %v", err)
				}
				server.Close()
				for err == nil {
					var op byte
					if op, _, err = readFrame(in); err == nil && op != 1 {
						t.Errorf("frame: got kind %d, want a text frame", op)
					}
				}
				tab.Detach()
				client.Close()
			}
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		wg.Wait()
	}()
	for i := 0; ; i++ {
		select {
		case <-done:
			return
		default:
			b.show(title(i))
		}
	}
}
