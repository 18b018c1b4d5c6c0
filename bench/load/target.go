//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// target is a running server.
type target struct {
	addr    string
	pid     int
	redis   int // the process id of its Redis, or 0
	encoder encoder
	// create makes sessions and returns their ids.
	create func(ctx context.Context, n int) ([]string, error)
}

// kind says which server a run is about.
type kind struct {
	server string // hub or floor
	store  string // file or redis; empty for the floor
}

var (
	hubOnFile  = kind{"hub", "file"}
	hubOnRedis = kind{"hub", "redis"}
	bareFloor  = kind{server: "floor"}
)

// stable is where servers come from.
type stable struct {
	hub  string // the program
	self string // this program, which is also the floor
	dir  string // for their files
}

// newStable builds the hub, unless a program is given, into dir.
func newStable(ctx context.Context, hub, dir string) (stable, error) {
	self, err := os.Executable()
	if err != nil {
		return stable{}, fmt.Errorf("find this program: %w", err)
	}
	if hub == "" {
		if hub, err = buildHub(ctx, dir); err != nil {
			return stable{}, err
		}
	}
	return stable{hub: hub, self: self, dir: dir}, nil
}

// buildHub builds the hub of the module in the working folder.
func buildHub(ctx context.Context, dir string) (string, error) {
	hub := filepath.Join(dir, "hub")
	build := exec.CommandContext(ctx, "go", "build", "-o", hub, "github.com/everdesk/everdesk/cmd/hub") //nolint:gosec // our own program
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the hub: %w\n%s", err, out)
	}
	return hub, nil
}

// start runs a server of a kind with an empty store. The caller calls stop.
// envelope is how long the floor's envelopes are.
func (s stable) start(ctx context.Context, k kind, envelope int) (t target, stop func(), err error) {
	if k == bareFloor {
		c, addr, err := spawn(ctx, floorReady, s.self, "floor")
		if err != nil {
			return target{}, nil, err
		}
		return floorTarget(addr, c.cmd.Process.Pid, envelope), c.stop, nil
	}
	return s.startHub(ctx, k)
}

func floorTarget(addr string, pid, envelope int) target {
	return target{
		addr: addr, pid: pid, encoder: newFloorEncoder(envelope),
		create: func(_ context.Context, n int) ([]string, error) {
			ids := make([]string, n)
			for i := range ids {
				ids[i] = strconv.Itoa(i)
			}
			return ids, nil
		},
	}
}

// startHub runs the hub, after a Redis if it needs one.
func (s stable) startHub(ctx context.Context, k kind) (t target, stop func(), err error) {
	dir, err := os.MkdirTemp(s.dir, "run-")
	if err != nil {
		return target{}, nil, fmt.Errorf("make a folder: %w", err)
	}
	var running []*child
	stop = func() {
		for len(running) > 0 {
			last := len(running) - 1
			running[last].stop()
			running = running[:last]
		}
		_ = os.RemoveAll(dir)
	}
	store := "file:" + filepath.Join(dir, "store")
	if k == hubOnRedis {
		redis, url, err := spawnRedis(ctx, dir)
		if err != nil {
			stop()
			return target{}, nil, err
		}
		running = append(running, redis)
		store, t.redis = url, redis.cmd.Process.Pid
	}
	hub, rest, err := spawn(ctx, "Everdesk is running: http://", s.hub, "serve", "--addr", "127.0.0.1:0", "--store", store,
		"--files-dir", filepath.Join(dir, "files"), "--auth", "none", "--rate-limits", "off", "--shutdown-grace", "1s", "--log-level", "warn")
	if err != nil {
		stop()
		return target{}, nil, err
	}
	running = append(running, hub)
	t.addr, _, _ = strings.Cut(rest, "/")
	t.pid = hub.cmd.Process.Pid
	t.encoder = newHubEncoder()
	t.create = func(ctx context.Context, n int) ([]string, error) { return createSessions(ctx, t.addr, n) }
	return t, stop, nil
}

// spawnRedis runs a Redis without persistence.
func spawnRedis(ctx context.Context, dir string) (c *child, url string, err error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, "", fmt.Errorf("%w: apt-get install redis-server", err)
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", fmt.Errorf("find a free port: %w", err)
	}
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	if err := ln.Close(); err != nil {
		return nil, "", fmt.Errorf("find a free port: %w", err)
	}
	c, _, err = spawn(ctx, "Ready to accept connections", program,
		"--bind", "127.0.0.1", "--port", port, "--dir", dir, "--save", "", "--appendonly", "no")
	return c, "redis://127.0.0.1:" + port, err
}

// createSessions makes sessions over the hub's REST door.
func createSessions(ctx context.Context, addr string, n int) ([]string, error) {
	client := &http.Client{Timeout: startTimeout}
	defer client.CloseIdleConnections()
	ids := make([]string, n)
	for i := range ids {
		id, err := createSession(ctx, client, addr)
		if err != nil {
			return nil, fmt.Errorf("create a session: %w", err)
		}
		ids[i] = id
	}
	return ids, nil
}

func createSession(ctx context.Context, client *http.Client, addr string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/api/sessions", bytes.NewReader([]byte(`{}`)))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return "", err
	}
	var made struct {
		ID string `json:"sessionId"`
	}
	if err := json.Unmarshal(body, &made); err != nil || res.StatusCode != http.StatusCreated || made.ID == "" {
		return "", fmt.Errorf("%s: %.300s", res.Status, body)
	}
	return made.ID, nil
}

// measured reads what processes have used so far.
type measured struct {
	at         time.Time
	cpu, redis time.Duration
	self       time.Duration
}

func (t target) measure() (m measured, err error) {
	m.at = time.Now()
	if m.cpu, err = cpu(t.pid); err != nil {
		return m, err
	}
	if m.self, err = cpu(os.Getpid()); err != nil {
		return m, err
	}
	if t.redis != 0 {
		m.redis, err = cpu(t.redis)
	}
	return m, err
}
