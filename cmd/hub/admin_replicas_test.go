package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/adminview"
	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/wire"
)

// adminReplicas is two hubs on one Redis, with tokens of their users.
type adminReplicas struct {
	one, two *server
	// admin is the installation token. The others are API keys: guard's has the role admin:read,
	// those of ann and ben the role user.
	admin, guard, ann, ben string
}

// keyRecords is the number of audit records about the API keys of adminReplicas: two for each key, its
// request and its creation.
const keyRecords = 6

func newAdminReplicas(t *testing.T, args ...string) *adminReplicas {
	t.Helper()
	redis, demo, fileStore := redistest.Standalone(t), testProviders(t)[0], t.TempDir()
	f := &adminReplicas{}
	for name, into := range map[string]**server{"one": &f.one, "two": &f.two} {
		*into = serveProcess(t, demo, append([]string{"--store", redis.URL(), "--replica-id", name, "--files-dir", fileStore, "--auth", "token"}, args...)...)
		u, err := url.Parse((*into).url)
		if err != nil {
			t.Fatal(err)
		}
		f.admin, (*into).url = u.Query().Get("token"), "http://"+u.Host
	}
	for name, into := range map[string]*string{"guard admin:read": &f.guard, "ann user": &f.ann, "ben user": &f.ben} {
		user, role, _ := strings.Cut(name, " ")
		*into = strings.TrimSpace(hubOutput(t, "token", "key", "--server", f.one.url, "--token", f.admin, "--user", user, "--role", role))
	}
	return f
}

// ask sends a POST request with a token and decodes the answer into out.
func (f *adminReplicas) ask(t *testing.T, s *server, token, path, body string, out any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err == nil && out != nil {
		err = json.Unmarshal(answer, out)
	}
	if err != nil || res.StatusCode >= http.StatusMultipleChoices {
		t.Fatalf("%s: got %s %s, error %v, want success and JSON", path, res.Status, answer, err)
	}
}

// session creates a session for the user of the token.
func (f *adminReplicas) session(t *testing.T, s *server, token, title string) wire.SessionID {
	t.Helper()
	var made struct {
		SessionID wire.SessionID `json:"sessionId"`
	}
	f.ask(t, s, token, "/api/sessions", fmt.Sprintf(`{"title":%q}`, title), &made)
	return made.SessionID
}

// say sends a message to a session.
func (f *adminReplicas) say(t *testing.T, s *server, token string, id wire.SessionID, text string) {
	t.Helper()
	f.ask(t, s, token, "/api/sessions/"+string(id)+"/messages", fmt.Sprintf(`{"content":%q}`, text), nil)
}

// run runs hub admin with a token, through the given hub.
func (f *adminReplicas) run(ctx context.Context, s *server, token string, args ...string) (code int, stdout, stderr string) {
	var out, err strings.Builder
	code = run(ctx, append(append([]string{"admin"}, args...), "--server", s.url), []string{"HUB_TOKEN=" + token}, &out, &err)
	return code, out.String(), err.String()
}

// ok runs hub admin as the admin, through the second hub, and fails the test unless it succeeds.
func (f *adminReplicas) ok(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := f.run(t.Context(), f.two, f.admin, args...)
	if code != command.ExitOK || stderr != "" {
		t.Fatalf("hub admin %s: got code %d, %s, want code %d and no error", strings.Join(args, " "), code, stderr, command.ExitOK)
	}
	return stdout
}

// fails runs hub admin as the admin and checks that it fails with the given code and message.
func (f *adminReplicas) fails(t *testing.T, want int, says string, args ...string) {
	t.Helper()
	code, stdout, stderr := f.run(t.Context(), f.two, f.admin, args...)
	if code != want || stdout != "" || !strings.Contains(stderr, says) {
		t.Errorf("hub admin %s: code %d, want %d; printed %q; says %q, want %q", strings.Join(args, " "), code, want, stdout, stderr, says)
	}
}

// read runs hub admin with --json and decodes its output.
func read[T any](t *testing.T, f *adminReplicas, args ...string) (out T) {
	t.Helper()
	text := f.ok(t, append(args, "--json")...)
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("hub admin %s: got error %v, want JSON in %s", strings.Join(args, " "), err, text)
	}
	return out
}

// show polls hub admin show until want is true, and returns the details of the session.
func (f *adminReplicas) show(t *testing.T, id wire.SessionID, want func(adminview.Detail) bool) (d adminview.Detail) {
	t.Helper()
	eventually(t, func() (string, bool) {
		d = read[adminview.Detail](t, f, "show", string(id))
		return fmt.Sprintf("%+v", d), want(d)
	})
	return d
}

// eventually calls look until it returns ok.
func eventually(t *testing.T, look func() (seen string, ok bool)) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(waitTimeout)
	for {
		seen, ok := look()
		if ok {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("last state before the deadline: got %s, want the awaited one", seen)
		}
	}
}

// sessionRows is the output of hub admin sessions --json.
type sessionRows struct {
	Rows  []adminview.Row
	Total int
}

func (r sessionRows) ids() (all []wire.SessionID) {
	for _, row := range r.Rows {
		all = append(all, row.SessionID)
	}
	slices.Sort(all)
	return all
}

// All sessions of both hubs are listed, over several pages, and flags filter them.
func TestAdminReplicasSessions(t *testing.T) {
	t.Parallel()
	f := newAdminReplicas(t)
	const many = 205 // three pages
	var all []wire.SessionID
	for i := range many {
		all = append(all, f.session(t, f.one, f.ann, fmt.Sprintf("Desk %d", i)))
	}
	asking, failing := f.session(t, f.one, f.ben, "the curious"), f.session(t, f.two, f.ben, "the unlucky")
	all = append(all, asking, failing)
	slices.Sort(all)
	f.say(t, f.one, f.ben, asking, "/ask Which colour? | red | blue")
	f.say(t, f.two, f.ben, failing, "/fail invalid: it has a bad day")
	x := attachTo(t, f.one, asking, "--json", "--token", f.ben)
	x.until(t, `"type":"session_state"`)
	for args, want := range map[string][]wire.SessionID{
		"":                                   all,
		"--sort user --desc":                 all,
		"--user ben":                         {asking, failing},
		"--status waiting":                   {asking},
		"--questions":                        {asking},
		"--errors":                           {failing},
		"--owner two":                        {failing},
		"--owner one":                        {asking},
		"--user ben --no-tabs":               {failing},
		"--text unlucky":                     {failing},
		"--stuck":                            nil,
		"--quarantined":                      nil,
		"--user ben --status waiting --desc": {asking},
	} {
		slices.Sort(want)
		eventually(t, func() (string, bool) {
			got := read[sessionRows](t, f, append([]string{"sessions"}, strings.Fields(args)...)...)
			return fmt.Sprintf("%q: %d of %d: %v, want %v", args, len(got.Rows), got.Total, got.ids(), want), slices.Equal(got.ids(), want) && got.Total == len(want)
		})
	}
	out := f.ok(t, "sessions")
	if got := len(regexp.MustCompile(`(?m)^ses-`).FindAllString(out, -1)); got != many+2 {
		t.Errorf("listed sessions: got %d, want %d", got, many+2)
	}
	if out = f.ok(t, "sessions", "--limit", "150", "--sort", "user"); strings.Count(out, "\n") != 152 || !strings.HasSuffix(out, "… and 57 more; --limit 207 shows them.\n") {
		t.Errorf("the first 150 sessions: got\n%s\nwant 152 lines, the last one about 57 more", out)
	}
	if out = f.ok(t, "sessions", "--stuck"); out != "No such sessions.\n" {
		t.Errorf("stuck sessions: got %q, want none", out)
	}
	out = f.ok(t, "show", string(asking))
	for _, want := range []string{"the curious", "waiting", "one, epoch ", "A question", "\nQUESTION ", "\nTAB ", "\nAGENT ", "\nMESSAGE "} {
		if !strings.Contains(out, want) {
			t.Errorf("show: got\n%s\nwant it to contain %q", out, want)
		}
	}
	if strings.Contains(out, "WS_ERROR") {
		t.Errorf("show: got an error in\n%s\nwant none", out)
	}
	if code, out, _ := f.run(t.Context(), f.one, f.guard, "show", string(asking)); code != command.ExitOK || strings.Contains(out, "A question") || strings.Contains(out, "curious") {
		t.Errorf("show without admin:content: got code %d, want %d and no content:\n%s", code, command.ExitOK, out)
	}
	if o := read[adminview.Overview](t, f, "overview"); o.Totals.Sessions != many+2 || len(o.Replicas) != 2 || o.Totals.Questions != 1 {
		t.Errorf("overview: got %+v, want %d sessions, two replicas and one question", o, many+2)
	}
	if out = f.ok(t, "overview"); !strings.HasPrefix(out, "207 sessions: ") || !strings.Contains(out, " 1 questions wait") {
		t.Errorf("overview: got\n%s\nwant 207 sessions and one question", out)
	}
	f.fails(t, command.ExitUsage, "flag --sort: Want one of: ", "sessions", "--sort", "shoes")
	f.fails(t, command.ExitFailure, "hub answered 404: ", "show", "ses-nothing")
	f.fails(t, command.ExitUsage, "needs SESSION", "show")
}

// follower is a running hub admin tail.
type follower struct {
	lines chan string
	stop  context.CancelFunc
	code  chan int
}

func (f *adminReplicas) follow(t *testing.T, s *server, token string, args ...string) *follower {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	x := &follower{lines: make(chan string, 10_000), stop: cancel, code: make(chan int, 1)}
	go func() {
		var stderr bytes.Buffer
		x.code <- run(ctx, append(append([]string{"admin", "tail"}, args...), "--server", s.url), []string{"HUB_TOKEN=" + token}, w, &stderr)
		_ = w.CloseWithError(io.EOF)
	}()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(x.lines)
		in := bufio.NewScanner(r)
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			x.lines <- in.Text()
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return x
}

// until returns the output up to a line that contains words.
func (x *follower) until(t *testing.T, words string) (all string) {
	t.Helper()
	deadline := time.After(waitTimeout)
	for {
		select {
		case line, ok := <-x.lines:
			all += line + "\n"
			if !ok {
				t.Fatalf("it ended before %q:\n%s", words, all)
			}
			if strings.Contains(line, words) {
				return all
			}
		case <-deadline:
			t.Fatalf("it never showed %q:\n%s", words, all)
		}
	}
}

// tail follows the log through both hubs while an agent answers. An admin who may see content gets
// it; one who may not gets the events without it.
func TestAdminReplicasTail(t *testing.T) {
	t.Parallel()
	f := newAdminReplicas(t)
	id := f.session(t, f.one, f.ann, "a secret")
	f.say(t, f.one, f.ann, id, "/window w A secret | a secret")
	at := f.show(t, id, func(d adminview.Detail) bool { return len(d.Windows) == 1 && d.Row.Status == adminview.Idle }).Row.Top.String()
	full := f.follow(t, f.two, f.admin, string(id), "--from", at, "--json")
	redacted := f.follow(t, f.one, f.guard, string(id), "--from", at, "--json")
	people := f.follow(t, f.two, f.admin, string(id), "--from", at)
	replies := f.follow(t, f.two, f.admin, string(id), "--type", "AGENT_RESPONSE", "--from", at, "--json")
	everything := f.follow(t, f.one, f.admin, string(id), "--from", "0-0", "--json")
	f.say(t, f.one, f.ann, id, "/nosteer\n/stream 60 100\n/say the last secret")
	const end = `"isComplete":true`
	seen := full.until(t, end)
	if !strings.Contains(seen, "the last secret") || !strings.Contains(seen, "w59") {
		t.Errorf("tail of an admin: got\n%s\nwant the last secret and w59", seen)
	}
	var positions []string
	for line := range strings.Lines(seen) {
		var e struct {
			Type string        `json:"type"`
			At   wire.Position `json:"message_id"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Type == "" || e.At.IsZero() {
			t.Errorf("line of the tail: got %s, error %v, want an event with type and position", line, err)
		}
		positions = append(positions, e.At.String())
	}
	hidden := redacted.until(t, end)
	if strings.Contains(hidden, "secret") || strings.Contains(hidden, "w59") || !strings.Contains(hidden, "characters›") {
		t.Errorf("tail without content: got\n%s\nwant lengths instead of texts", hidden)
	}
	if strings.Count(hidden, "\n") != len(positions) {
		t.Errorf("tail without content: got\n%s\nwant %d events as with content", hidden, len(positions))
	}
	if got := people.until(t, end); !strings.Contains(got, positions[0]+" ") || !strings.Contains(got, "AGENT_RESPONSE ") {
		t.Errorf("tail for people: got\n%s\nwant AGENT_RESPONSE and the position %s", got, positions[0])
	}
	for line := range strings.Lines(replies.until(t, end)) {
		if !strings.Contains(line, `"type":"AGENT_RESPONSE"`) {
			t.Errorf("tail of one type: got %s, want AGENT_RESPONSE only", line)
		}
	}
	if got := everything.until(t, "the last secret"); !strings.Contains(got, `"type":"DESKTOP_ACTIONS"`) && !strings.Contains(got, "A secret") {
		t.Errorf("tail from the beginning: got\n%s\nwant the actions of the session", got)
	}
	for _, x := range []*follower{full, redacted, people, replies, everything} {
		x.stop()
		if code := <-x.code; code != command.ExitOK {
			t.Errorf("exit code of a stopped tail: got %d, want %d", code, command.ExitOK)
		}
	}
	f.fails(t, command.ExitFailure, "hub answered 400: ", "tail", string(id), "--type", "SHOES")
	f.fails(t, command.ExitFailure, "hub answered 404: ", "tail", "ses-nothing")
}

// A user without an admin role gets nothing; a read-only admin can read, and every action is
// refused.
func TestAdminReplicasRights(t *testing.T) {
	t.Parallel()
	f := newAdminReplicas(t)
	id := string(f.session(t, f.one, f.ann, "mine"))
	for _, args := range [][]string{
		{"overview"},
		{"replicas"},
		{"sessions"},
		{"show", id},
		{"tail", id},
		{"audit"},
		{"audit", "verify"},
		{"interrupt", id, "--reason", "x"},
		{"cancel", id, "m-1", "--reason", "x"},
		{"close-tab", id, "con-1", "--reason", "x"},
		{"handover", id, "--to", "two", "--reason", "x"},
		{"reset", id, "--yes", "--reason", "x"},
		{"release", id, "--reason", "x"},
		{"delete", id, "--yes", "--reason", "x"},
		{"drain", "one", "--reason", "x"},
		{"undrain", "one", "--reason", "x"},
	} {
		code, out, stderr := f.run(t.Context(), f.two, f.ann, args...)
		if code != command.ExitFailure || out != "" || !strings.Contains(stderr, "the hub shows that to admins only") {
			t.Errorf("%q of a user: got code %d, %q %q, want code %d and that only admins see it", args, code, out, stderr, command.ExitFailure)
		}
		if args[0] == "tail" {
			continue // it would not end
		}
		code, out, stderr = f.run(t.Context(), f.two, f.guard, args...)
		if slices.Contains(args, "--reason") {
			if code != command.ExitFailure || out != "" || !strings.Contains(stderr, "hub answered 403: ") {
				t.Errorf("%q of a viewer: got code %d, %q %q, want code %d and status 403", args, code, out, stderr, command.ExitFailure)
			}
		} else if code != command.ExitOK || stderr != "" {
			t.Errorf("%q of a viewer: got code %d, %q, want code %d and no error", args, code, stderr, command.ExitOK)
		}
	}
	if code, _, stderr := f.run(t.Context(), f.two, "nonsense", "overview"); code != command.ExitFailure || !strings.Contains(stderr, "hub answered 401: ") {
		t.Errorf("overview with a wrong token: got code %d, %s, want code %d and status 401", code, stderr, command.ExitFailure)
	}
	if list := read[auditList](t, f, "audit"); len(list.Records) != keyRecords {
		t.Errorf("audit after refused actions: got %+v, want only the %d records of the keys", list, keyRecords)
	}
}
