package kernels_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/kernels"
)

func serverConfig(t *testing.T) kernels.ServerConfig {
	t.Helper()
	return kernels.ServerConfig{Dir: t.TempDir(), Root: t.TempDir(), AloneFor: time.Minute, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}}
}

func use(t *testing.T, cfg kernels.ServerConfig) *kernels.Server {
	t.Helper()
	s, err := kernels.UseServer(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// A server goes on when its hub is killed, and the next hub uses it. It ends with the last hub that stops.
func TestServerOutlivesAHubThatIsKilled(t *testing.T) {
	t.Parallel()
	cfg := serverConfig(t)
	if s, err := kernels.FindRunning(t.Context(), cfg); s != nil || err != nil {
		t.Fatalf("before the first start: got %v and %v, want no server", s, err)
	}
	first := use(t, cfg)
	record := filepath.Join(cfg.Dir, "server.json")
	if info, err := os.Stat(record); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file with the token: got %v and %v, want that only this user can read it", info, err)
	}
	first.Release() // which is what the system does when a hub is killed
	if !first.Alive() {
		t.Fatal("the server ended, want that it goes on without a hub")
	}
	second, err := kernels.FindRunning(t.Context(), cfg)
	if err != nil || second == nil {
		t.Fatalf("the next hub: got %v and %v, want the server", second, err)
	}
	t.Cleanup(second.Stop)
	third := use(t, cfg)
	for _, s := range []*kernels.Server{second, third} {
		if s.URL != first.URL || s.Token != first.Token {
			t.Errorf("another hub: got the server %s, want %s", s.URL, first.URL)
		}
	}
	other := cfg
	other.Root = t.TempDir()
	if _, err := kernels.UseServer(t.Context(), other); !errors.Is(err, kernels.ErrUnavailable) {
		t.Errorf("a hub with other files: got %v, want that it cannot use the server of others", err)
	}

	second.Stop()
	if !third.Alive() {
		t.Error("the server ended with a hub that was not the last one")
	}
	third.Stop()
	if _, err := os.Stat(record); third.Alive() || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after the last hub: got alive %v and %v, want that neither the server nor its record are left", third.Alive(), err)
	}
}

// startSleep starts a process that does nothing.
func startSleep(t *testing.T) *exec.Cmd {
	t.Helper()
	p := exec.CommandContext(context.WithoutCancel(t.Context()), "sleep", "600")
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// A record that is wrong leads to a new server, and to the end of no process but the recorded one.
func TestWrongRecordsLeadToANewServer(t *testing.T) {
	t.Parallel()
	impostor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "{}", http.StatusForbidden)
	}))
	t.Cleanup(impostor.Close)
	_, text, _ := strings.Cut(impostor.Listener.Addr().String(), ":")
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		write func(cfg kernels.ServerConfig, pid int) error
		// ends is whether the process of the record must end.
		ends bool
	}{
		"no JSON": {write: func(cfg kernels.ServerConfig, pid int) error {
			return os.WriteFile(filepath.Join(cfg.Dir, "server.json"), []byte(`{"pid":`+strconv.Itoa(pid)), 0o600)
		}},
		"the id belongs to another process now": {write: func(cfg kernels.ServerConfig, pid int) error {
			return kernels.WriteRecord(cfg.Dir, pid, os.Getpid(), port, cfg.Root)
		}},
		"another server has the port": {ends: true, write: func(cfg kernels.ServerConfig, pid int) error {
			return kernels.WriteRecord(cfg.Dir, pid, pid, port, cfg.Root)
		}},
		"its files are elsewhere": {ends: true, write: func(cfg kernels.ServerConfig, pid int) error {
			return kernels.WriteRecord(cfg.Dir, pid, pid, port, cfg.Dir)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, process := serverConfig(t), startSleep(t)
			if err := tt.write(cfg, process.Process.Pid); err != nil {
				t.Fatal(err)
			}
			s := use(t, cfg)
			if !s.Alive() || strings.HasSuffix(s.URL, text) {
				t.Errorf("got the server %s, alive %v; want a new one that runs", s.URL, s.Alive())
			}
			_ = process.Process.Kill() // if it has ended, the next line says so
			err := process.Wait()
			if ended := err == nil || err.Error() != "signal: killed"; ended != tt.ends {
				t.Errorf("the process of the record: got %v, so ended by the hub: %v; want %v", err, ended, tt.ends)
			}
		})
	}
}

// Code does not find the token of the server in its environment, and the file that has it is only for this user.
func TestKernelsDoNotInheritTheToken(t *testing.T) {
	t.Parallel()
	cfg := serverConfig(t)
	server := use(t, cfg)
	s := open(t, newClient(t, kernels.Config{URL: server.URL, Token: server.Token}), "n")
	got := s.execute("env", "import os\nprint('JUPYTER_TOKEN' in os.environ, "+strconv.Quote(server.Token)+" in os.environ.values())")
	if want := "stdout:False False\n|"; shown(got.Outputs) != want {
		t.Errorf("the token in the environment of a kernel: got %q, want %q", shown(got.Outputs), want)
	}
	if info, err := os.Stat(filepath.Join(cfg.Dir, "config", "jupyter_server_config.py")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the settings of the server: got %v and %v, want that only this user can read them", info, err)
	}
}

// A server that no hub uses ends by itself, with kernels that are busy, and not before.
func TestServerWithoutAHubEnds(t *testing.T) {
	t.Parallel()
	cfg := serverConfig(t)
	cfg.AloneFor = time.Second
	server := use(t, cfg)
	s := open(t, newClient(t, kernels.Config{URL: server.URL, Token: server.Token}), "n")
	got := s.execute("used", "import os, time\ntime.sleep(3)\nos.getpid()") // three times as long as it may be alone
	if !server.Alive() || !strings.HasPrefix(shown(got.Outputs), "execute_result:") {
		t.Fatalf("a server that is used: got alive %v and %q, want that it goes on", server.Alive(), shown(got.Outputs))
	}
	pid := strings.TrimSuffix(strings.TrimPrefix(shown(got.Outputs), "execute_result:"), "|")
	s.begin("busy", "while True: print('x' * 100, flush=True); time.sleep(0.01)")
	server.Release()
	waitFor(t, func() bool { return !server.Alive() })
	waitFor(t, func() bool {
		_, err := os.Stat("/proc/" + pid)
		return errors.Is(err, os.ErrNotExist)
	})
}

// The log of a server is bounded.
func TestLogOfAServerIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "server.log")
	for size, want := range map[int]int64{1 << 20: 1 << 20, 1<<20 + 1: 0} {
		if err := os.WriteFile(name, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := kernels.TidyLog(dir); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(name); err != nil || info.Size() != want {
			t.Errorf("a log of %d bytes: got %v and %v, want %d bytes", size, info, err, want)
		}
	}
	if err := kernels.TidyLog(t.TempDir()); err != nil {
		t.Errorf("without a log: %v", err)
	}
}
