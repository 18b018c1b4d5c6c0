package mcpclient_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/mcpclient"
	"github.com/everdesk/everdesk/secrets"
)

// A secret that changes while a server starts starts it again; who waits for it gets the new one.
func TestCallersWaitForTheServerWithTheNewSecret(t *testing.T) {
	t.Parallel()
	for what, use := range map[string]func(*bench) (string, error){
		"call": func(b *bench) (string, error) { return b.call(ann, "test", "env", `{}`) },
		"view": func(b *bench) (string, error) {
			v, err := b.View(b.t.Context(), ann, "test", "ui://view")
			return v.HTML, err
		},
		"resource": func(b *bench) (string, error) {
			r, err := b.Resource(b.t.Context(), ann, "test", "ui://text")
			return string(r), err
		},
		"tool of a view": func(b *bench) (string, error) {
			tool, ok := b.ViewTool(b.t.Context(), ann, "test", "view")
			return fmt.Sprint(tool.Name, " ", ok), nil
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			want := map[string]string{"call": "TOKEN=the-second", "view": "<p>a view</p>", "resource": "no view", "tool of a view": "view true"}[what]
			checkNewSecret(t, use, want)
		})
	}
}

// checkNewSecret changes the secret of a server while it starts for use, which must return the wanted text.
func checkNewSecret(t *testing.T, use func(*bench) (string, error), want string) {
	t.Helper()
	s, started := program("test"), filepath.Join(t.TempDir(), "started")
	s.Args = append([]string{"-c", `echo >>"$0"; until [ -e "$0.go" ]; do sleep 0.02; done; exec "$@"`, started, s.Command}, s.Args...)
	s.Command = "/bin/sh"
	s.Env = map[string]string{"TOKEN": "${secret:token}"}
	b := setUp(t, []mcpclient.Server{s}, nil)
	set := func(value string) {
		t.Helper()
		if err := b.secrets.Set(t.Context(), secrets.Owner{}, "token", secrets.NewValue(value)); err != nil {
			t.Fatal(err)
		}
	}
	set("the-first")
	type result struct {
		text string
		err  error
	}
	used := make(chan result, 1)
	go func() {
		text, err := use(b)
		used <- result{text, err}
	}()
	await(t, "that the server starts", func() bool { return lines(t, started) == 1 })
	set("the-second")
	b.Invalidate("", "token")
	if err := os.WriteFile(started+".go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := <-used; got.err != nil || !strings.Contains(got.text, want) {
		t.Errorf("got %q and %v, want %q", got.text, got.err, want)
	}
	if got := lines(t, started); got != 2 {
		t.Errorf("the server was started %d times, want 2", got)
	}
}

// The log of a server goes on when it starts again with another secret, which may happen while people read it.
func TestLogOutlivesAChangedSecret(t *testing.T) {
	t.Parallel()
	s := program("test")
	s.Env = map[string]string{"TOKEN": "${secret:token}"}
	b := setUp(t, []mcpclient.Server{s}, nil)
	for _, value := range []string{"the-first", "the-second"} {
		if err := b.secrets.Set(t.Context(), secrets.Owner{}, "token", secrets.NewValue(value)); err != nil {
			t.Fatal(err)
		}
		b.Invalidate("", "token")
		b.must(ann, "test", "env", `{}`)
	}
	b.Invalidate("", "token")
	await(t, "that both instances have ended", func() bool {
		log, err := b.Log(t.Context(), ann, "test")
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint(log)
		if strings.Contains(text, "the-first") || strings.Contains(text, "the-second") {
			t.Fatalf("the log is %s, want no secret in it", text)
		}
		return strings.Count(text, "tools/call env") == 2 && strings.Count(text, "server is ready, token ***") == 2
	})
	if got := b.status().State; got != mcpclient.Stopped {
		t.Errorf("the state is %s, want %s", got, mcpclient.Stopped)
	}
}

// A line that is no message may have a secret across the place where the log cuts lines.
func TestLogShowsNoPartOfASecret(t *testing.T) {
	t.Parallel()
	const value = "s3cret-0123456789-0123456789-0123456789-0123456789-0123456789-0123456789-0123456789-0123456789"
	s := program("test")
	s.Args = append([]string{"-c", `printf '%0950d%s\n' 0 "$TOKEN"; exec "$0" "$@"`, s.Command}, s.Args...)
	s.Command = "/bin/sh"
	s.Env = map[string]string{"TOKEN": "${secret:token}"}
	b := setUp(t, []mcpclient.Server{s}, nil)
	if err := b.secrets.Set(t.Context(), secrets.Owner{}, "token", secrets.NewValue(value)); err != nil {
		t.Fatal(err)
	}
	b.must(ann, "test", "echo", `{"text":"a"}`)
	log, err := b.Log(t.Context(), ann, "test")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(log); !strings.Contains(got, "no message of MCP") || strings.Contains(got, "s3cret") {
		t.Errorf("got the log %s, want the line without a part of the secret", got)
	}
}
