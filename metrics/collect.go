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
		descCost, descCooled, descWarmed, descColdFailed,
	} {
		to <- d
	}
}

// Collect implements [prometheus.Collector].
func (c collector) Collect(to chan<- prometheus.Metric) {
	e := emitter(to)
	e.levels(c.m.currentLevels())
	e.gauge(descBuild, 1, c.m.cfg.Version, string(c.m.cfg.Replica))
	m := c.m
	e.histogram(descAppend, m.appends)
	e.histogram(descDelay, m.delays)
	e.histogram(descBegin, m.begins)
	e.histogram(descTakeover, m.takeovers)
	e.histogram(descReplayed, m.replays)
	e.histogram(descWait, m.waits)
	e.histogram(descRTT, m.rtts)
	e.counter(descEvents, &m.events)
	e.counter(descDeliveries, &m.deliveries)
	e.counter(descFenced, &m.fenced)
	e.counter(descSlow, &m.slow)
	e.counter(descRepeated, &m.repeated)
	e.counters(descErrors, &m.errors)
	e.counter(descCooled, &m.cooled)
	e.histogram(descWarmed, m.warms)
	e.counters(descColdFailed, &m.coldErrors)
	e.counters(descCloses, &m.closes)
	e.counters(descLimited, &m.limited)
	e.counters(descTokens, &m.tokens)
	e.emit(descCost, prometheus.CounterValue, float64(m.nanodollars.Load())/1e9)
	for _, reason := range m.resumes.values {
		result := resumeSnapshot
		if reason == reasonPosition {
			result = resumeTail
		}
		e.emit(descResumes, prometheus.CounterValue, float64(m.resumes.by[reason].Load()), result, reason)
	}
}

// emitter sends metrics to a scrape.
type emitter chan<- prometheus.Metric

func (e emitter) emit(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
	e <- prometheus.MustNewConstMetric(d, kind, v, labels...)
}

func (e emitter) gauge(d *prometheus.Desc, v int, labels ...string) {
	e.emit(d, prometheus.GaugeValue, float64(v), labels...)
}

func (e emitter) counter(d *prometheus.Desc, c *atomic.Uint64) {
	e.emit(d, prometheus.CounterValue, float64(c.Load()))
}

func (e emitter) counters(d *prometheus.Desc, c *counters) {
	for _, v := range c.values {
		e.emit(d, prometheus.CounterValue, float64(c.by[v].Load()), v)
	}
}

func (e emitter) histogram(d *prometheus.Desc, h *histogram) {
	buckets := make(map[float64]uint64, len(h.bounds))
	var total uint64
	for i, n := range h.read(nil) {
		total += n
		if i < len(h.bounds) {
			buckets[h.bounds[i]] = total
		}
	}
	e <- prometheus.MustNewConstHistogram(d, total, float64(h.sum.Load())*h.unit, buckets)
}

func (e emitter) levels(l Levels) {
	e.gauge(descSessions, l.Working, stateWorking)
	e.gauge(descSessions, l.Waiting, stateWaiting)
	e.gauge(descSessions, l.Stalled, stateStalled)
	e.gauge(descSessions, l.Stuck, stateStuck)
	e.gauge(descSessions, l.Idle, stateIdle)
	e.gauge(descSessions, l.Followed, stateFollowed)
	e.gauge(descConnections, l.Connections)
	for _, a := range l.Agents {
		e.gauge(descAgents, a.Running, string(a.Kind), agentRunning)
		e.gauge(descAgents, a.Waiting, string(a.Kind), agentWaiting)
	}
	e.gauge(descInUse, l.InUse)
	e.gauge(descLimit, l.Limit)
	e.gauge(descQueue, l.MainQueue, queueMain)
	e.gauge(descQueue, l.WindowQueue, queueWindow)
	e.gauge(descQueue, l.Mailbox, queueMailbox)
	e.gauge(descPending, l.Approvals, askApproval)
	e.gauge(descPending, l.Prompts, askPrompt)
	e.gauge(descPending, l.Plans, askPlan)
	oldest := 0.0
	if !l.Oldest.IsZero() {
		oldest = max(0, time.Since(l.Oldest).Seconds())
	}
	e.emit(descOldest, prometheus.GaugeValue, oldest)
	draining := 0
	if l.Draining {
		draining = 1
	}
	e.gauge(descDraining, draining)
}
