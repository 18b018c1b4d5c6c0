//go:build linux

package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/everdesk/everdesk/bench/rig"
)

// target is a running server.
type target struct {
	addrs []string // one for each replica
	pids  []int    // of the replicas
	redis int      // process id of its Redis, or 0
	// redisURL is the URL of its Redis, or empty.
	redisURL string
	encoder  encoder
	// isCentrifuge selects the protocol of Centrifuge instead of the hub's.
	isCentrifuge bool
	model        string // URL of the model of its agents, if they have one
	// create creates sessions and returns their ids.
	create func(ctx context.Context, n int) ([]string, error)
}

// kind selects the server of a run.
type kind struct {
	server string // hub, centrifuge, floor; hubs and centrifuges are two replicas, three hubs three
	store  string // file, memory or redis; empty for the floor
}

var (
	hubOnFile  = kind{"hub", "file"}
	hubOnRedis = kind{"hub", "redis"}
	twoHubs    = kind{"hubs", "redis"}
	threeHubs  = kind{"three hubs", "redis"}
	bareFloor  = kind{server: "floor"}

	centrifugeInMemory = kind{"centrifuge", "memory"}
	centrifugeOnRedis  = kind{"centrifuge", "redis"}
	twoCentrifuges     = kind{"centrifuges", "redis"}
)

// serverStarter starts the servers of a run.
type serverStarter struct {
	hub  string // path of the hub's program
	self string // path of this program, which also serves as the floor and as the Centrifuge node
	dir  string // for their files
}

// newServerStarter builds the hub as releases are built, unless a program is given, into dir.
func newServerStarter(ctx context.Context, hub, dir string) (serverStarter, error) {
	self, err := os.Executable()
	if err != nil {
		return serverStarter{}, fmt.Errorf("find this program: %w", err)
	}
	if hub == "" {
		if hub, err = rig.BuildRelease(ctx, dir); err != nil {
			return serverStarter{}, err
		}
	}
	return serverStarter{hub: hub, self: self, dir: dir}, nil
}

// start runs a server with an empty store. The caller must call stop. envelope is the size
// of the floor's envelopes, args are further flags of the hub.
func (s serverStarter) start(ctx context.Context, k kind, envelope int, args ...string) (t target, stop func(), err error) {
	if k == bareFloor {
		c, addr, err := rig.Start(ctx, floorReady, s.self, "floor")
		if err != nil {
			return target{}, nil, err
		}
		return floorTarget(addr, c.PID(), envelope), c.Stop, nil
	}
	return s.startReplicas(ctx, k, args)
}

func floorTarget(addr string, pid, envelope int) target {
	return target{addrs: []string{addr}, pids: []int{pid}, encoder: newFloorEncoder(envelope), create: numberSessions}
}

// startReplicas runs a hub or a Centrifuge node, or two replicas of it, after a Redis if it needs one.
func (s serverStarter) startReplicas(ctx context.Context, k kind, args []string) (t target, stop func(), err error) {
	dir, err := os.MkdirTemp(s.dir, "run-")
	if err != nil {
		return target{}, nil, fmt.Errorf("make a folder: %w", err)
	}
	var running []*rig.Process
	stop = func() {
		for len(running) > 0 {
			last := len(running) - 1
			running[last].Stop()
			running = running[:last]
		}
		_ = os.RemoveAll(dir)
	}
	store := ""
	if k.store == "redis" {
		redis, url, err := rig.StartRedis(ctx, dir)
		if err != nil {
			stop()
			return target{}, nil, err
		}
		running = append(running, redis)
		store, t.redis, t.redisURL = url, redis.PID(), url
	}
	replicas := 1
	switch k {
	case twoHubs, twoCentrifuges:
		replicas = 2
	case threeHubs:
		replicas = 3
	}
	startReplica := func() (*rig.Process, string, error) { return s.startHub(ctx, dir, store, args) }
	t.encoder = newHubEncoder()
	t.create = func(ctx context.Context, n int) ([]string, error) { return createSessions(ctx, t.addrs[0], n) }
	if t.isCentrifuge = strings.HasPrefix(k.server, "centrifuge"); t.isCentrifuge {
		startReplica = func() (*rig.Process, string, error) { return s.startCentrifuge(ctx, store) }
		t.encoder, t.create = newCentrifugeEncoder(), numberSessions
	}
	for range replicas {
		p, addr, err := startReplica()
		if err != nil {
			stop()
			return target{}, nil, err
		}
		running = append(running, p)
		t.addrs = append(t.addrs, addr)
		t.pids = append(t.pids, p.PID())
	}
	return t, stop, nil
}

// startHub runs a hub on the Redis at the URL store, or on files in dir if that is empty, and returns
// its address.
func (s serverStarter) startHub(ctx context.Context, dir, store string, args []string) (*rig.Process, string, error) {
	store = cmp.Or(store, "file:"+filepath.Join(dir, "store"))
	hub, url, err := rig.StartHub(ctx, s.hub, append([]string{
		"--addr", "127.0.0.1:0", "--store", store, "--files-dir", filepath.Join(dir, "files"),
		"--auth", "none", "--rate-limits", "off", "--shutdown-grace", "1s", "--log-level", "warn",
	}, args...)...)
	return hub, strings.Trim(strings.TrimPrefix(url, "http:"), "/"), err
}

// startCentrifuge runs a Centrifuge node on the Redis at the URL redis, or in memory if that is empty,
// and returns its address.
func (s serverStarter) startCentrifuge(ctx context.Context, redis string) (*rig.Process, string, error) {
	args := []string{"centrifuge"}
	if redis != "" {
		args = append(args, redis)
	}
	return rig.Start(ctx, centrifugeReady, s.self, args...)
}

// numberSessions returns ids for servers that need no creation of sessions.
func numberSessions(_ context.Context, n int) ([]string, error) {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = "ses-" + strconv.Itoa(i)
	}
	return ids, nil
}

// createSessions creates sessions over the hub's REST API.
func createSessions(ctx context.Context, addr string, n int) ([]string, error) {
	client := &http.Client{Timeout: rig.ReplyTimeout}
	defer client.CloseIdleConnections()
	api := rig.APIClient{URL: "http://" + addr, Client: client}
	ids := make([]string, n)
	for i := range ids {
		id, err := api.CreateSession(ctx, "")
		if err != nil {
			return nil, err
		}
		ids[i] = string(id)
	}
	return ids, nil
}

// measured is what the processes have used so far: CPU time, and bytes that the server has written.
type measured struct {
	at         time.Time
	cpu, redis time.Duration
	self       time.Duration
	written    int64
}

func (t target) measure() (m measured, err error) {
	m.at = time.Now()
	for _, pid := range t.pids {
		used, err := rig.CPU(pid)
		if err != nil {
			return m, err
		}
		m.cpu += used
		written, err := rig.Written(pid)
		if err != nil {
			return m, err
		}
		m.written += written
	}
	if m.self, err = rig.CPU(os.Getpid()); err != nil {
		return m, err
	}
	if t.redis != 0 {
		m.redis, err = rig.CPU(t.redis)
	}
	return m, err
}
