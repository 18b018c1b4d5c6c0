package jsonline_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/providers/jsonline"
)

// config returns the settings of a child in that mode, with graces that only a hang exhausts.
func config(t *testing.T, mode string) jsonline.Config {
	t.Helper()
	return jsonline.Config{
		Path: os.Args[0], Dir: t.TempDir(), Env: []string{childMode + "=" + mode},
		InputGrace: 30 * time.Second, TermGrace: 30 * time.Second,
	}
}

// start starts a child, which is stopped when the test ends.
func start(t *testing.T, cfg jsonline.Config) *jsonline.Process {
	t.Helper()
	p, err := jsonline.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

// next returns the next line, which must be there.
func next(t *testing.T, p *jsonline.Process) string {
	t.Helper()
	line, err := p.Next()
	if err != nil {
		t.Fatalf("next line: got error %v (%v), want a line", err, p.Err())
	}
	return string(line)
}

func TestLinesAreExchanged(t *testing.T) {
	t.Parallel()
	p := start(t, config(t, "echo"))
	var want []string
	var wg sync.WaitGroup
	for n := range 20 {
		line := fmt.Sprintf(`{"n":%d,"text":%q}`, n, strings.Repeat("많이 ", 1000*n))
		want = append(want, line)
		wg.Go(func() {
			if err := p.Write(t.Context(), []byte(line)); err != nil {
				t.Errorf("write: %v", err)
			}
		})
	}
	var got []string
	for range want {
		got = append(got, next(t, p))
	}
	wg.Wait()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the lines that came back differ from those sent: got %d of %d bytes, want %d of %d", len(got), len(strings.Join(got, "")), len(want), len(strings.Join(want, "")))
	}
	p.Stop()
	if _, err := p.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("next line after the end: got error %v, want EOF", err)
	}
	if err := p.Write(t.Context(), []byte("{}")); !errors.Is(err, jsonline.ErrStopped) {
		t.Errorf("write after the end: got error %v, want ErrStopped", err)
	}
}

func TestOnlyTheGivenEnvironment(t *testing.T) {
	t.Parallel()
	cfg := config(t, "describe")
	cfg.Args = []string{"one", "two words"}
	cfg.Env = append(cfg.Env, "KEY=canary")
	cfg.Secrets = []string{"canary"}
	p := start(t, cfg)
	var got struct {
		Env, Args []string
		Dir       string
	}
	if err := json.Unmarshal([]byte(next(t, p)), &got); err != nil {
		t.Fatal(err)
	}
	slices.Sort(got.Env)
	slices.Sort(cfg.Env)
	if !slices.Equal(got.Env, cfg.Env) || got.Dir != cfg.Dir || !slices.Equal(got.Args, cfg.Args) {
		t.Errorf("got environment %q, directory %q, arguments %q; want %q, %q, %q", got.Env, got.Dir, got.Args, cfg.Env, cfg.Dir, cfg.Args)
	}
}

func TestSecretsAreNoArguments(t *testing.T) {
	t.Parallel()
	cfg := config(t, "echo")
	cfg.Args, cfg.Secrets = []string{"--key=canary"}, []string{"", "canary"}
	p, err := jsonline.Start(cfg)
	if err == nil {
		p.Stop()
		t.Fatal("a program starts with a secret in its arguments")
	}
	if strings.Contains(err.Error(), "canary") {
		t.Errorf("the error contains the secret: %v", err)
	}
}

func TestMissingProgram(t *testing.T) {
	t.Parallel()
	cfg := config(t, "echo")
	cfg.Path = cfg.Dir + "/none"
	if _, err := jsonline.Start(cfg); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got error %v, want one that says that there is no such file", err)
	}
}

func TestLongLinesAreSkipped(t *testing.T) {
	t.Parallel()
	cfg := config(t, "print=100 print=300000 print=101 print=102")
	cfg.MaxLine = 102
	p := start(t, cfg)
	var got []string
	for range 4 {
		line, err := p.Next()
		got = append(got, fmt.Sprint(len(line), " ", errors.Is(err, jsonline.ErrLineTooLong)))
	}
	if want := []string{"100 false", "0 true", "101 false", "0 true"}; !slices.Equal(got, want) {
		t.Errorf("lines and whether they are too long: got %q, want %q", got, want)
	}
	if err := p.Write(t.Context(), []byte(`"alive"`)); err != nil {
		t.Fatal(err)
	}
	if got := next(t, p); got != `"alive"` {
		t.Errorf("after long lines it says %s", got)
	}
}

func TestExitSaysWhy(t *testing.T) {
	t.Parallel()
	cfg := config(t, "print=50 stderr=the_key_canary_is_wrong exit=3")
	cfg.Secrets = []string{"canary"}
	p := start(t, cfg)
	next(t, p)
	if _, err := p.Next(); !errors.Is(err, io.EOF) {
		t.Fatalf("got error %v, want EOF", err)
	}
	<-p.Done()
	var exit *jsonline.ExitError
	if err := p.Err(); !errors.As(err, &exit) || exit.Status != "exit status 3" || exit.Stderr != "the key *** is wrong" {
		t.Errorf("got error %v, want exit status 3 and the standard error without the secret", err)
	}
	if err := p.Write(t.Context(), []byte("{}")); !errors.As(err, &exit) {
		t.Errorf("write: got error %v, want that of the exit", err)
	}
}

func TestTailIsBounded(t *testing.T) {
	t.Parallel()
	cfg := config(t, "stderr="+strings.Repeat("y", 20_000)+"canary"+strings.Repeat("z", 97)+" exit=1")
	cfg.StderrTail, cfg.Secrets = 100, []string{"canary"}
	p := start(t, cfg)
	_, _ = p.Next()
	<-p.Done()
	var exit *jsonline.ExitError
	if !errors.As(p.Err(), &exit) || len(exit.Stderr) > 100 || strings.Contains(exit.Stderr, "canary") || !strings.HasSuffix(exit.Stderr, "zzz") {
		t.Errorf("got %v, want at most the last 100 bytes", p.Err())
	}
}

func TestWriteEndsWithItsContext(t *testing.T) {
	t.Parallel()
	cfg := config(t, "ready deaf")
	cfg.InputGrace = -1
	p := start(t, cfg)
	next(t, p)
	ctx, cancel := context.WithCancel(t.Context())
	sent := make(chan error, 2)
	for range 2 {
		go func() { sent <- p.Write(ctx, make([]byte, 1<<20)) }()
	}
	cancel()
	for range 2 {
		if err := <-sent; !errors.Is(err, context.Canceled) {
			t.Errorf("write to a process that reads nothing: got error %v, want canceled", err)
		}
	}
}
