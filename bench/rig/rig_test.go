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
		t.Fatalf("got rest %q and error %v, want home", rest, err)
	}
	if _, err := rig.Resident(p.PID()); err != nil {
		t.Error(err)
	}
	p.Stop()
	if _, err := rig.CPU(p.PID()); err == nil {
		t.Error("the process exists after Stop, want it gone")
	}
}

func TestStartOfExitingProgram(t *testing.T) {
	t.Parallel()
	_, _, err := rig.Start(t.Context(), "ready", "sh", "-c", "echo no port left >&2; echo sorry; exit 3")
	if err == nil || !strings.Contains(err.Error(), "exited before it was ready") || !strings.Contains(err.Error(), "no port left") || !strings.Contains(err.Error(), "sorry") {
		t.Errorf("got error %v, want the reason and the output", err)
	}
}

// Start returns when its context ends, even if the program never becomes ready.
func TestStartStopsWithContext(t *testing.T) {
	t.Parallel()
	why := errors.New("canceled by the test")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, _, err := rig.Start(ctx, "ready", "sleep", "1000"); !errors.Is(err, why) {
		t.Errorf("got error %v, want %v", err, why)
	}
}

// Stop does not wait for children that keep the output open.
func TestStopDoesNotWaitForChildren(t *testing.T) {
	t.Parallel()
	p, _, err := rig.Start(t.Context(), "ready", "sh", "-c", "sleep 20 & printf 'rea'; echo dy; exec sleep 1000")
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	p.Stop()
	if took := time.Since(begin); took > 15*time.Second {
		t.Errorf("Stop took %v, want at most 15s", took)
	}
	<-p.Exited()
}

// A process has its own process group, so that an interrupt of the terminal does not reach it.
func TestStartInOwnGroup(t *testing.T) {
	t.Parallel()
	p, _, err := rig.Start(t.Context(), "ready", "sh", "-c", "echo ready; exec sleep 1000")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	if group, err := syscall.Getpgid(p.PID()); err != nil || group != p.PID() {
		t.Errorf("the process is in group %d (error %v), want its own", group, err)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	if n, err := rig.Resident(os.Getpid()); err != nil || n < 1000 {
		t.Errorf("resident memory is %d KiB (error %v), want 1000 or more", n, err)
	}
	if n, err := rig.Written(os.Getpid()); err != nil || n < 0 {
		t.Errorf("got %d written bytes (error %v), want 0 or more", n, err)
	}
	if d, err := rig.CPU(os.Getpid()); err != nil || d > time.Hour {
		t.Errorf("CPU time is %v (error %v), want at most an hour", d, err)
	}
}

func TestRate(t *testing.T) {
	t.Parallel()
	from := rig.RedisStats{At: time.Unix(100, 0), CPU: 1, In: 10, Out: 20, Calls: map[string]float64{"get": 4, "set": 7}}
	to := rig.RedisStats{At: time.Unix(102, 0), CPU: 2, In: 30, Out: 30, Calls: map[string]float64{"get": 10, "set": 7, "del": 1}}
	d := to.Rate(from)
	if d.CPU != 0.5 || d.In != 10 || d.Out != 5 || d.Calls["get"] != 3 || d.Calls["del"] != 0.5 || len(d.Calls) != 2 {
		t.Errorf("rates are %+v, want CPU 0.5, in 10, out 5, get 3, del 0.5", d)
	}
}

func TestSelectScenarios(t *testing.T) {
	t.Parallel()
	all := []string{"a", "b", "c"}
	self := func(s string) string { return s }
	for names, want := range map[string]string{
		"all": "a b c", "c a": "c a",
		"": "no scenario given", "a d": `no scenario "d"`, "all a": `no scenario "all"`,
	} {
		got, err := rig.SelectScenarios(all, self, strings.Fields(names))
		if err != nil {
			got = []string{err.Error()}
		}
		if text := strings.Join(got, " "); !strings.HasPrefix(text, want) {
			t.Errorf("%q: got %q, want %q", names, text, want)
		}
	}
}

func TestAPIClient(t *testing.T) {
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
	d := rig.APIClient{URL: hub.URL, Token: "secret", Client: hub.Client()}
	if id, err := d.CreateSession(t.Context(), "a title"); err != nil || id != "ses-1" {
		t.Errorf("created %q, error %v, want ses-1", id, err)
	}
	answer = `{"sessionId":""}`
	if _, err := d.CreateSession(t.Context(), ""); err == nil {
		t.Error("an answer without an id: got no error, want one")
	}
	d.Token = ""
	if _, err := d.CreateSession(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("a request without a token: got error %v, want status 401", err)
	}
}
