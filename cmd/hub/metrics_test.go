package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.yaml.in/yaml/v3"

	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/wire"
)

// series maps the series of a hub to their values.
type series map[string]float64

// scrape reads the metrics of a hub.
func scrape(t *testing.T, url string) series {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("/metrics: got %d, error %v, want %d: %s", res.StatusCode, err, http.StatusOK, text)
	}
	all := series{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		i := strings.LastIndexByte(line, ' ')
		if all[line[:i]], err = strconv.ParseFloat(line[i+1:], 64); err != nil {
			t.Fatalf("line %q: got error %v, want a number at its end", line, err)
		}
	}
	return all
}

// families returns the names without labels, with and without the suffixes of histograms.
func (s series) families() map[string]bool {
	names := map[string]bool{}
	for name := range s {
		name, _, _ = strings.Cut(name, "{")
		names[name] = true
		for _, part := range []string{"_bucket", "_sum", "_count"} {
			names[strings.TrimSuffix(name, part)] = true
		}
	}
	return names
}

// counted waits until each series in want has at least its value, and returns all.
func counted(t *testing.T, url string, want series) series {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(waitTimeout)
	for {
		got := scrape(t, url)
		missing := ""
		for name, n := range want {
			if v, ok := got[name]; !ok || v < n {
				missing = name
			}
		}
		if missing == "" {
			return got
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s is %v, want %v", missing, got[missing], want[missing])
		}
	}
}

// The metrics count connections, messages, duplicates, questions, answers, reconnects and rate
// limits.
func TestMetricsCountWhatHappens(t *testing.T) {
	t.Parallel()
	hub := startHub(t, "--store", "file:"+t.TempDir(), "--auth", "none", "--replica-id", "one")
	session := createSession(t, hub.url)
	cuts := newCutter(t, hub.url)
	c := runClient(t, cuts.url, session)
	emit(t, c, wire.DialogConfirm{ID: "d", Title: "May I?", Message: "Really?"})
	counted(t, hub.url, series{
		`everdesk_connections`: 1, `everdesk_sessions{state="waiting"}`: 1, `everdesk_hitl_pending{kind="approval"}`: 1,
		`everdesk_resume_total{reason="fresh",result="snapshot"}`: 1,
	})
	if _, err := c.Send(t.Context(), wire.DialogFeedback{DialogID: "d", Confirmed: true, MessageID: "yes"}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := c.Send(t.Context(), wire.UserMessage{MessageID: "again", Content: "/say hello"}); err != nil {
			t.Fatal(err)
		}
	}
	cuts.cut()
	emit(t, c, wire.AppBadge{AppID: "a", Count: 1})
	after := counted(t, hub.url, series{
		`everdesk_hitl_wait_seconds_count`: 1, `everdesk_dup_messages_total`: 1, `everdesk_accept_to_begin_seconds_count`: 1,
		`everdesk_resume_total{reason="position",result="tail"}`: 1, `everdesk_replayed_events_count`: 1,
		`everdesk_events_total`: 5, `everdesk_append_seconds_count`: 4, `everdesk_deliveries_total`: 5,
		`everdesk_event_delay_seconds_count`: 3, `everdesk_ws_closes_total{code="1006"}`: 1, `everdesk_store_rtt_seconds_count`: 1,
		`everdesk_tokens_total{kind="output"}`: 1,
	})
	for name, n := range map[string]float64{
		`everdesk_hitl_pending{kind="approval"}`: 0, `everdesk_fenced_total`: 0, `everdesk_takeover_seconds_count`: 0,
		`everdesk_dup_messages_total`: 1, `everdesk_build_info{replica="one",version="` + version() + `"}`: 1,
	} {
		if after[name] != n {
			t.Errorf("%s is %v, want %v", name, after[name], n)
		}
	}
	flood(t, hub.url, session)
	counted(t, hub.url, series{`everdesk_rate_limited_total{limit="messages"}`: 3, `everdesk_ws_closes_total{code="4429"}`: 1})
}

// flood sends messages until the hub closes the connection, without caring for refusals as a client
// does.
func flood(t *testing.T, url string, session wire.SessionID) {
	t.Helper()
	at := "ws" + strings.TrimPrefix(url, "http") + "/ws/" + string(session)
	conn, _, err := websocket.Dial(t.Context(), at, &websocket.DialOptions{Subprotocols: []string{"everdesk.v2"}}) //nolint:bodyclose // the library closes it
	if err != nil {
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	defer reading.Wait()
	defer func() { _ = conn.CloseNow() }() // the hub has closed it
	reading.Go(func() {
		for { // until the connection ends
			if _, _, err := conn.Read(t.Context()); err != nil {
				return
			}
		}
	})
	for n := 0; err == nil; n++ { // above the limit of a hundred per minute messages are refused
		m := wire.Message{ID: wire.MessageID(fmt.Sprintf("loud-%d", n)), Data: wire.Emit{Actions: []wire.Action{wire.AppBadge{AppID: "a", Count: 2}}}}
		err = conn.Write(t.Context(), websocket.MessageText, wire.Native{}.AppendMessage(nil, m))
	}
}

// The owner of a session is stopped and continued: the other hub has taken over, the first one
// detects that, and the metrics of both show it. They also count errors of a killed Redis.
func TestMetricsOfTwins(t *testing.T) {
	t.Parallel()
	redis := redistest.Standalone(t)
	demo, fileStore := testProviders(t)[0], t.TempDir()
	one := serveProcess(t, demo, "--store", redis.URL(), "--replica-id", "one", "--files-dir", fileStore, "--short-lease")
	two := serveProcess(t, demo, "--store", redis.URL(), "--replica-id", "two", "--files-dir", fileStore, "--short-lease")
	session := createSession(t, one.url)
	emit(t, runClient(t, one.url, session), wire.AppBadge{AppID: "a", Count: 1})
	runClient(t, two.url, session)
	counted(t, two.url, series{`everdesk_sessions{state="followed"}`: 1})
	if err := one.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	counted(t, two.url, series{`everdesk_takeover_seconds_count`: 1, `everdesk_sessions{state="idle"}`: 1})
	if err := one.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	counted(t, one.url, series{`everdesk_fenced_total`: 1, `everdesk_sessions{state="followed"}`: 1})
	redis.Kill(t)
	counted(t, two.url, series{`everdesk_redis_errors_total{kind="unavailable"}`: 1})
}

// The number of series does not depend on the number of sessions. The series that dashboard and
// alerts use exist, and all series are documented.
func TestMetricsAreKnown(t *testing.T) {
	t.Parallel()
	hub := startHub(t, "--store", "file:"+t.TempDir(), "--auth", "none", "--rate-limits", "off")
	ours := func(all series) (names []string) {
		for name := range all {
			if strings.HasPrefix(name, "everdesk_") {
				names = append(names, name)
			}
		}
		return names
	}
	c := runClient(t, hub.url, createSession(t, hub.url))
	emit(t, c, wire.AppBadge{AppID: "a", Count: 1})
	before := ours(scrape(t, hub.url))
	const sessions = 100
	for range sessions {
		id := createSession(t, hub.url)
		doSomething(t, hub.url, id)
	}
	all := counted(t, hub.url, series{`everdesk_sessions{state="idle"}`: sessions})
	if after := ours(all); len(after) != len(before) {
		t.Errorf("series with %d sessions: got %d, want %d as with one", sessions, len(after), len(before))
	}

	known := all.families()
	asked := regexp.MustCompile(`\b(?:everdesk|go|process)_[a-z_]+`)
	for _, file := range []string{"../../deploy/prometheus/rules.yaml", "../../deploy/prometheus/rules_test.yaml", "../../deploy/grafana/everdesk.json"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		names := asked.FindAllString(string(text), -1)
		if len(names) == 0 {
			t.Errorf("metrics in %s: got none, want at least one", file)
		}
		for _, name := range names {
			if !known[name] {
				t.Errorf("metrics in %s: got %s, want only those a hub has", file, name)
			}
		}
	}
	manual, err := os.ReadFile("../../docs/OPERATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for line := range strings.Lines(string(manual)) {
		if strings.HasPrefix(line, "| `everdesk_") {
			cells := strings.Split(line, "|")
			for _, name := range regexp.MustCompile("`(everdesk_[a-z_]+)`").FindAllStringSubmatch(cells[1], -1) {
				documented[name[1]] = true
			}
		}
	}
	for name := range documented {
		if !known[name] {
			t.Errorf("documented metrics: got %s, want only those a hub has", name)
		}
	}
	for _, name := range before {
		name, _, _ = strings.Cut(name, "{")
		base := name
		for _, part := range []string{"_bucket", "_sum", "_count"} {
			base = strings.TrimSuffix(base, part)
		}
		if !documented[name] && !documented[base] {
			t.Errorf("%s is shown and not documented", name)
		}
	}
}

// doSomething sends an action to a session over REST, which loads the session.
func doSomething(t *testing.T, url string, session wire.SessionID) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/api/sessions/"+string(session)+"/actions",
		strings.NewReader(`{"actions":[{"type":"app.badge","appId":"a","count":1}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := (&http.Client{}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if text, _ := io.ReadAll(res.Body); res.StatusCode >= http.StatusBadRequest {
		t.Fatalf("got %d: %s, want success", res.StatusCode, text)
	}
}

// The files for Prometheus are valid, and the tests of the alerts pass.
func TestPrometheusFiles(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"check", "config", "prometheus.yaml"},
		{"check", "rules", "--lint-fatal", "rules.yaml"},
		{"test", "rules", "rules_test.yaml"},
	} {
		cmd := exec.CommandContext(t.Context(), "promtool", args...)
		cmd.Dir = "../../deploy/prometheus"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v (scripts/need.sh promtool installs it)\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// Every alert has a severity, a summary, a runbook and a test.
func TestAlertsHaveRunbooks(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	anchors := map[string]bool{}
	for line := range strings.Lines(read("../../docs/OPERATIONS.md")) {
		if title, ok := strings.CutPrefix(strings.TrimSpace(line), "### "); ok {
			anchors[strings.ReplaceAll(strings.ToLower(title), " ", "-")] = true
		}
	}
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr         string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(read("../../deploy/prometheus/rules.yaml")), &rules); err != nil {
		t.Fatal(err)
	}
	tests := read("../../deploy/prometheus/rules_test.yaml")
	seen := 0
	for _, r := range rules.Groups[0].Rules {
		seen++
		_, anchor, _ := strings.Cut(r.Annotations["runbook_url"], "docs/OPERATIONS.md#")
		if !anchors[anchor] {
			t.Errorf("%s leads to %q, which is not there", r.Alert, r.Annotations["runbook_url"])
		}
		if !slices.Contains([]string{"info", "warning", "critical"}, r.Labels["severity"]) || r.Annotations["summary"] == "" {
			t.Errorf("%s: got severity %q and summary %q, want info, warning or critical and a text", r.Alert, r.Labels["severity"], r.Annotations["summary"])
		}
		if !strings.Contains(tests, "alertname: "+r.Alert+"\n        exp_alerts:\n") {
			t.Errorf("tests of alerts: got none in which %s fires, want one", r.Alert)
		}
	}
	if seen < 11 {
		t.Errorf("alerts: got %d, want at least 11", seen)
	}
}

// Grafana can import the dashboard: ids are unique, panels do not overlap, and every panel queries
// the selected hubs.
func TestDashboard(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../deploy/grafana/everdesk.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		UID, Title string
		Templating struct{ List []struct{ Name string } }
		Panels     []struct {
			ID          int
			Type, Title string
			GridPos     struct{ X, Y, W, H int }
			Targets     []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	if board.UID == "" || !slices.ContainsFunc(board.Templating.List, func(v struct{ Name string }) bool { return v.Name == "replica" }) {
		t.Errorf("dashboard: got uid %q and variables %v, want a uid and replica", board.UID, board.Templating.List)
	}
	ids, cells := map[int]bool{}, map[[2]int]string{}
	for _, p := range board.Panels {
		if ids[p.ID] {
			t.Errorf("panels: got id %d twice, want it once", p.ID)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if x >= 24 || cells[[2]int{x, y}] != "" {
					t.Fatalf("panel %q at %d, %d: got it over %q or beside the grid, want a free cell", p.Title, x, y, cells[[2]int{x, y}])
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("queries of panel %q: got none, want at least one", p.Title)
		}
		for _, q := range p.Targets {
			if !strings.Contains(q.Expr, `instance=~"$replica"`) {
				t.Errorf("query of panel %q: got %s, want it for the chosen replicas", p.Title, q.Expr)
			}
		}
	}
}
