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

// maxScrapes is how many may run at once.
const maxScrapes = 4

// Config says whose metrics they are.
type Config struct {
	Version string
	Replica wire.ReplicaID
	// Logger gets what goes wrong in a scrape. It defaults to none.
	Logger *slog.Logger
}

// Levels is how much of something there is at the moment.
type Levels struct {
	// Working, Waiting, Stalled, Stuck and Idle are the sessions that are owned
	// here; each is one of them. Followed are those of other replicas.
	Working, Waiting, Stalled, Stuck, Idle, Followed int

	Connections int
	Agents      []AgentLevel
	// InUse is how many agents have a slot by this replica, Limit how many may have
	// one by all.
	InUse, Limit int
	// MainQueue and WindowQueue are messages that wait for an agent, Mailbox is what
	// sessions have not got to yet.
	MainQueue, WindowQueue, Mailbox int
	// Approvals, Prompts and the questions of Plans wait for a person, the oldest of
	// them since Oldest.
	Approvals, Prompts, Plans int
	Oldest                    time.Time
	Draining                  bool
}

// AgentLevel is the agents of a kind. Those that do not run wait for a slot.
type AgentLevel struct {
	Kind             wire.AgentKind
	Running, Waiting int
}

// Metrics counts. Make it with [New].
type Metrics struct {
	cfg      Config
	registry *prometheus.Registry
	levels   atomic.Pointer[func() Levels]

	appends, delays, begins, takeovers, replays, waits, rtts *histogram

	events, deliveries, fenced, slow, repeated, nanodollars atomic.Uint64

	resumes, errors, closes, limited, tokens counters

	rtt atomic.Int64 // the newest, in ns

	mu       sync.Mutex // guards the following
	readings []reading  // for Sample, the oldest first
}

// New makes metrics with a registry of their own.
func New(cfg Config) *Metrics {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	m := &Metrics{
		cfg: cfg, registry: prometheus.NewRegistry(),
		appends: newHistogram(seconds, fastBounds), delays: newHistogram(seconds, fastBounds), rtts: newHistogram(seconds, fastBounds),
		begins: newHistogram(seconds, slowBounds), takeovers: newHistogram(seconds, slowBounds),
		waits: newHistogram(seconds, humanBounds), replays: newHistogram(1, countBounds),
		resumes: newCounters(append([]string{reasonPosition}, reasons...)), errors: newCounters(failures),
		closes: newCounters(closeCodes()), limited: newCounters(limits), tokens: newCounters(tokens),
	}
	m.registry.MustRegister(
		collector{m}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// SetLevels says whom to ask for what there is now. Before, nothing is there.
func (m *Metrics) SetLevels(levels func() Levels) { m.levels.Store(&levels) }

func (m *Metrics) currentLevels() Levels {
	if levels := m.levels.Load(); levels != nil {
		return (*levels)()
	}
	return Levels{}
}

// Handler shows all metrics to Prometheus, as OpenMetrics and compressed if it wants
// that. What goes wrong is in the log and counted.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(m.cfg.Logger.Handler(), slog.LevelError),
		ErrorHandling:       promhttp.ContinueOnError,
		Registry:            m.registry,
		EnableOpenMetrics:   true,
		MaxRequestsInFlight: maxScrapes,
	})
}
