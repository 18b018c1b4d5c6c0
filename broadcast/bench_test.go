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

// nowhere is a source that is never asked for more than a greeting.
type nowhere struct{}

func (nowhere) Read(context.Context, wire.Position, int) ([]store.Event, error) {
	return nil, store.ErrTrimmed
}

func (nowhere) Oldest(context.Context) (wire.Position, error) { return wire.Position{}, nil }

func (nowhere) Snapshot(context.Context, []wire.MonitorID) (wire.SessionState, error) {
	return wire.SessionState{LastMessageID: wire.Position{Epoch: 1}}, nil
}

// audience drains sockets and counts what came, as cheaply as Go can.
type audience struct {
	wg    sync.WaitGroup
	bytes atomic.Int64
	want  atomic.Int64
	done  chan struct{}
	conns []net.Conn
}

func newAudience() *audience { return &audience{done: make(chan struct{}, 1)} }

func (a *audience) join(b *testing.B) *broadcast.Socket {
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
					b.Errorf("read: %v", err)
				}
				return
			}
		}
	})
	return server
}

// await waits until so many bytes have come.
func (a *audience) await(want int64) {
	a.want.Store(want)
	for a.bytes.Load() < want {
		<-a.done
	}
}

func (a *audience) leave() {
	for _, c := range a.conns {
		c.Close()
	}
	a.wg.Wait()
}

// cpu is what the process has used so far, its readers included.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// step is some committed events after a position.
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

// BenchmarkPublish compares a Center with a loop that only writes ready bytes,
// over real sockets with the same readers. The figure to compare is CPU per
// delivery, in which the readers have the same share.
func BenchmarkPublish(b *testing.B) {
	const batch = 16
	for _, size := range []struct{ sessions, tabs int }{{1, 1000}, {500, 4}} {
		name := fmt.Sprintf("%dx%d", size.sessions, size.tabs)
		b.Run(name+"/floor", func(b *testing.B) {
			a := newAudience()
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
			a := newAudience()
			defer a.leave()
			var centers []*broadcast.Center
			for i := range size.sessions {
				c := broadcast.NewCenter(broadcast.Config{Writers: w}, session, wire.Position{Epoch: 1}, nowhere{})
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

// greeting is how long the first frame of a tab is.
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
