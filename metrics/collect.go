package metrics

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// collector exports the metrics to the registry.
type collector struct{ m *Metrics }

// Describe implements [prometheus.Collector].
func (c collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		descSessions, descConnections, descAgents, descInUse, descLimit, descQueue, descPending, descOldest, descDraining,
		descBuild, descAppend, descDelay, descBegin, descTakeover, descReplayed, descWait, descRTT, descEvents,
		descDeliveries, descFenced, descResumes, descSlow, descRepeated, descErrors, descCloses, descLimited, descTokens,
		descCost,
	} {
		to <- d
	}
}

// Collect implements [prometheus.Collector].
func (c collector) Collect(to chan<- prometheus.Metric) {
	s := emitter(to)
	s.levels(c.m.currentLevels())
	s.gauge(descBuild, 1, c.m.cfg.Version, string(c.m.cfg.Replica))
	m := c.m
	s.histogram(descAppend, m.appends)
	s.histogram(descDelay, m.delays)
	s.histogram(descBegin, m.begins)
	s.histogram(descTakeover, m.takeovers)
	s.histogram(descReplayed, m.replays)
	s.histogram(descWait, m.waits)
	s.histogram(descRTT, m.rtts)
	s.counter(descEvents, &m.events)
	s.counter(descDeliveries, &m.deliveries)
	s.counter(descFenced, &m.fenced)
	s.counter(descSlow, &m.slow)
	s.counter(descRepeated, &m.repeated)
	s.counters(descErrors, &m.errors)
	s.counters(descCloses, &m.closes)
	s.counters(descLimited, &m.limited)
	s.counters(descTokens, &m.tokens)
	s.emit(descCost, prometheus.CounterValue, float64(m.nanodollars.Load())/1e9)
	for _, reason := range m.resumes.values {
		result := resumeSnapshot
		if reason == reasonPosition {
			result = resumeTail
		}
		s.emit(descResumes, prometheus.CounterValue, float64(m.resumes.by[reason].Load()), result, reason)
	}
}

// emitter sends metrics to a scrape.
type emitter chan<- prometheus.Metric

func (s emitter) emit(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
	s <- prometheus.MustNewConstMetric(d, kind, v, labels...)
}

func (s emitter) gauge(d *prometheus.Desc, v int, labels ...string) {
	s.emit(d, prometheus.GaugeValue, float64(v), labels...)
}

func (s emitter) counter(d *prometheus.Desc, c *atomic.Uint64) {
	s.emit(d, prometheus.CounterValue, float64(c.Load()))
}

func (s emitter) counters(d *prometheus.Desc, c *counters) {
	for _, v := range c.values {
		s.emit(d, prometheus.CounterValue, float64(c.by[v].Load()), v)
	}
}

func (s emitter) histogram(d *prometheus.Desc, h *histogram) {
	buckets := make(map[float64]uint64, len(h.bounds))
	var total uint64
	for i, n := range h.read(nil) {
		total += n
		if i < len(h.bounds) {
			buckets[h.bounds[i]] = total
		}
	}
	s <- prometheus.MustNewConstHistogram(d, total, float64(h.sum.Load())*h.unit, buckets)
}

func (s emitter) levels(l Levels) {
	s.gauge(descSessions, l.Working, stateWorking)
	s.gauge(descSessions, l.Waiting, stateWaiting)
	s.gauge(descSessions, l.Stalled, stateStalled)
	s.gauge(descSessions, l.Stuck, stateStuck)
	s.gauge(descSessions, l.Idle, stateIdle)
	s.gauge(descSessions, l.Followed, stateFollowed)
	s.gauge(descConnections, l.Connections)
	for _, a := range l.Agents {
		s.gauge(descAgents, a.Running, string(a.Kind), agentRunning)
		s.gauge(descAgents, a.Waiting, string(a.Kind), agentWaiting)
	}
	s.gauge(descInUse, l.InUse)
	s.gauge(descLimit, l.Limit)
	s.gauge(descQueue, l.MainQueue, queueMain)
	s.gauge(descQueue, l.WindowQueue, queueWindow)
	s.gauge(descQueue, l.Mailbox, queueMailbox)
	s.gauge(descPending, l.Approvals, askApproval)
	s.gauge(descPending, l.Prompts, askPrompt)
	s.gauge(descPending, l.Plans, askPlan)
	oldest := 0.0
	if !l.Oldest.IsZero() {
		oldest = max(0, time.Since(l.Oldest).Seconds())
	}
	s.emit(descOldest, prometheus.GaugeValue, oldest)
	draining := 0
	if l.Draining {
		draining = 1
	}
	s.gauge(descDraining, draining)
}
