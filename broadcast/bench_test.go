//go:build unix

package broadcast_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// emptySource is a source with an empty log; benchmarks only use its snapshot.
type emptySource struct{}

func (emptySource) Read(context.Context, wire.Position, int) ([]store.Event, error) {
	return nil, store.ErrTrimmed
}

func (emptySource) Oldest(context.Context) (wire.Position, error) { return wire.Position{}, nil }

func (emptySource) Snapshot(context.Context, []wire.MonitorID) (wire.SessionState, error) {
	return wire.SessionState{LastMessageID: wire.Position{Epoch: 1}}, nil
}

// socketReaders reads sockets and counts the bytes, with as little work as possible.
type socketReaders struct {
	wg    sync.WaitGroup
	bytes atomic.Int64
	want  atomic.Int64
	done  chan struct{}
	conns []net.Conn
}

func newSocketReaders() *socketReaders { return &socketReaders{done: make(chan struct{}, 1)} }

func (a *socketReaders) join(b *testing.B) *broadcast.Socket {
	b.Helper()
	server, client := tcpPair(b)
	a.conns = append(a.conns, server, client)
	a.wg.Go(func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := client.Read(buf)
			if a.bytes.Add(int64(n)) >= a.want.Load() {
				select {
				case a.done <- struct{}{}:
				default:
				}
			}
			if err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
					b.Errorf("read: got error %v, want %v or %v", err, io.EOF, net.ErrClosed)
				}
				return
			}
		}
	})
	return server
}

// await waits until want bytes have arrived.
func (a *socketReaders) await(want int64) {
	a.want.Store(want)
	for a.bytes.Load() < want {
		<-a.done
	}
}

func (a *socketReaders) leave() {
	for _, c := range a.conns {
		c.Close()
	}
	a.wg.Wait()
}

// cpu returns the CPU time of the process so far, including the readers.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// step returns n committed events after a position.
func step(seq uint64, n int) []broadcast.Event {
	events := make([]broadcast.Event, n)
	body := wire.ToolProgress{ToolName: "a:b", Status: wire.ToolRunning, MonitorID: "monitor-0", Message: fmt.Sprintf("%0256d", 1)}
	for i := range events {
		at := wire.Position{Epoch: 1, Seq: seq + uint64(i) + 1}
		events[i] = broadcast.Event{
			At: at, Data: body, Time: epoch,
			Frame: wire.AppendEvent(nil, wire.Event{Session: session, At: at, Time: epoch, Data: body}),
		}
	}
	return events
}

// BenchmarkPublish compares a Center with a loop that only writes prepared bytes, over real sockets
// with the same readers. The figure to compare is CPU time per delivery; the share of the readers is
// the same in both.
func BenchmarkPublish(b *testing.B) {
	const batch = 16
	for _, size := range []struct{ sessions, tabs int }{{1, 1000}, {500, 4}} {
		name := fmt.Sprintf("%dx%d", size.sessions, size.tabs)
		b.Run(name+"/floor", func(b *testing.B) {
			a := newSocketReaders()
			defer a.leave()
			var conns []net.Conn
			for range size.sessions * size.tabs {
				conns = append(conns, a.join(b))
			}
			var data []byte
			for _, e := range step(0, batch) {
				data = append(data, 0x81, 126, byte(len(e.Frame)>>8), byte(len(e.Frame)))
				data = append(data, e.Frame...)
			}
			sent, start := int64(0), cpu()
			for b.Loop() {
				for _, c := range conns {
					if _, err := c.Write(data); err != nil {
						b.Fatal(err)
					}
				}
				sent += int64(len(data) * len(conns))
				a.await(sent - int64(len(conns)*len(data)))
			}
			a.await(sent)
			report(b, start, batch*len(conns))
		})
		b.Run(name+"/center", func(b *testing.B) {
			w := broadcast.NewWriters(runtime.GOMAXPROCS(0))
			defer w.Close()
			a := newSocketReaders()
			defer a.leave()
			var centers []*broadcast.Center
			for i := range size.sessions {
				c := broadcast.NewCenter(broadcast.Config{Writers: w}, session, wire.Position{Epoch: 1}, emptySource{})
				defer c.Wait()
				defer c.Close(wire.CloseGoingAway, "")
				for j := range size.tabs {
					t, err := c.Attach(b.Context(), broadcast.TabConfig{Conn: a.join(b), Who: who(fmt.Sprint(i, "-", j))})
					if err != nil {
						b.Fatal(err)
					}
					defer t.Detach()
				}
				centers = append(centers, c)
			}
			n := size.sessions * size.tabs
			sent := int64(n * greeting(b, centers[0]))
			a.await(sent)
			start := cpu()
			for seq := uint64(0); b.Loop(); seq += batch {
				events := step(seq, batch)
				bytes := 0
				for _, e := range events {
					bytes += len(e.Frame) + 4
				}
				for _, c := range centers {
					c.Publish(events)
				}
				sent += int64(bytes * n)
				a.await(sent - int64(bytes*n))
			}
			a.await(sent)
			report(b, start, batch*n)
		})
	}
}

// greeting returns the size of the first frame of a tab.
func greeting(b *testing.B, c *broadcast.Center) int {
	b.Helper()
	server, client := tcpPair(b)
	defer server.Close()
	defer client.Close()
	t, err := c.Attach(b.Context(), broadcast.TabConfig{Conn: server, Who: who("probe")})
	if err != nil {
		b.Fatal(err)
	}
	defer t.Detach()
	_, payload, err := readFrame(bufio.NewReader(client))
	if err != nil {
		b.Fatal(err)
	}
	return 4 + len(payload)
}

func report(b *testing.B, start time.Duration, deliveries int) {
	b.Helper()
	total := float64(b.N) * float64(deliveries)
	b.ReportMetric(float64((cpu()-start).Nanoseconds())/total, "cpu-ns/delivery")
	b.ReportMetric(total/b.Elapsed().Seconds(), "deliveries/s")
}
