package bench_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// BenchmarkAppend compares, in alternating rounds, a bare client that pipelines
// one XADD per event, redisstore and filestore. The figure of the bare client is the
// better of two ways to pipeline: like the sessions (64 goroutines, 16
// commands each) and in bulk (4 goroutines, 512 commands each).
func BenchmarkAppend(b *testing.B) {
	for b.Loop() {
		rs, client := openRedis(b)
		fs := openFile(b)
		redisWriters := newWriters(b, rs, "redis", sessions)
		fileWriters := newWriters(b, fs, "file", sessions)
		var bare, inRedis, inFile []float64
		for range rounds {
			bare = append(bare, max(
				rate(b, xadds(client, sessions, perBatch))*perBatch,
				rate(b, xadds(client, 4, 512))*512,
			))
			inRedis = append(inRedis, rate(b, commits(redisWriters))*perBatch)
			inFile = append(inFile, rate(b, commits(fileWriters))*perBatch)
		}
		b.ReportMetric(median(bare), "xadd-events/s")
		b.ReportMetric(median(inRedis), "redis-events/s")
		b.ReportMetric(median(inFile), "file-events/s")
		b.ReportMetric(median(inRedis)/median(bare), "redis/xadd")
		b.ReportMetric(median(inFile)/median(inRedis), "file/redis")
	}
}

// xadds are workers that append one event per plain XADD, bounded like the store's log.
func xadds(client redis.UniversalClient, workers, depth int) []func(context.Context) error {
	fns := make([]func(context.Context) error, workers)
	body := frame()
	for i := range fns {
		key := fmt.Sprintf("bare:%d", i)
		fns[i] = func(ctx context.Context) error {
			pipe := client.Pipeline()
			for range depth {
				pipe.XAdd(ctx, &redis.XAddArgs{Stream: key, MaxLen: 10_000, Approx: true, Values: []any{"d", body}})
			}
			_, err := pipe.Exec(ctx)
			return err
		}
	}
	return fns
}

// BenchmarkFileLatency commits to the file store at a tenth of the rate it can
// sustain and reports how long commits take.
func BenchmarkFileLatency(b *testing.B) {
	for b.Loop() {
		ws := newWriters(b, openFile(b), "file", sessions)
		full := rate(b, commits(ws))
		took := paced(b, ws, full/10)
		slices.Sort(took)
		b.ReportMetric(full*perBatch, "full-events/s")
		b.ReportMetric(float64(len(took)), "commits")
		b.ReportMetric(took[len(took)/2].Seconds()*1e3, "p50-ms")
		b.ReportMetric(took[len(took)*99/100].Seconds()*1e3, "p99-ms")
	}
}

// paced commits at a fixed rate, sharing it evenly between writers, and returns
// the time of every commit from the moment it was due: a stall counts for
// all commits that it delays. The start, in which the store still works on the commits at full
// rate, does not count.
func paced(b *testing.B, ws []*writer, perSecond float64) []time.Duration {
	b.Helper()
	const settle, total = time.Second, 11 * time.Second
	gap := time.Duration(float64(time.Second) * float64(len(ws)) / perSecond)
	var mu sync.Mutex // guards took
	var took []time.Duration
	var wg sync.WaitGroup
	start := time.Now()
	for i, w := range ws {
		wg.Go(func() {
			var mine []time.Duration
			due := start.Add(gap * time.Duration(i) / time.Duration(len(ws)))
			for ; due.Before(start.Add(total)); due = due.Add(gap) {
				<-time.After(time.Until(due))
				if err := w.commit(b.Context()); err != nil {
					b.Error(err)
					break
				}
				if due.After(start.Add(settle)) {
					mine = append(mine, time.Since(due))
				}
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, mine...)
		})
	}
	wg.Wait()
	return took
}
