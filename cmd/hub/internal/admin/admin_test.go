package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/adminview"
	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/wire"
)

// adminDesk is a server with fixed answers of the admin API. It records the requests and their
// idempotency keys.
type adminServer struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
	keys  []string
}

func newAdminServer(t *testing.T, routes map[string]http.HandlerFunc) *adminServer {
	t.Helper()
	d := &adminServer{}
	mux := http.NewServeMux()
	for pattern, handle := range routes {
		mux.HandleFunc(pattern, handle)
	}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		d.mu.Lock()
		d.asked = append(d.asked, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+string(body)))
		d.keys = append(d.keys, r.Header.Get("Idempotency-Key"))
		d.mu.Unlock()
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(d.Close)
	return d
}

// last returns the last request.
func (d *adminServer) last() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.asked) == 0 {
		return ""
	}
	return d.asked[len(d.asked)-1]
}

// admin runs hub admin against the server.
func (d *adminServer) admin(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	return execute(ctx, command.Local{}, append(append([]string{"admin"}, args...), "--server", d.URL, "--token", "t")...)
}

// execute runs a command. All flags that it does not know are unknown settings.
func execute(ctx context.Context, local command.Local, args ...string) (code int, stdout, stderr string) {
	var out, errs strings.Builder
	p := command.Call{Args: args[1:], Stdout: &out, Stderr: &errs, Local: func(args, _ []string, wrong *command.UsageErrors) (command.Local, []string) {
		var rest []string
		for _, arg := range args {
			if strings.HasPrefix(arg, "-") {
				wrong.Add("flag %s: no such setting", arg)
				continue
			}
			rest = append(rest, arg)
		}
		return local, rest
	}}
	for _, c := range []command.Command{Command(), ReplicasCommand(), DrainCommand()} {
		if c.Name == args[0] {
			code = command.Exit(&errs, c.Run(ctx, p))
		}
	}
	return code, out.String(), errs.String()
}

func answerWith(v any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(v) }
}

// rowsOf returns a handler that answers with pages of n numbered sessions.
func rowsOf(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		from, limit := 0, 0
		_, _ = fmt.Sscan(r.URL.Query().Get("after"), &from)
		_, _ = fmt.Sscan(r.URL.Query().Get("limit"), &limit)
		page := adminview.Page{Rows: []adminview.Row{}, Total: n}
		for i := from; i < min(n, from+limit); i++ {
			page.Rows = append(page.Rows, adminview.Row{SessionID: wire.SessionID(fmt.Sprintf("ses-%d", i)), User: "ann", Status: adminview.Idle})
		}
		if from+limit < n {
			page.Next = strconv.Itoa(from + limit)
		}
		answerWith(page)(w, r)
	}
}

func TestAdminSessionsFollowsPages(t *testing.T) {
	t.Parallel()
	d := newAdminServer(t, map[string]http.HandlerFunc{"GET /api/admin/sessions": rowsOf(250)})
	code, out, _ := d.admin(t.Context(), "sessions")
	if code != command.ExitOK || strings.Count(out, "ses-") != 250 || len(d.asked) != 3 {
		t.Errorf("sessions: got code %d, %d rows, requests %q, want code %d, 250 rows, three requests", code, strings.Count(out, "ses-"), d.asked, command.ExitOK)
	}
	_, out, _ = d.admin(t.Context(), "sessions", "--limit", "120")
	if strings.Count(out, "\nses-") != 120 || !strings.Contains(out, "… and 130 more; --limit 250 shows them.") {
		t.Errorf("sessions with a limit of 120: got\n%s\nwant 120 rows and a line about 130 more", out)
	}
	if !strings.Contains(d.last(), "limit=20") {
		t.Errorf("asked for more than was wanted: %s", d.last())
	}
	var list struct {
		Rows  []adminview.Row
		Total int
	}
	_, out, _ = d.admin(t.Context(), "sessions", "--json", "--limit", "101")
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Rows) != 101 || list.Total != 250 {
		t.Errorf("sessions as JSON: got %d of %d, error %v, want 101 of 250", len(list.Rows), list.Total, err)
	}
}

func TestAdminFilters(t *testing.T) {
	t.Parallel()
	d := newAdminServer(t, map[string]http.HandlerFunc{"GET /api/admin/sessions": rowsOf(0)})
	code, out, _ := d.admin(t.Context(), "sessions", "--user", "ann b", "--status=working", "--owner", "one", "--text", "a&b", "--stuck", "--questions",
		"--errors", "--no-tabs", "--sort", "cost", "--desc")
	want := "GET /api/admin/sessions?desc=true&errors=true&limit=100&owner=one&questions=true&sort=cost&status=working&stuck=true&tabs=0&text=a%26b&user=ann+b"
	if code != command.ExitOK || out != "No such sessions.\n" || d.last() != want {
		t.Errorf("sessions with filters: got code %d, %q, request %s, want code %d, none, request %s", code, out, d.last(), command.ExitOK, want)
	}
	if _, out, _ = d.admin(t.Context(), "sessions", "--json"); !strings.Contains(out, `"rows":[]`) {
		t.Errorf("no sessions as JSON: got %s, want empty rows", out)
	}
}

// Tables contain no control characters of untrusted text, and show ages in readable units.
func TestAdminTableIsPlain(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	var out strings.Builder
	err := printRows(&out, []adminview.Row{{
		SessionID: "ses-1", User: "ann\x1b[31m", Title: "a\nb\x1b]0;owned\x07\tc\u202e", Status: adminview.Stuck, Doing: "commit", DoingMS: 61_000,
		UpdatedAt: wire.Millis(now.Add(-3 * time.Hour).UnixMilli()), Cost: 1.5, Budget: 40,
	}}, 1, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"stuck (commit, 1m01s)", "3h00m", "$1.50", "40%", "  a b c\n", "  ann  "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("table: got\n%s\nwant it to contain %q", &out, want)
		}
	}
	if strings.ContainsAny(out.String(), "\x1b\x07\t\u202e") {
		t.Errorf("table: got control characters in %q, want none", out.String())
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Hour: "now", 900 * time.Millisecond: "now", 59 * time.Second: "59s", 61 * time.Second: "1m01s",
		26*time.Hour + time.Minute: "1d02h", 90 * time.Minute: "1h30m",
	} {
		if got := span(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

func TestAdminShow(t *testing.T) {
	t.Parallel()
	detail := adminview.Detail{
		Row: adminview.Row{SessionID: "ses-1", Status: adminview.Waiting, Owner: "one", Title: "x\x1b[2J"}, Known: true,
		Monitors: []adminview.Monitor{{ID: "monitor-0", Queue: []adminview.Queued{{MessageID: "m-2", Place: 1, Text: "hello\nthere"}}}},
		Agents:   []adminview.Agent{{ID: "agent-1", Tool: "run\x07"}},
		Asks:     []adminview.Ask{{ID: "ask-1", Kind: "approval"}},
		Tabs:     []adminview.Tab{{ConnectionID: "con-1", Replica: "two", Lag: 7}},
		Windows:  []adminview.Window{{ID: "win-1", Title: "w"}},
		Owners:   []adminview.Owner{{Replica: "one", Epoch: 3}},
		Messages: []adminview.Message{{MessageID: "m-1", Verdict: "accepted"}},
	}
	d := newAdminServer(t, map[string]http.HandlerFunc{"GET /api/admin/sessions/ses-1": answerWith(detail)})
	code, out, _ := d.admin(t.Context(), "show", "ses-1")
	if code != command.ExitOK {
		t.Fatalf("show: got code %d, want %d", code, command.ExitOK)
	}
	for _, want := range []string{"waiting", "m-2", "hello there", "agent-1", "ask-1", "con-1", "win-1", "m-1"} {
		if !strings.Contains(out, want) {
			t.Errorf("show: got\n%s\nwant it to contain %q", out, want)
		}
	}
	if strings.ContainsAny(out, "\x1b\x07") {
		t.Errorf("show: got control characters in %q, want none", out)
	}
	_, out, _ = d.admin(t.Context(), "show", "ses-1", "--json")
	var again adminview.Detail
	if err := json.Unmarshal([]byte(out), &again); err != nil || again.Row.SessionID != "ses-1" {
		t.Errorf("show as JSON: got %s, error %v, want ses-1", out, err)
	}
}

func TestAdminOverview(t *testing.T) {
	t.Parallel()
	d := newAdminServer(t, map[string]http.HandlerFunc{"GET /api/admin/overview": answerWith(adminview.Overview{
		Replicas: []adminview.Replica{{ID: "one", State: "serving", Sample: adminview.Sample{AppendP99: 0.0123, ResidentBytes: 200 << 20}}},
		Totals:   adminview.Totals{Sessions: 5, ByStatus: map[adminview.Status]int{adminview.Idle: 3, adminview.Working: 2}},
		Alerts:   []adminview.Alert{{Kind: "stuck", Count: 2, Where: "one"}},
	})})
	_, out, _ := d.admin(t.Context(), "overview")
	for _, want := range []string{"5 sessions: 3 idle, 2 working\n", "! stuck: 2 at one\n", "12.3ms", "200 MiB"} {
		if !strings.Contains(out, want) {
			t.Errorf("overview: got\n%s\nwant it to contain %q", out, want)
		}
	}
}

func TestAdminActions(t *testing.T) {
	t.Parallel()
	record := answerWith(map[string]any{"id": "adm-1", "time": 1700000000000, "action": "session.x", "target": "ses-1"})
	d := newAdminServer(t, map[string]http.HandlerFunc{"POST /": record, "DELETE /": record})
	for args, want := range map[string]string{
		"interrupt ses-1": `POST /api/admin/sessions/ses-1/interrupt {"reason":"why"}`,
		"interrupt ses-1 --agent agent-1 --monitor m-1": `POST /api/admin/sessions/ses-1/interrupt {"agentId":"agent-1","monitorId":"m-1","reason":"why"}`,
		"cancel ses-1 m-2":        `POST /api/admin/sessions/ses-1/messages/m-2/cancel {"reason":"why"}`,
		"close-tab ses-1 con-3":   `POST /api/admin/sessions/ses-1/tabs/con-3/close {"reason":"why"}`,
		"handover ses-1 --to two": `POST /api/admin/sessions/ses-1/handover {"reason":"why","to":"two"}`,
		"reset ses-1 --yes":       `POST /api/admin/sessions/ses-1/reset {"reason":"why"}`,
		"release ses-1":           `POST /api/admin/sessions/ses-1/release {"reason":"why"}`,
		"delete --yes ses-1":      `DELETE /api/admin/sessions/ses-1 {"reason":"why"}`,
		"drain one":               `POST /api/admin/replicas/one/drain {"reason":"why"}`,
		"undrain one":             `POST /api/admin/replicas/one/undrain {"reason":"why"}`,
	} {
		code, out, stderr := d.admin(t.Context(), append(strings.Fields(args), "--reason", "why")...)
		if code != command.ExitOK || out != "session.x of ses-1 is recorded as adm-1.\n" || d.last() != want {
			t.Errorf("%s: got code %d, %q %q, request %s, want code %d, the record adm-1 and request %s", args, code, out, stderr, d.last(), command.ExitOK, want)
		}
		if key := d.keys[len(d.keys)-1]; len(key) < 20 {
			t.Errorf("%s: got the idempotency key %q, want at least 20 characters", args, key)
		}
	}
}

// After a lost answer the action is sent once more with the same idempotency key.
func TestAdminActsOnce(t *testing.T) {
	t.Parallel()
	var once sync.Once
	d := newAdminServer(t, map[string]http.HandlerFunc{"POST /": func(w http.ResponseWriter, r *http.Request) {
		lost := false
		once.Do(func() { lost = true })
		if lost {
			panic(http.ErrAbortHandler)
		}
		answerWith(map[string]string{"id": r.Header.Get("Idempotency-Key")})(w, r)
	}})
	code, _, stderr := d.admin(t.Context(), "release", "ses-1", "--reason", "why")
	if code != command.ExitOK || len(d.keys) != 2 || d.keys[0] != d.keys[1] {
		t.Errorf("release: got code %d, %s, keys %q, want code %d and the same key twice", code, stderr, d.keys, command.ExitOK)
	}
}

func TestAdminMistakes(t *testing.T) {
	t.Parallel()
	problem := func(status int, detail string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(wire.Problem{Detail: detail})
		}
	}
	d := newAdminServer(t, map[string]http.HandlerFunc{
		"GET /":  problem(http.StatusNotFound, "Nothing is at that address."),
		"POST /": problem(http.StatusForbidden, "Looking is allowed,\x1b[31m acting is not."),
		"GET /api/admin/sessions": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("sort") != "" {
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprint(w, `{"status":400,"detail":"Want one of: updated.","field":"sort"}`)
				return
			}
			answerWith("no list")(w, r)
		},
		"GET /api/admin/audit/verify":           answerWith(map[string]any{"ok": false, "broken": map[string]any{"seq": 4, "why": "its hash is another"}}),
		"POST /api/admin/sessions/ses-2/cancel": problem(http.StatusNotFound, "x"),
	})
	for args, want := range map[string]struct {
		code int
		says string
	}{
		"":                                  {command.ExitUsage, "want one of overview, replicas"},
		"dance":                             {command.ExitUsage, `no verb "dance"`},
		"show":                              {command.ExitUsage, "needs SESSION"},
		"show a/b":                          {command.ExitUsage, `session "a/b"`},
		"show ses-1 ses-2":                  {command.ExitUsage, `unexpected argument "ses-2"`},
		"show ses-1":                        {command.ExitFailure, "admins only"},
		"sessions --limit none":             {command.ExitUsage, "flag --limit"},
		"sessions --sort shoes":             {command.ExitUsage, `flag --sort: Want one of: updated. Got "shoes"`},
		"sessions --agent x":                {command.ExitUsage, "flag --agent: no such setting"},
		"sessions":                          {command.ExitFailure, "did not answer like a hub"},
		"interrupt ses-1":                   {command.ExitUsage, "say why with --reason"},
		"interrupt ses-1 --reason x":        {command.ExitFailure, "hub answered 403: Looking is allowed, acting is not."},
		"handover ses-1 --reason x":         {command.ExitUsage, "with --to"},
		"reset ses-1 --reason x":            {command.ExitUsage, "confirm with --yes"},
		"delete ses-1 --reason x":           {command.ExitUsage, "confirm with --yes"},
		"drain one --reason x --wait never": {command.ExitUsage, "flag --wait"},
		"tail ses-1":                        {command.ExitFailure, "admins only"},
		"tail ses-1 --from here":            {command.ExitUsage, "flag --from"},
		"audit check":                       {command.ExitUsage, `unexpected argument "check"`},
		"audit verify":                      {command.ExitFailure, "the audit is broken at record 4: its hash is another"},
	} {
		code, out, stderr := d.admin(t.Context(), strings.Fields(args)...)
		if code != want.code || !strings.Contains(stderr, want.says) || out != "" || strings.Contains(stderr, "\x1b") {
			t.Errorf("hub admin %s: code %d, want %d; %q, want %q; %q", args, code, want.code, stderr, want.says, out)
		}
	}
}

func TestAdminAudit(t *testing.T) {
	t.Parallel()
	d := newAdminServer(t, map[string]http.HandlerFunc{
		"GET /api/admin/audit": answerWith(map[string]any{"records": []any{
			map[string]any{"id": "a-1", "time": 1700000000000, "who": "ann", "action": "session.reset", "target": "ses-1", "reason": "stuck\nagain", "result": "done"},
			map[string]any{"id": "a-0", "time": "2023-11-14T22:13:19Z", "who": "ann", "action": "session.reset", "target": "ses-1", "reason": "stuck", "result": "begun"},
		}}),
		"GET /api/admin/audit/verify": answerWith(map[string]any{"ok": true, "records": 7, "head": "abc"}),
	})
	_, out, _ := d.admin(t.Context(), "audit", "--who", "ann", "--limit", "5")
	if !strings.Contains(out, "2023-11-14 22:13:20  ann") || !strings.Contains(out, "2023-11-14 22:13:19  ann") || !strings.Contains(out, "stuck again\n") ||
		d.last() != "GET /api/admin/audit?limit=5&who=ann" {
		t.Errorf("audit: got request %s and\n%s\nwant two records of ann with the reason stuck again", d.last(), out)
	}
	if code, out, _ := d.admin(t.Context(), "audit", "verify"); code != command.ExitOK || !strings.HasPrefix(out, "All 7 records") {
		t.Errorf("audit verify: got code %d, %q, want code %d and all 7 records", code, out, command.ExitOK)
	}
	if _, out, _ := d.admin(t.Context(), "audit", "verify", "--json"); !strings.Contains(out, `"records":7`) {
		t.Errorf("audit verify as JSON: got %q, want 7 records", out)
	}
}

// After a lost connection tail continues after the last event it received. It ends when it is
// interrupted.
func TestAdminTailGoesOn(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	event := func(w http.ResponseWriter, at, text string) {
		fmt.Fprintf(w, ": a comment\n\nevent: event\nid: %s\ndata: {\"type\":\"X\",\"message_id\":%q,\ndata: \"timestamp\":\"2026-01-02T03:04:05.000Z\",\"data\":{\"a\":%q}}\n\n", at, at, text)
	}
	var d *adminServer
	d = newAdminServer(t, map[string]http.HandlerFunc{"GET /api/admin/sessions/ses-1/tail": func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("after") {
		case "1-5":
			fmt.Fprint(w, "event: trimmed\ndata: {\"from\":\"1-5\"}\n\n")
			event(w, "1-8", "one")
		case "1-8":
			event(w, "1-9", "two\\u001b")
		case "1-9":
			if len(d.asked) < 4 {
				fmt.Fprint(w, "event: problem\ndata: {\"status\":503,\"detail\":\"This hub is shutting down.\"}\n\n")
				return
			}
			stop()
			<-r.Context().Done()
		}
	}})
	code, out, stderr := d.admin(ctx, "tail", "ses-1", "--from", "1-5", "--json", "--type", "X")
	want := `{"event":"trimmed","data":{"from":"1-5"}}
{"type":"X","message_id":"1-8","timestamp":"2026-01-02T03:04:05.000Z","data":{"a":"one"}}
{"type":"X","message_id":"1-9","timestamp":"2026-01-02T03:04:05.000Z","data":{"a":"two\\u001b"}}
`
	if code != command.ExitOK || out != want || !strings.Contains(d.asked[0], "type=X") || !strings.Contains(stderr, "trying again") {
		t.Errorf("code %d, asked %q, %s\ngot  %s\nwant %s", code, d.asked, stderr, out, want)
	}
}

// Without a position tail begins at the current end of the log. When the hub ends the stream with a
// refusal, tail ends with that error.
func TestAdminTailBeginsNow(t *testing.T) {
	t.Parallel()
	d := newAdminServer(t, map[string]http.HandlerFunc{
		"GET /api/admin/sessions/ses-1/events": answerWith(map[string]any{"events": []any{}, "top": "3-7"}),
		"GET /api/admin/sessions/ses-1/tail": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "event: problem\ndata: {\"status\":403,\"detail\":\"What you may see has changed.\"}\n\n")
		},
	})
	code, out, stderr := d.admin(t.Context(), "tail", "ses-1")
	if code != command.ExitFailure || out != "" || !strings.Contains(stderr, "What you may see has changed.") || d.last() != "GET /api/admin/sessions/ses-1/tail?after=3-7" {
		t.Errorf("tail: got code %d, %q, %q, request %s, want code %d, a change of rights and a start after 3-7", code, out, stderr, d.last(), command.ExitFailure)
	}
}

// full is an output that cannot be written to.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// tail ends when it cannot print; a new connection would not help.
func TestAdminTailEndsWithItsOutput(t *testing.T) {
	t.Parallel()
	d := newAdminServer(t, map[string]http.HandlerFunc{"GET /api/admin/sessions/ses-1/tail": func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "event: event\nid: 1-8\ndata: {\"type\":\"X\",\"message_id\":\"1-8\",\"timestamp\":\"2026-01-02T03:04:05.000Z\",\"data\":{}}\n\n")
	}})
	for _, form := range []string{"", "--json"} {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute) // ends a tail that goes on
		var stderr strings.Builder
		args := append([]string{"tail", "ses-1", "--from", "1-5", "--server", d.URL, "--token", "t"}, strings.Fields(form)...)
		err := Command().Run(ctx, command.Call{Args: args, Stdout: full{}, Stderr: &stderr, Local: func(args, _ []string, _ *command.UsageErrors) (command.Local, []string) {
			return command.Local{}, args
		}})
		stop()
		if err == nil || !strings.Contains(err.Error(), "no space left on device") || stderr.Len() > 0 {
			t.Errorf("tail %s: got error %v, stderr %q, want no space left on device and nothing on stderr", form, err, stderr.String())
		}
	}
	if len(d.asked) != 2 {
		t.Errorf("requests: got %q, want two", d.asked)
	}
}

func TestAdminTailForPeople(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := &call{program: command.Call{Stdout: &out}}
	for event, data := range map[string]string{
		"event": `{"type":"AGENT\u001b[31m","message_id":"1-2","timestamp":"2026-01-02T03:04:05Z","data":{"a":"b` + "\u009b" + `"}}`,
	} {
		if err := c.printEvent(event, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(out.String(), " 1-2      AGENT ") || strings.ContainsAny(out.String(), "\x1b\u009b") {
		t.Errorf("tail for people: got %q, want the AGENT event at 1-2 without control characters", out.String())
	}
	if err := c.printEvent("event", []byte("nonsense")); err == nil {
		t.Error("took nonsense for an event")
	}
}
