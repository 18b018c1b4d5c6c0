//go:build unix

package wire_test

import (
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// BenchmarkDecodeElsewhere is the reading of eight messages by each of many
// goroutines in turn: whose turn it is finds neither its stack nor what it read
// before in a cache.
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

// cpuTime is what this process has used, whoever else keeps the machine busy.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
