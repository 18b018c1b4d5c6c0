package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
)

// hubRun is a hub running inside the test.
type hubRun struct {
	url        string
	invitation string     // the URL as it was printed, with the token
	answers    string     // the line about the provider that it prints
	stop       func() int // stops it and returns its exit code
}

// startHub runs the hub on a free port.
func startHub(t *testing.T, args ...string) hubRun {
	t.Helper()
	return startHubLogging(t, t.Output(), args...)
}

// startHubLogging is startHub with a writer for the log.
func startHubLogging(t *testing.T, log io.Writer, args ...string) hubRun {
	t.Helper()
	return runHub(t, log, nil, append([]string{"serve", "--addr", "127.0.0.1:0", "--provider", "demo", "--files-dir", t.TempDir()}, args...))
}

// runHub runs `hub serve` with exactly these arguments and variables.
func runHub(t *testing.T, log io.Writer, environ, args []string) hubRun {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	out, in := io.Pipe()
	code := make(chan int, 1)
	go func() {
		c := run(ctx, args, environ, in, log)
		in.CloseWithError(fmt.Errorf("ended with code %d", c))
		code <- c
	}()
	lines := bufio.NewScanner(out)
	var printed []string // the URL first, the provider last
	for len(printed) == 0 || !strings.HasPrefix(printed[len(printed)-1], "Answers come from ") {
		if !lines.Scan() {
			cancel(nil)
			t.Fatalf("output of the hub: got %q, error %v, want the provider in its last line", printed, lines.Err())
		}
		printed = append(printed, lines.Text())
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // ends with the hub
	_, invitation, _ := strings.Cut(printed[0], ": ")
	url, _, _ := strings.Cut(invitation, "/?")
	done := false
	stop := func() int {
		done = true
		cancel(errors.New("test is over"))
		return <-code
	}
	t.Cleanup(func() {
		if !done {
			stop()
		}
	})
	return hubRun{url, invitation, printed[len(printed)-1], stop}
}

// status requests path and returns the status of the answer.
func (h hubRun) status(t *testing.T, path string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

func TestRunServesUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	h := startHub(t, "--store", "file:"+t.TempDir())
	if got := h.status(t, "/readyz"); got != http.StatusOK {
		t.Errorf("/readyz: got %d, want %d", got, http.StatusOK)
	}
	if code := h.stop(); code != command.ExitOK {
		t.Errorf("exit code %d, want 0", code)
	}
}

func TestRunExitCodes(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	taken, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	for name, tt := range map[string]struct {
		args []string
		want int
	}{
		"done":             {[]string{"version"}, command.ExitOK},
		"unknown command":  {[]string{"dance"}, command.ExitUsage},
		"unknown flag":     {[]string{"serve", "--dance"}, command.ExitUsage},
		"cannot do it":     {[]string{"health", "http://127.0.0.1:1"}, command.ExitFailure},
		"cannot listen":    {[]string{"--addr", taken.Addr().String(), "--store", "file:" + t.TempDir()}, command.ExitFailure},
		"no provider":      {[]string{"--addr", "127.0.0.1:0", "--provider", "anthropic", "--otlp-endpoint", "http://127.0.0.1:1", "--store", "file:" + t.TempDir()}, command.ExitFailure},
		"flag before help": {[]string{"--dance", "--help"}, command.ExitOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := run(t.Context(), tt.args, nil, io.Discard, t.Output()); got != tt.want {
				t.Errorf("exit code %d, want %d", got, tt.want)
			}
		})
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"file:./data":                    "file:./data",
		"redis://host:6379/1":            "redis://host:6379/1",
		"redis://:secret@host":           "redis://:***@host",
		"redis://me:secret@host/1":       "redis://me:***@host/1",
		"redis://me@host":                "redis://me@host",
		"redis://me:se/cr@et?@host":      "redis://me:***@host",
		"redis+cluster://u:p@a:1,u:q@b:": "redis+cluster://u:***@b:",
	} {
		if got := redact(in); got != want {
			t.Errorf("redact(%q) = %q, want %q", in, got, want)
		}
	}
}
