package broadcast_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/wire"
)

// payloadOf returns the n-th event of the model: most have a monitor, some are for one connection only,
// some are large.
func payloadOf(n uint64) wire.ServerPayload {
	switch n % 7 {
	case 3:
		return wire.MessageRejected{MessageID: "m", Code: wire.CodeForbidden, To: "unknown"}
	case 5:
		return wire.SessionRenamed{Title: fmt.Sprintf("%0*d", int(n%2000), n)}
	}
	return tool(wire.MonitorID(fmt.Sprint("m-", n%3)), int(n))
}

// visible reports whether a tab gets the n-th event.
func visible(n uint64, monitor wire.MonitorID) bool {
	p := payloadOf(n)
	if _, ok := p.(wire.MessageRejected); ok {
		return false
	}
	m := wire.MonitorOf(p)
	return monitor == "" || m == "" || m == monitor
}

// client is a client that connects repeatedly, with its expected state.
type client struct {
	b             *bench
	rnd           *rand.Rand
	name          string
	form          broadcast.Form
	monitor       wire.MonitorID
	shrinkBuffers bool
	reads         chan<- struct{} // told when something was read
}

// visit connects, reads up to limit events and disconnects. It returns the new cursor.
func (c *client) visit(cursor uint64, limit int, last uint64) uint64 {
	cfg := broadcast.TabConfig{Form: c.form, Who: who(c.name)}
	if c.monitor != "" {
		cfg.Monitors = []wire.MonitorID{c.monitor}
	}
	switch c.rnd.IntN(8) {
	case 0:
		cfg.ResumeFrom = "nonsense"
	case 1:
		cursor = 0
	case 2:
		cursor = c.rnd.Uint64N(cursor + 1)
		fallthrough
	default:
		cfg.ResumeFrom = wire.Position{Epoch: 1, Seq: cursor}.String()
	}
	t := c.b.t
	server, conn := tcpPair(t)
	if c.shrinkBuffers {
		shrinkBuffers(t, server, conn)
	}
	tab := c.b.attachTo(server, conn, cfg)
	for read := 0; read < limit && cursor < last; read++ {
		e := tab.next()
		select {
		case c.reads <- struct{}{}:
		default:
		}
		if s, ok := e.Data.(wire.SessionState); ok {
			switch {
			case s.Mode == wire.StateResume && read > 0:
				t.Errorf("%s: got a resume as frame %d, want it only as the first", c.name, read)
			case s.Mode == wire.StateSnapshot && read > 0 && s.LastMessageID.Seq < cursor:
				t.Errorf("%s: got a snapshot at %v, want one at %d or later", c.name, s.LastMessageID, cursor)
			case s.Mode == wire.StateSnapshot:
				cursor = s.LastMessageID.Seq
			}
			continue
		}
		if read == 0 {
			t.Fatalf("%s: first frame is %T, want session_state", c.name, e.Data)
		}
		cursor++
		for !visible(cursor, c.monitor) {
			cursor++
		}
		if e.At.Seq != cursor {
			t.Errorf("%s: got %d, want %d", c.name, e.At.Seq, cursor)
			break
		}
	}
	tab.Detach()
	server.Close()
	conn.Close()
	return cursor
}

// While events are published and the log is trimmed, each reconnecting tab gets every event after its
// cursor once and in order.
func TestEveryEventOnceAndInOrder(t *testing.T) {
	t.Parallel()
	const last = 3001 // which everybody is shown
	w := broadcast.NewWriters(2)
	defer w.Close()
	b := newTestCenter(t, broadcast.Config{RingEvents: 64, RingBytes: 32 << 10, ReplayEvents: 300, Writers: w})
	rnd := rand.New(rand.NewPCG(1, 2))
	reads := make(chan struct{}, 1)
	var wg sync.WaitGroup
	for i := range 24 {
		c := &client{
			b: b, rnd: rand.New(rand.NewPCG(3, uint64(i))), name: fmt.Sprint("c", i),
			form:    []broadcast.Form{broadcast.FormNative, broadcast.FormBatch, broadcast.FormSSE}[i%3],
			monitor: []wire.MonitorID{"", "", "m-0", "m-1"}[i%4], shrinkBuffers: i%5 == 0, reads: reads,
		}
		wg.Go(func() {
			cursor := uint64(0)
			for cursor < last {
				cursor = c.visit(cursor, c.rnd.IntN(400), last)
			}
		})
	}
	for n := uint64(1); n <= last; {
		var payloads []wire.ServerPayload
		for range 1 + rnd.IntN(20) {
			if n <= last {
				payloads = append(payloads, payloadOf(n))
				n++
			}
		}
		b.show(payloads...)
		<-reads // or all would be over before they came
		if rnd.IntN(50) == 0 {
			b.src.trim(500)
		}
	}
	wg.Wait()
}
