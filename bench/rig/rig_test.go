//go:build linux

package rig_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/bench/rig"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStart(t *testing.T) {
	t.Parallel()
	p, rest, err := rig.Start(t.Context(), "ready at ", "sh", "-c", "echo starting; echo ready at home; exec sleep 1000")
	if err != nil || rest != "home" {
		t.Fatalf("started with %q and %v", rest, err)
	}
	if _, err := rig.Resident(p.PID()); err != nil {
		t.Error(err)
	}
	p.Stop()
	if _, err := rig.CPU(p.PID()); err == nil {
		t.Error("it is there after it was stopped")
	}
}

func TestStartOfWhatEnds(t *testing.T) {
	t.Parallel()
	_, _, err := rig.Start(t.Context(), "ready", "sh", "-c", "echo no port left >&2; echo sorry; exit 3")
	if err == nil || !strings.Contains(err.Error(), "it ended at once") || !strings.Contains(err.Error(), "no port left") || !strings.Contains(err.Error(), "sorry") {
		t.Errorf("said %v, want why and its last words", err)
	}
}

// Nobody waits for a program that never gets ready once nobody wants it.
func TestStartIsGivenUp(t *testing.T) {
	t.Parallel()
	why := errors.New("changed my mind")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, _, err := rig.Start(ctx, "ready", "sleep", "1000"); !errors.Is(err, why) {
		t.Errorf("said %v", err)
	}
}

// What a program has started and left behind holds nobody up.
func TestStopOfWhatHasChildren(t *testing.T) {
	t.Parallel()
	p, _, err := rig.Start(t.Context(), "ready", "sh", "-c", "sleep 20 & printf 'rea'; echo dy; exec sleep 1000")
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	p.Stop()
	if took := time.Since(begin); took > 15*time.Second {
		t.Errorf("it took %v", took)
	}
	<-p.Gone()
}

// An interrupt of the terminal goes to the caller's group, in which it is not.
func TestStartInOwnGroup(t *testing.T) {
	t.Parallel()
	p, _, err := rig.Start(t.Context(), "ready", "sh", "-c", "echo ready; exec sleep 1000")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	if group, err := syscall.Getpgid(p.PID()); err != nil || group != p.PID() {
		t.Errorf("it is in group %d, %v", group, err)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	if n, err := rig.Resident(os.Getpid()); err != nil || n < 1000 {
		t.Errorf("resident are %d KiB, %v", n, err)
	}
	if d, err := rig.CPU(os.Getpid()); err != nil || d > time.Hour {
		t.Errorf("computed for %v, %v", d, err)
	}
}

func TestRate(t *testing.T) {
	t.Parallel()
	from := rig.Reading{At: time.Unix(100, 0), CPU: 1, In: 10, Out: 20, Calls: map[string]float64{"get": 4, "set": 7}}
	to := rig.Reading{At: time.Unix(102, 0), CPU: 2, In: 30, Out: 30, Calls: map[string]float64{"get": 10, "set": 7, "del": 1}}
	d := to.Rate(from)
	if d.CPU != 0.5 || d.In != 10 || d.Out != 5 || d.Calls["get"] != 3 || d.Calls["del"] != 0.5 || len(d.Calls) != 2 {
		t.Errorf("per second: %+v", d)
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	all := []string{"a", "b", "c"}
	self := func(s string) string { return s }
	for names, want := range map[string]string{
		"all": "a b c", "c a": "c a",
		"": "no scenario given", "a d": `no scenario "d"`, "all a": `no scenario "all"`,
	} {
		got, err := rig.Choose(all, self, strings.Fields(names))
		if err != nil {
			got = []string{err.Error()}
		}
		if text := strings.Join(got, " "); !strings.HasPrefix(text, want) {
			t.Errorf("%q: got %q, want %q", names, text, want)
		}
	}
}

func TestDoor(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	answer := `{"sessionId":"ses-1"}`
	mux.HandleFunc("POST /api/sessions", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(answer))
	})
	hub := httptest.NewServer(mux)
	defer hub.Close()
	d := rig.Door{URL: hub.URL, Token: "secret", Client: hub.Client()}
	if id, err := d.CreateSession(t.Context(), "a title"); err != nil || id != "ses-1" {
		t.Errorf("made %q, %v", id, err)
	}
	answer = `{"sessionId":""}`
	if _, err := d.CreateSession(t.Context(), ""); err == nil {
		t.Error("took an answer without an id")
	}
	d.Token = ""
	if _, err := d.CreateSession(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("a stranger: %v", err)
	}
}
