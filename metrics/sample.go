package metrics

import (
	"bytes"
	"os"
	"runtime"
	runtimemetrics "runtime/metrics"
	"strconv"
	"time"

	"github.com/everdesk/everdesk/adminview"
)

// Rates are measured since the newest reading that is at least rateSpan old. A reading older than
// rateStale is dropped: it says nothing about the last second.
const (
	rateSpan  = 950 * time.Millisecond
	rateStale = 15 * time.Second
)

// reading is the counters at the time of a Sample.
type reading struct {
	at                 time.Time
	events, deliveries uint64
	appends            []uint64
}

// Sample returns this replica's measurements for the admin view. Call it once or twice a second
// while an admin watches, and every few seconds otherwise; rates are measured between calls. The
// first call returns no rates.
func (m *Metrics) Sample() adminview.Sample {
	now := reading{
		at: time.Now(), events: m.events.Load(), deliveries: m.deliveries.Load(), appends: m.appends.read(nil),
	}
	l := m.currentLevels()
	s := adminview.Sample{
		StoreRTT: time.Duration(m.rtt.Load()).Seconds(),
		Queued:   l.MainQueue + l.WindowQueue, Questions: l.Approvals + l.Prompts + l.Plans,
		Takeovers: m.takeovers.total(), Fenced: m.fenced.Load(), Slow: m.slow.Load(),
		RateLimited: m.limited.total(), StoreErrors: m.errors.total(),
		Goroutines: runtime.NumGoroutine(), ResidentBytes: residentBytes(),
	}
	for _, a := range l.Agents {
		s.Agents += a.Running
	}
	before, ok := m.previousReading(now)
	if span := now.at.Sub(before.at).Seconds(); ok && span > 0 {
		s.Events = float64(now.events-before.events) / span
		s.Deliveries = float64(now.deliveries-before.deliveries) / span
		recent := make([]uint64, len(now.appends))
		for i := range recent {
			recent[i] = now.appends[i] - before.appends[i]
		}
		s.AppendP50, s.AppendP99 = m.appends.quantile(0.5, recent), m.appends.quantile(0.99, recent)
	}
	return s
}

// previousReading stores a reading and returns the one to compare it with, if there is one.
func (m *Metrics) previousReading(now reading) (reading, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.readings) > 0 && now.at.Sub(m.readings[0].at) > rateStale {
		m.readings = m.readings[1:]
	}
	// Of those that are old enough only the newest is needed.
	for len(m.readings) > 1 && now.at.Sub(m.readings[1].at) >= rateSpan {
		m.readings = m.readings[1:]
	}
	var before reading
	ok := len(m.readings) > 0
	if ok {
		before = m.readings[0]
	}
	const most = 16 // bounds the readings of frequent calls
	if len(m.readings) < most {
		m.readings = append(m.readings, now)
	}
	return before, ok
}

// residentBytes returns the resident memory of the process.
func residentBytes() uint64 {
	// The second field of statm is the number of resident pages.
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		if fields := bytes.Fields(text); len(fields) > 1 {
			if pages, err := strconv.ParseUint(string(fields[1]), 10, 64); err == nil {
				return pages * uint64(os.Getpagesize()) //nolint:gosec // not negative
			}
		}
	}
	sample := []runtimemetrics.Sample{{Name: "/memory/classes/total:bytes"}}
	runtimemetrics.Read(sample)
	return sample[0].Value.Uint64()
}
