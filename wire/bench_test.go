//go:build unix

package wire_test

import (
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// BenchmarkDecodeElsewhere lets each of many goroutines decode eight messages, one goroutine
// after the other, so that neither its stack nor its earlier messages are in a CPU cache.
func BenchmarkDecodeElsewhere(b *testing.B) {
	const readers, messages = 500, 8
	frame := emitFrame()
	turns, done := make([]chan struct{}, readers), make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	for i := range turns {
		turns[i] = make(chan struct{})
		wg.Go(func() {
			var kept [messages]wire.Message
			for range turns[i] {
				for j := range kept {
					kept[j], _ = wire.Native{}.DecodeMessage(frame)
				}
				done <- struct{}{}
			}
		})
	}
	b.ReportAllocs()
	before := cpuTime()
	n := 0
	for b.Loop() {
		turns[n%readers] <- struct{}{}
		<-done
		n++
	}
	b.ReportMetric(float64(cpuTime()-before)/float64(n), "cpu-ns/op")
	for _, c := range turns {
		close(c)
	}
}

// cpuTime returns the CPU time of this process, which other processes do not affect.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
