package metrics_test

import (
	"compress/gzip"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/gateway"
	"github.com/everdesk/everdesk/metrics"
	"github.com/everdesk/everdesk/ratelimit"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store/redisstore"
	"github.com/everdesk/everdesk/wire"
)

// Metrics implements the interfaces of all packages that report.
var (
	_ session.Observer        = (*metrics.Metrics)(nil)
	_ session.MessageObserver = (*metrics.Metrics)(nil)
	_ broadcast.Observer      = (*metrics.Metrics)(nil)
	_ gateway.Observer        = (*metrics.Metrics)(nil)
	_ ratelimit.Observer      = (*metrics.Metrics)(nil)
	_ agentpool.Observer      = (*metrics.Metrics)(nil)
	_ redisstore.Observer     = (*metrics.Metrics)(nil)
)

// scrape returns the value of every series.
func scrape(t *testing.T, m *metrics.Metrics) map[string]float64 {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("status of /metrics: got %d, want %d: %s", w.Code, http.StatusOK, w.Body)
	}
	seen := map[string]float64{}
	for line := range strings.Lines(w.Body.String()) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		i := strings.LastIndexByte(line, ' ')
		v, err := strconv.ParseFloat(line[i+1:], 64)
		if err != nil {
			t.Fatalf("line %q: got error %v, want a number at its end", line, err)
		}
		seen[line[:i]] = v
	}
	return seen
}

// ours counts the series of the hub itself.
func ours(seen map[string]float64) int {
	n := 0
	for name := range seen {
		if strings.HasPrefix(name, "everdesk_") {
			n++
		}
	}
	return n
}

func TestAllReportsAreExported(t *testing.T) {
	t.Parallel()
	m := metrics.New(metrics.Config{Version: "1.2", Replica: "hub-1"})
	m.SetLevels(func() metrics.Levels {
		return metrics.Levels{
			Working: 1, Waiting: 2, Stalled: 3, Stuck: 4, Idle: 5, Followed: 6, Connections: 7, InUse: 8, Limit: 9,
			MainQueue: 10, WindowQueue: 11, Mailbox: 12, Approvals: 13, Prompts: 14, Draining: true,
			Agents: []metrics.AgentLevel{{Kind: wire.AgentTask, Running: 15, Waiting: 16}},
		}
	})
	m.Appended(3, 3*time.Millisecond)
	m.Appended(2, 20*time.Second)
	m.TookOver(2 * time.Second)
	m.Fenced()
	m.Probed(300 * time.Microsecond)
	m.Repeated()
	m.Began(-time.Second) // a clock went back
	m.Answered(2 * time.Minute)
	m.Delivered(40, 2*time.Millisecond)
	m.Delivered(60, 0)
	m.Greeted("", 120)
	m.Greeted(wire.SnapshotTrimmed, 0)
	m.Greeted("of a newer hub", 0)
	m.Slow()
	m.Closed(wire.CloseTooSlow)
	m.Closed(1006)
	m.Closed(4999)
	m.Limited("messages")
	m.Limited("an unknown limit")
	m.Failed("no_space")
	m.SessionCooled()
	m.SessionWarmed(time.Millisecond)
	m.ColdFailed("missing")
	m.Spent(100, 20, 3, 4, 0.000_012_5)
	m.Spent(-1, 0, 0, 0, math.Inf(-1))
	seen := scrape(t, m)
	for name, want := range map[string]float64{
		`everdesk_sessions{state="working"}`:                        1,
		`everdesk_sessions{state="waiting"}`:                        2,
		`everdesk_sessions{state="stalled"}`:                        3,
		`everdesk_sessions{state="stuck"}`:                          4,
		`everdesk_sessions{state="idle"}`:                           5,
		`everdesk_sessions{state="followed"}`:                       6,
		`everdesk_connections`:                                      7,
		`everdesk_limiter_in_use`:                                   8,
		`everdesk_limiter_limit`:                                    9,
		`everdesk_queue_depth{kind="main"}`:                         10,
		`everdesk_queue_depth{kind="window"}`:                       11,
		`everdesk_queue_depth{kind="mailbox"}`:                      12,
		`everdesk_hitl_pending{kind="approval"}`:                    13,
		`everdesk_hitl_pending{kind="prompt"}`:                      14,
		`everdesk_agents{kind="task",state="running"}`:              15,
		`everdesk_agents{kind="task",state="waiting"}`:              16,
		`everdesk_draining`:                                         1,
		`everdesk_build_info{replica="hub-1",version="1.2"}`:        1,
		`everdesk_events_total`:                                     5,
		`everdesk_append_seconds_bucket{le="0.0025"}`:               0,
		`everdesk_append_seconds_bucket{le="0.005"}`:                1,
		`everdesk_append_seconds_bucket{le="+Inf"}`:                 2,
		`everdesk_append_seconds_sum`:                               20.003,
		`everdesk_takeover_seconds_count`:                           1,
		`everdesk_fenced_total`:                                     1,
		`everdesk_store_rtt_seconds_sum`:                            0.0003,
		`everdesk_dup_messages_total`:                               1,
		`everdesk_accept_to_begin_seconds_count`:                    1,
		`everdesk_accept_to_begin_seconds_sum`:                      0,
		`everdesk_hitl_wait_seconds_sum`:                            120,
		`everdesk_deliveries_total`:                                 100,
		`everdesk_event_delay_seconds_count`:                        1,
		`everdesk_resume_total{reason="position",result="tail"}`:    1,
		`everdesk_resume_total{reason="trimmed",result="snapshot"}`: 1,
		`everdesk_resume_total{reason="other",result="snapshot"}`:   1,
		`everdesk_replayed_events_sum`:                              120,
		`everdesk_slow_total`:                                       1,
		`everdesk_ws_closes_total{code="4408"}`:                     1,
		`everdesk_ws_closes_total{code="1006"}`:                     1,
		`everdesk_ws_closes_total{code="other"}`:                    1,
		`everdesk_rate_limited_total{limit="messages"}`:             1,
		`everdesk_rate_limited_total{limit="other"}`:                1,
		`everdesk_redis_errors_total{kind="no_space"}`:              1,
		`everdesk_sessions_cooled_total`:                            1,
		`everdesk_session_warm_seconds_count`:                       1,
		`everdesk_cold_errors_total{kind="missing"}`:                1,
		`everdesk_tokens_total{kind="input"}`:                       100,
		`everdesk_tokens_total{kind="cache_write"}`:                 4,
		`everdesk_cost_dollars_total`:                               0.0000125,
	} {
		if got, ok := seen[name]; !ok || math.Abs(got-want) > 1e-9 {
			t.Errorf("%s is %v (%v), want %v", name, got, ok, want)
		}
	}
	if _, ok := seen["go_goroutines"]; !ok {
		t.Error("metrics of the runtime: got none, want go_goroutines")
	}
	if _, ok := seen["process_resident_memory_bytes"]; !ok {
		t.Error("metrics of the process: got none, want process_resident_memory_bytes")
	}
}

// The number of series does not grow with any input.
func TestSeriesDoNotGrow(t *testing.T) {
	t.Parallel()
	m := metrics.New(metrics.Config{})
	before := ours(scrape(t, m))
	for i := range 1000 {
		name := "it-" + strconv.Itoa(i)
		m.Limited(name)
		m.Failed(name)
		m.Closed(wire.CloseCode(i))
		m.Greeted(wire.SnapshotReason(name), i)
		m.Appended(i, time.Duration(i)*time.Millisecond)
	}
	if after := ours(scrape(t, m)); after != before {
		t.Errorf("series: got %d, want %d as before", after, before)
	}
}

func TestOpenMetricsAndCompression(t *testing.T) {
	t.Parallel()
	m := metrics.New(metrics.Config{})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	r.Header.Set("Accept-Encoding", "gzip")
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, r)
	if got := w.Header().Get("Content-Type"); !strings.HasPrefix(got, "application/openmetrics-text") {
		t.Errorf("content type: got %q, want application/openmetrics-text", got)
	}
	body, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(body)
	if err != nil || !strings.HasSuffix(string(text), "# EOF\n") {
		t.Errorf("body: got error %v and the end %q, want the end %q", err, text[max(0, len(text)-20):], "# EOF\n")
	}
	// Names and units follow the conventions of Prometheus.
	for _, line := range regexp.MustCompile(`(?m)^# TYPE (everdesk_\S+) (\S+)$`).FindAllStringSubmatch(string(text), -1) {
		if line[2] == "unknown" {
			t.Errorf("type of %s: got %q, want a known one", line[1], line[2])
		}
	}
}

func TestCountingAllocatesNothing(t *testing.T) { //nolint:paralleltest // it counts the allocations of the process
	m := metrics.New(metrics.Config{})
	if n := testing.AllocsPerRun(100, func() {
		m.Appended(10, time.Millisecond)
		m.Delivered(1000, time.Millisecond)
		m.Repeated()
		m.Limited("messages")
	}); n != 0 {
		t.Errorf("allocations: got %v, want 0", n)
	}
}

func TestSample(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := metrics.New(metrics.Config{})
		running := []metrics.AgentLevel{{Kind: wire.AgentMain, Running: 2, Waiting: 1}, {Kind: wire.AgentTask, Running: 3}}
		m.SetLevels(func() metrics.Levels {
			return metrics.Levels{MainQueue: 2, WindowQueue: 1, Approvals: 3, Prompts: 1, Agents: running}
		})
		m.Appended(1000, 9*time.Second) // long ago
		first := m.Sample()
		if first.Events != 0 || first.AppendP99 != 0 {
			t.Errorf("first sample: got %+v, want no rates", first)
		}
		if first.Queued != 3 || first.Questions != 4 || first.Agents != 5 || first.Goroutines == 0 || first.ResidentBytes == 0 {
			t.Errorf("first sample: got %+v, want 3 queued, 4 questions, 5 agents, goroutines and memory", first)
		}
		for range 4 { // with a Sample every half second, rates cover a whole second
			for range 50 {
				m.Appended(2, 200*time.Microsecond)
			}
			m.Delivered(500, time.Millisecond)
			time.Sleep(500 * time.Millisecond)
			first = m.Sample()
		}
		if first.Events != 200 || first.Deliveries != 1000 {
			t.Errorf("rates are %v and %v, want 200 and 1000", first.Events, first.Deliveries)
		}
		if first.AppendP50 < 100e-6 || first.AppendP99 > 250e-6 || first.AppendP50 >= first.AppendP99 {
			t.Errorf("quantiles are %v and %v, want 100 to 250 µs", first.AppendP50, first.AppendP99)
		}
		m.TookOver(time.Second)
		m.Fenced()
		m.Slow()
		m.Limited("reads")
		m.Failed("timeout")
		m.Probed(3 * time.Millisecond)
		time.Sleep(time.Second)
		last := m.Sample()
		if last.Takeovers != 1 || last.Fenced != 1 || last.Slow != 1 || last.RateLimited != 1 || last.StoreErrors != 1 {
			t.Errorf("last sample: got %+v, want one takeover, fenced, slow, rate limited and store error", last)
		}
		if last.StoreRTT != 0.003 || last.Events != 0 || last.AppendP50 != 0 {
			t.Errorf("last sample: got %+v, want a round trip of 3 ms and no events", last)
		}
		m.Appended(60, time.Millisecond)
		time.Sleep(6 * time.Second) // with rarer Samples, rates cover the time between
		if s := m.Sample(); s.Events != 10 {
			t.Errorf("%v events in a second, want 10", s.Events)
		}
		m.Appended(60, time.Millisecond)
		time.Sleep(time.Minute) // no Sample for longer than rateStale
		if s := m.Sample(); s.Events != 0 {
			t.Errorf("events per second after a minute without samples: got %v, want 0", s.Events)
		}
	})
}
