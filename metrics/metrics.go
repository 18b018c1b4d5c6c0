package metrics

import (
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/everdesk/everdesk/wire"
)

// maxScrapes bounds concurrent scrapes.
const maxScrapes = 4

// Config configures [Metrics].
type Config struct {
	Version string
	Replica wire.ReplicaID
	// Logger receives errors of scrapes. It defaults to none.
	Logger *slog.Logger
}

// Levels are the gauges: the current state of a replica.
type Levels struct {
	// Working, Waiting, Stalled, Stuck and Idle count the owned sessions by state, each in one of
	// them. Followed counts those that other replicas own.
	Working, Waiting, Stalled, Stuck, Idle, Followed int

	Connections int
	Agents      []AgentLevel
	// InUse is the number of slots that agents of this replica hold, Limit the number of slots over
	// all replicas.
	InUse, Limit int
	// MainQueue and WindowQueue count messages that wait for an agent, Mailbox those that wait for
	// a session's actor.
	MainQueue, WindowQueue, Mailbox int
	// Approvals, Prompts and Plans count the questions that wait for a user, the oldest since
	// Oldest.
	Approvals, Prompts, Plans int
	Oldest                    time.Time
	Draining                  bool
}

// AgentLevel counts the agents of a kind: those that run and those that wait for a slot.
type AgentLevel struct {
	Kind             wire.AgentKind
	Running, Waiting int
}

// Metrics counts events. Make it with [New].
type Metrics struct {
	cfg      Config
	registry *prometheus.Registry
	levels   atomic.Pointer[func() Levels]

	appends, delays, begins, takeovers, replays, waits, rtts, warms *histogram

	events, deliveries, fenced, slow, repeated, nanodollars, cooled atomic.Uint64

	resumes, errors, closes, limited, tokens, coldErrors counters

	rtt atomic.Int64 // the newest round trip to the store, in ns

	mu       sync.Mutex // guards the following
	readings []reading  // for Sample, oldest first
}

// New returns metrics with a registry of their own.
func New(cfg Config) *Metrics {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	m := &Metrics{
		cfg: cfg, registry: prometheus.NewRegistry(),
		appends: newHistogram(seconds, fastBounds), delays: newHistogram(seconds, fastBounds), rtts: newHistogram(seconds, fastBounds),
		begins: newHistogram(seconds, slowBounds), takeovers: newHistogram(seconds, slowBounds), warms: newHistogram(seconds, slowBounds),
		waits: newHistogram(seconds, humanBounds), replays: newHistogram(1, countBounds),
		resumes: newCounters(append([]string{reasonPosition}, reasons...)), errors: newCounters(failures),
		closes: newCounters(closeCodes()), limited: newCounters(limits), tokens: newCounters(tokens), coldErrors: newCounters(coldFailures),
	}
	m.registry.MustRegister(
		collector{m}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// SetLevels sets the function that returns the gauges. Before, all are zero.
func (m *Metrics) SetLevels(levels func() Levels) { m.levels.Store(&levels) }

func (m *Metrics) currentLevels() Levels {
	if levels := m.levels.Load(); levels != nil {
		return (*levels)()
	}
	return Levels{}
}

// Handler serves all metrics to Prometheus, as OpenMetrics and compressed on request. Errors are
// logged and counted.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(m.cfg.Logger.Handler(), slog.LevelError),
		ErrorHandling:       promhttp.ContinueOnError,
		Registry:            m.registry,
		EnableOpenMetrics:   true,
		MaxRequestsInFlight: maxScrapes,
	})
}
