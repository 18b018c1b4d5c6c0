package kernels_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/everdesk/everdesk/kernels"
)

// BenchmarkInterrupt measures how long an endless loop runs after its interruption was requested, until the kernel has
// replied and is idle. The longest must be shorter than a second.
func BenchmarkInterrupt(b *testing.B) {
	server, err := kernels.UseServer(b.Context(), kernels.ServerConfig{AloneFor: time.Minute, Dir: b.TempDir(), Root: b.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.TempDir()}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(server.Stop)
	s := open(b, newClient(b, kernels.Config{URL: server.URL, Token: server.Token}), "n")
	var all []time.Duration
	for n := 0; b.Loop(); n++ {
		b.StopTimer()
		r := s.begin(fmt.Sprint("loop-", n), "print('begun', flush=True)\nwhile True: pass")
		s.collect(r, func(got kernels.Batch) bool { return len(got.Outputs) > 0 })
		b.StartTimer()
		began := time.Now()
		if err := s.client.Interrupt(b.Context(), s.kernel.ID); err != nil {
			b.Fatal(err)
		}
		s.collect(r, done)
		all = append(all, time.Since(began))
	}
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(all[len(all)-1].Microseconds())/1000, "max-ms")
	if longest := all[len(all)-1]; longest >= time.Second {
		b.Errorf("the longest interruption took %v, want less than a second", longest)
	}
}
