package mcpclient_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/mcpclient"
	"github.com/everdesk/everdesk/mcpclient/mcptest"
	"github.com/everdesk/everdesk/providers/outbound"
	"github.com/everdesk/everdesk/secrets"
	"github.com/everdesk/everdesk/store/filestore"
)

// bench is a manager with a store.
type bench struct {
	*mcpclient.Manager
	t       *testing.T
	secrets *secrets.Store
	dir     string
}

// program returns an entry of the test server.
func program(name string, flags ...string) mcpclient.Server {
	path, args := mcptest.Command()
	return mcpclient.Server{Name: name, Type: mcpclient.Stdio, Command: path, Args: append(args, flags...)}
}

// setUp returns a manager. edit changes its settings.
func setUp(t *testing.T, operator []mcpclient.Server, edit func(*mcpclient.Config)) *bench {
	t.Helper()
	logger := slog.New(slog.DiscardHandler)
	docs, err := filestore.Open(t.TempDir(), filestore.Config{Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := docs.Close(); err != nil {
			t.Error(err)
		}
	})
	ring, err := secrets.OwnKeyFile(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: t.TempDir(), secrets: secrets.New(docs.Documents, ring, func(context.Context, secrets.Owner, []string) {})}
	cfg := mcpclient.Config{
		Operator: operator, Secrets: b.secrets, Dir: filepath.Join(b.dir, "work"), Logger: logger, FirstPause: time.Millisecond,
		Env: func(name string) (string, bool) { return "value of " + name, name == "OF_HUB" },
	}
	stdio := true
	if edit != nil {
		edit(&cfg)
	}
	cfg.Store = mcpclient.NewStore(docs.Documents, stdio, operator, func(_ context.Context, user string) { b.Invalidate(user) })
	b.Manager = mcpclient.NewManager(cfg)
	t.Cleanup(b.Close)
	return b
}

var ann = mcpclient.Place{User: "ann", Session: "ses-1"}

// call calls a tool and returns its text.
func (b *bench) call(at mcpclient.Place, server, tool, input string) (string, error) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	r, err := b.Call(ctx, at, server, mcpclient.Call{Tool: tool, Input: json.RawMessage(input), Caller: "a"})
	if err == nil && r.IsError {
		err = errors.New(r.Text)
	}
	return r.Text, err
}

func (b *bench) must(at mcpclient.Place, server, tool, input string) string {
	b.t.Helper()
	text, err := b.call(at, server, tool, input)
	if err != nil {
		b.t.Fatalf("%s of %s: %v", tool, server, err)
	}
	return text
}

// status returns the state of the server test.
func (b *bench) status() mcpclient.Status {
	b.t.Helper()
	return b.statusOf("test")
}

func (b *bench) statusOf(name string) mcpclient.Status {
	b.t.Helper()
	all, _, err := b.Status(b.t.Context(), ann)
	if err != nil {
		b.t.Fatal(err)
	}
	return all[slices.IndexFunc(all, func(s mcpclient.Status) bool { return s.Name == name })]
}

// await waits until a condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick, late := time.NewTicker(5*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("after a minute: want %s", what)
		}
	}
}

func contains(file, want string) func() bool {
	return func() bool {
		data, _ := os.ReadFile(file)
		return strings.Contains(string(data), want)
	}
}

func lines(t *testing.T, file string) int {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return bytes.Count(data, []byte("\n"))
}

func TestServerStartsWhenItIsNeeded(t *testing.T) {
	t.Parallel()
	starts := filepath.Join(t.TempDir(), "starts")
	b := setUp(t, []mcpclient.Server{program("test", "starts="+starts, "chatty")}, nil)
	if s := b.status(); s.State != mcpclient.Stopped || lines(t, starts) != 0 {
		t.Errorf("before it is needed the server is %s with %d starts, want stopped with none", s.State, lines(t, starts))
	}
	b.Prepare(t.Context(), ann)
	names := map[string]mcpclient.Tool{}
	for _, tool := range b.Tools("ann") {
		names[tool.ModelName] = tool
	}
	if echo := names["mcp__test__echo"]; echo.Title != "Echo" || echo.Description != "Return the text." || !echo.Hints.ReadOnly || echo.OnlyReads() {
		t.Errorf("the tool is %+v, want its title, description and hints, and no trust", echo)
	}
	if view := names["mcp__test__view"]; view.UI == nil || view.UI.ResourceURI != "ui://view" {
		t.Errorf("the tool with a view is %+v, want its address", view)
	}
	if _, there := names["mcp__test__hidden"]; there {
		t.Error("agents have the tool for views, want it left out")
	}
	if got := b.must(ann, "test", "echo", `{"text":"hello"}`); got != "hello" {
		t.Errorf("echo returns %q, want hello", got)
	}
	bob := mcpclient.Place{User: "bob", Session: "ses-2"}
	b.must(bob, "test", "echo", `{"text":"hello"}`)
	if n := lines(t, starts); n != 1 {
		t.Errorf("for two users there were %d starts, want 1, because the operator's server is shared", n)
	}
}

func TestScopesHaveTheirOwnInstances(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	user, session := program("user", "starts="+filepath.Join(dir, "user")), program("session", "starts="+filepath.Join(dir, "session"))
	user.Scope, session.Scope = mcpclient.ScopeUser, mcpclient.ScopeSession
	b := setUp(t, []mcpclient.Server{user, session}, nil)
	for _, at := range []mcpclient.Place{ann, {User: "ann", Session: "ses-2"}, {User: "bob", Session: "ses-3"}} {
		b.must(at, "user", "echo", `{"text":"a"}`)
		b.must(at, "session", "echo", `{"text":"a"}`)
	}
	if u, s := lines(t, filepath.Join(dir, "user")), lines(t, filepath.Join(dir, "session")); u != 2 || s != 3 {
		t.Errorf("there were %d starts for users and %d for sessions, want 2 and 3", u, s)
	}
	b.CloseSession("ses-3")
	b.must(mcpclient.Place{User: "bob", Session: "ses-3"}, "session", "echo", `{"text":"a"}`)
	if s := lines(t, filepath.Join(dir, "session")); s != 4 {
		t.Errorf("after its session left and came back there were %d starts, want 4", s)
	}
}

func TestProgramsGetOnlyTheDeclaredEnvironment(t *testing.T) {
	t.Setenv("HUB_SECRET_KEY", "of-the-hub")
	s := program("test")
	s.Env = map[string]string{"TOKEN": "${secret:token}", "PLAIN": "${OF_HUB}", "DEFAULT": "${NOT_SET:-x}"}
	b := setUp(t, []mcpclient.Server{s}, nil)
	if _, err := b.call(ann, "test", "env", `{}`); err == nil || !strings.Contains(err.Error(), "${secret:token}") {
		t.Fatalf("without the secret the error is %v, want its name", err)
	}
	if err := b.secrets.Set(t.Context(), secrets.Owner{}, "token", secrets.NewValue("s3cret-value")); err != nil {
		t.Fatal(err)
	}
	b.Invalidate("", "token")
	got := b.must(ann, "test", "env", `{}`)
	if strings.Contains(got, "of-the-hub") || !strings.Contains(got, "PLAIN=value of OF_HUB") || !strings.Contains(got, "DEFAULT=x") || !strings.Contains(got, "TOKEN=s3cret-value") {
		t.Errorf("the environment is\n%s\nwant what is declared, without the secret of the hub", got)
	}
	log, err := b.Log(t.Context(), ann, "test")
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(log)
	if strings.Contains(text, "s3cret-value") || !strings.Contains(text, "server is ready, token ***") || !strings.Contains(text, "tools/call env") {
		t.Errorf("the log is %s, want standard error and the call, without the secret", text)
	}
}

func TestResultsAreMapped(t *testing.T) {
	t.Parallel()
	b := setUp(t, []mcpclient.Server{program("test")}, nil)
	r, err := b.Call(t.Context(), ann, "test", mcpclient.Call{Tool: "picture", Input: json.RawMessage(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	want := "a text\n[picture, image/tiff, 3 bytes, not shown]\n[resource file:///a.txt: a.txt  ]\n[resource file:///b.txt]\ninside"
	if r.Text != want || len(r.Images) != 1 || r.Images[0].MediaType != "image/png" {
		t.Errorf("the result is %q with %d pictures, want %q with one", r.Text, len(r.Images), want)
	}
	if got := b.must(ann, "test", "data", `{}`); got != `{"n":1}` {
		t.Errorf("structured data is %q, want it as JSON", got)
	}
	if _, err := b.call(ann, "test", "fail", `{}`); err == nil || err.Error() != "no such thing" {
		t.Errorf("the error result is %v, want no such thing", err)
	}
	if _, err := b.call(ann, "test", "nothing", `{}`); err == nil || !strings.Contains(err.Error(), "refused the call") {
		t.Errorf("an unknown tool gives %v, want that the server refused it", err)
	}
	if _, err := b.call(ann, "test", "echo", `{"text":1}`); err == nil {
		t.Error("a wrong input gives no error")
	}
}

func TestServerThatDiesInACallIsUncertainAndStartsAgain(t *testing.T) {
	t.Parallel()
	b := setUp(t, []mcpclient.Server{program("test")}, nil)
	file := filepath.Join(b.dir, "calls")
	_, err := b.call(ann, "test", "die", `{"file":`+strconv.Quote(file)+`}`)
	if _, ok := errors.AsType[*mcpclient.UncertainError](err); !ok || !strings.Contains(err.Error(), "may or may not have run") {
		t.Fatalf("the error is %v, want that it may or may not have run", err)
	}
	await(t, "the failure", func() bool { return b.status().Error != "" })
	if got := b.must(ann, "test", "echo", `{"text":"again"}`); got != "again" {
		t.Errorf("the next call returns %q, want again", got)
	}
	if n := lines(t, file); n != 1 {
		t.Errorf("the call ran %d times, want once", n)
	}
}

func TestServerThatCannotStartFailsWithItsError(t *testing.T) {
	t.Parallel()
	starts := filepath.Join(t.TempDir(), "starts")
	missing := mcpclient.Server{Name: "missing", Type: mcpclient.Stdio, Command: "/does/not/exist"}
	b := setUp(t, []mcpclient.Server{program("test", "starts="+starts, "fail=no such folder"), missing}, func(c *mcpclient.Config) { c.FirstPause = time.Hour })
	for range 3 {
		if _, err := b.call(ann, "test", "echo", `{}`); err == nil || !strings.Contains(err.Error(), "no such folder") || !strings.Contains(err.Error(), "exit status 3") {
			t.Fatalf("the error is %v, want its standard error and status", err)
		}
	}
	if s := b.status(); s.State != mcpclient.Failed || lines(t, starts) != 1 || s.RetryAt.IsZero() {
		t.Errorf("it is %s after %d starts, want failed after one, with the time of the next", s.State, lines(t, starts))
	}
	if err := b.Try(t.Context(), ann, "test"); err == nil || lines(t, starts) != 2 {
		t.Errorf("trying it gives %v and %d starts, want an error and 2 starts", err, lines(t, starts))
	}
	if _, err := b.call(ann, "missing", "echo", `{}`); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a missing program gives %v, want no such file", err)
	}
	begin := time.Now()
	b.Prepare(t.Context(), ann)
	if took := time.Since(begin); took > 10*time.Second || len(b.Tools("ann")) != 0 {
		t.Errorf("preparing failed servers takes %s and gives %d tools, want neither", took, len(b.Tools("ann")))
	}
}

func TestMuteServerTimesOut(t *testing.T) {
	t.Parallel()
	b := setUp(t, []mcpclient.Server{program("test", "mute")}, func(c *mcpclient.Config) { c.StartTimeout = 100 * time.Millisecond })
	if err := b.Try(t.Context(), ann, "test"); err == nil || !strings.Contains(err.Error(), "did not answer within") {
		t.Errorf("the error is %v, want that it did not answer", err)
	}
}

func TestCancelledCallIsCancelledAtTheServer(t *testing.T) {
	t.Parallel()
	b := setUp(t, []mcpclient.Server{program("test")}, nil)
	file := filepath.Join(b.dir, "calls")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := b.Call(ctx, ann, "test", mcpclient.Call{Tool: "hang", Input: json.RawMessage(`{"file":` + strconv.Quote(file) + `}`)})
		done <- err
	}()
	await(t, "the call to begin", contains(file, "begun"))
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v, want that of the context", err)
	}
	await(t, "the server to be told", contains(file, "cancelled"))
	b.must(ann, "test", "echo", `{"text":"a"}`)
}

func TestProgressKeepsACallAlive(t *testing.T) {
	t.Parallel()
	b := setUp(t, []mcpclient.Server{program("test")}, func(c *mcpclient.Config) { c.Silence = 3 * time.Second })
	b.must(ann, "test", "echo", `{"text":"it runs"}`)
	if got := b.must(ann, "test", "steps", `{"count":16,"millis":250}`); got != "done" {
		t.Errorf("a call of 4 s with progress returns %q, want done", got)
	}
	if _, err := b.call(ann, "test", "steps", `{"count":1,"millis":60000}`); err == nil || !strings.Contains(err.Error(), "no progress") {
		t.Errorf("a silent call gives %v, want that it made no progress", err)
	}
}

func TestChangedToolsAreListedAgain(t *testing.T) {
	t.Parallel()
	b := setUp(t, []mcpclient.Server{program("test")}, nil)
	b.Prepare(t.Context(), ann)
	before := b.Revision("ann")
	b.must(ann, "test", "grow", `{}`)
	await(t, "the new tool", func() bool { _, ok := b.Find(t.Context(), ann, "mcp__test__grown"); return ok })
	if before == "" || before == b.Revision("ann") {
		t.Errorf("the revision stays %q, want another one", before)
	}
}

func TestQuestionsOfAServerGoToItsCaller(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"in a request": {"old"}, "in a result": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testQuestions(t, program("test", flags...))
		})
	}
}

func testQuestions(t *testing.T, server mcpclient.Server) {
	t.Helper()
	b := setUp(t, []mcpclient.Server{server}, nil)
	var asked mcpclient.Question
	r, err := b.Call(t.Context(), ann, "test", mcpclient.Call{
		Tool: "ask", Input: json.RawMessage(`{}`), Caller: "a",
		Ask: func(_ context.Context, q mcpclient.Question) (mcpclient.Answer, error) {
			asked = q
			return mcpclient.Answer{Accepted: true, Values: map[string]any{"name": "Ann", "color": "blue"}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(asked.Fields) != 3 || asked.Message != "Who are you?" || asked.Fields[0].Title != "Your name" || !asked.Fields[0].Required || len(asked.Fields[2].Choices) != 2 {
		t.Errorf("asked is %+v, want three fields, the required one first", asked)
	}
	if r.Text != "accept map[color:blue name:Ann]" {
		t.Errorf("the server got %q, want the answer", r.Text)
	}
	if got := b.must(ann, "test", "ask", `{}`); !strings.HasPrefix(got, "decline") {
		t.Errorf("without anybody to ask the server got %q, want decline", got)
	}
	file := filepath.Join(b.dir, "calls")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = b.Call(ctx, mcpclient.Place{User: "bob"}, "test", mcpclient.Call{Tool: "hang", Input: json.RawMessage(`{"file":` + strconv.Quote(file) + `}`), Caller: "b"})
	}()
	await(t, "the other call", contains(file, "begun"))
	r, err = b.Call(t.Context(), ann, "test", mcpclient.Call{
		Tool: "ask", Input: json.RawMessage(`{}`), Caller: "a",
		Ask: func(context.Context, mcpclient.Question) (mcpclient.Answer, error) {
			t.Error("a question was asked that may belong to another user")
			return mcpclient.Answer{}, nil
		},
	})
	cancel()
	<-done
	if err != nil || !strings.HasPrefix(r.Text, "decline") {
		t.Errorf("with calls of two users the server got %q, %v, want decline", r.Text, err)
	}
}

func TestIdleServerEndsAndStartsAgain(t *testing.T) {
	t.Parallel()
	starts := filepath.Join(t.TempDir(), "starts")
	b := setUp(t, []mcpclient.Server{program("test", "starts="+starts)}, func(c *mcpclient.Config) { c.IdleTimeout = 50 * time.Millisecond })
	b.must(ann, "test", "echo", `{"text":"a"}`)
	await(t, "the end", func() bool { return b.status().State == mcpclient.Stopped })
	if len(b.Tools("ann")) == 0 {
		t.Error("the tools of a server that ended are gone, want them known")
	}
	b.must(ann, "test", "echo", `{"text":"a"}`)
	if n := lines(t, starts); n != 2 {
		t.Errorf("there were %d starts, want 2", n)
	}
}

func TestRemoteServersOfUsers(t *testing.T) {
	t.Parallel()
	remote := httptest.NewServer(mcptest.Handler())
	t.Cleanup(remote.Close)
	server := mcpclient.Server{Name: "remote", Type: mcpclient.HTTP, URL: remote.URL}
	b := setUp(t, nil, nil)
	if _, err := b.Store().Put(t.Context(), "ann", []mcpclient.Server{server}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := b.call(ann, "remote", "echo", `{"text":"a"}`); err == nil || !strings.Contains(err.Error(), "loopback") {
		t.Errorf("a server of a user on loopback gives %v, want a refusal", err)
	}
	hosts, err := outbound.ParseHosts("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	b = setUp(t, nil, func(c *mcpclient.Config) { c.Hosts = hosts })
	if _, err := b.Store().Put(t.Context(), "ann", []mcpclient.Server{server}, nil); err != nil {
		t.Fatal(err)
	}
	if got := b.must(ann, "remote", "echo", `{"text":"over HTTP"}`); got != "over HTTP" {
		t.Errorf("a listed server returns %q, want over HTTP", got)
	}
	if _, err := b.call(mcpclient.Place{User: "bob"}, "remote", "echo", `{}`); !errors.Is(err, mcpclient.ErrNotFound) {
		t.Errorf("another user gets %v, want %v", err, mcpclient.ErrNotFound)
	}
	// The operator may use private addresses.
	b = setUp(t, []mcpclient.Server{server}, nil)
	if got := b.must(ann, "remote", "echo", `{"text":"a"}`); got != "a" {
		t.Errorf("the operator's server returns %q, want a", got)
	}
}

func TestServersOfUsersAreStoredWithCompareAndSet(t *testing.T) {
	t.Parallel()
	b := setUp(t, []mcpclient.Server{program("taken")}, nil)
	one := program("one")
	set, err := b.Store().Put(t.Context(), "ann", []mcpclient.Server{one}, new(uint64(0)))
	if err != nil || len(set.Servers) != 1 {
		t.Fatalf("got %+v, %v, want one server", set, err)
	}
	if _, err := b.Store().Put(t.Context(), "ann", []mcpclient.Server{one}, new(uint64(0))); !errors.Is(err, mcpclient.ErrConflict) {
		t.Errorf("with an old version: got %v, want %v", err, mcpclient.ErrConflict)
	}
	if _, err := b.Store().Put(t.Context(), "ann", []mcpclient.Server{program("taken")}, nil); !errors.Is(err, mcpclient.ErrOfOperator) {
		t.Errorf("with a name of the operator: got %v, want %v", err, mcpclient.ErrOfOperator)
	}
	b.must(ann, "one", "echo", `{"text":"a"}`)
	if _, err := b.Store().Remove(t.Context(), "ann", "one", &set.Version); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Store().Remove(t.Context(), "ann", "one", nil); !errors.Is(err, mcpclient.ErrNotFound) {
		t.Errorf("removed twice: got %v, want %v", err, mcpclient.ErrNotFound)
	}
	if _, err := b.call(ann, "one", "echo", `{}`); !errors.Is(err, mcpclient.ErrNotFound) {
		t.Errorf("a removed server: got %v, want %v", err, mcpclient.ErrNotFound)
	}
}

// A call of a tool waits for the start of its server, also if that takes longer than a turn waits for all servers.
func TestCallsWaitForTheirServer(t *testing.T) {
	t.Parallel()
	b := setUp(t, []mcpclient.Server{program("test"), {Name: "other", Type: mcpclient.Stdio, Command: "none"}}, func(c *mcpclient.Config) { c.PrepareTimeout = time.Nanosecond })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if got, ok := b.Find(ctx, ann, "mcp__test__echo"); !ok || got.Name != "echo" {
		t.Errorf("Find before the server has started: got %+v, %v, want the tool", got, ok)
	}
	if got, ok := b.Find(ctx, ann, "mcp__unknown__echo"); ok {
		t.Errorf("Find without such a server: got %+v, want none", got)
	}
	if state := b.statusOf("other").State; state != mcpclient.Stopped {
		t.Errorf("the state of another server: got %s, want %s", state, mcpclient.Stopped)
	}
}
