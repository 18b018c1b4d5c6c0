//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/bench/rig"
	"github.com/everdesk/everdesk/wire"
)

// environment is the Redis and the hubs of a run.
type environment struct {
	hubs        []hub
	token       string // of the installation: it has all permissions
	redis       *rig.Process
	redisClient redis.UniversalClient
	client      *http.Client
	// surviveHubExit is set without --check: the run continues after a hub has exited, so that a
	// developer can kill one.
	surviveHubExit bool
}

// hub is a hub process with its name and base URL.
type hub struct {
	name wire.ReplicaID
	url  string
	*rig.Process
}

// startEnvironment starts Redis and the hubs. stop is not nil even if it fails.
func startEnvironment(ctx context.Context, o options, dir string, stdout io.Writer) (e *environment, stop func(), err error) {
	e = &environment{client: &http.Client{Timeout: rig.ReplyTimeout, Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	stop = func() {
		e.client.CloseIdleConnections()
		for _, h := range slices.Backward(e.hubs) {
			h.Stop()
		}
		if e.redisClient != nil {
			_ = e.redisClient.Close()
		}
		if e.redis != nil {
			e.redis.Stop()
		}
	}
	program := o.hub
	if program == "" {
		if program, err = rig.BuildHub(ctx, dir); err != nil {
			return e, stop, err
		}
	}
	fmt.Fprintf(stdout, "starting Redis and %d hubs\n", o.hubs)
	p, store, err := rig.StartRedis(ctx, dir)
	if err != nil {
		return e, stop, err
	}
	e.redis = p
	parsed, err := redis.ParseURL(store)
	if err != nil {
		return e, stop, err
	}
	e.redisClient = redis.NewClient(parsed)
	for i := range o.hubs {
		name := "hub-" + strconv.Itoa(i+1)
		p, printed, err := rig.StartHub(ctx, program, "--replica-id", name, "--addr", "127.0.0.1:0", "--apps-addr", "off",
			"--store", store, "--files-dir", filepath.Join(dir, "files"), "--provider", "demo", "--rate-limits", "off",
			"--max-agents", strconv.Itoa(maxAgents(o.sessions)), "--dormant-after", "24h", "--shutdown-grace", "1s", "--log-level", "error")
		if err != nil {
			return e, stop, err
		}
		u, err := url.Parse(strings.TrimSpace(printed))
		if err != nil {
			p.Stop()
			return e, stop, fmt.Errorf("read the address of a hub: %w", err)
		}
		e.hubs = append(e.hubs, hub{wire.ReplicaID(name), "http://" + u.Host, p})
		e.token = u.Query().Get("token")
	}
	return e, stop, nil
}

// runningHubs returns the hubs that have not exited.
func (e *environment) runningHubs() []hub {
	return slices.DeleteFunc(slices.Clone(e.hubs), func(h hub) bool {
		select {
		case <-h.Exited():
			return true
		default:
			return false
		}
	})
}

// usableHubs returns the running hubs, or all hubs if none is running; the run ends then.
func (e *environment) usableHubs() []hub {
	if running := e.runningHubs(); len(running) > 0 {
		return running
	}
	return e.hubs
}

// watchProcesses calls stop with the output of a process that exits on its own: the remaining
// processes would give wrong figures. With surviveHubExit it does so only for Redis and the last hub.
func (e *environment) watchProcesses(ctx context.Context, wg *sync.WaitGroup, stop context.CancelCauseFunc) {
	await := func(name string, p *rig.Process) {
		wg.Go(func() {
			select {
			case <-p.Exited():
				if p == e.redis || !e.surviveHubExit || len(e.runningHubs()) == 0 {
					stop(fmt.Errorf("%s exited on its own\n%s", name, p.Output()))
				}
			case <-ctx.Done():
			}
		})
	}
	await("Redis", e.redis)
	for _, h := range e.hubs {
		await(string(h.name), h.Process)
	}
}

// usage holds the resources that hubs and Redis have used so far.
type usage struct {
	hubs     time.Duration
	resident int64 // KiB
	redis    rig.RedisStats
}

func (e *environment) measure(ctx context.Context) (u usage, err error) {
	for _, h := range e.usableHubs() {
		cpu, err := rig.CPU(h.PID())
		kib, err2 := rig.Resident(h.PID())
		switch err = errors.Join(err, err2); {
		case err != nil && e.surviveHubExit:
			continue // the hub is exiting
		case err != nil:
			return u, err
		}
		u.hubs += cpu
		u.resident += kib
	}
	u.redis, err = rig.ReadRedisStats(ctx, e.redisClient)
	return u, err
}

// rates are the resources that hubs and Redis use per second.
type rates struct {
	hubs, redis float64 // share of a core
	commands    float64
	out         float64 // bytes that Redis sends
	resident    int64   // KiB, of all hubs
}

func (u usage) since(before usage) rates {
	d, took := u.redis.Rate(before.redis), u.redis.At.Sub(before.redis.At).Seconds()
	r := rates{hubs: max(0, (u.hubs-before.hubs).Seconds()/took), redis: d.CPU, out: d.Out, resident: u.resident}
	for _, n := range d.Calls {
		r.commands += n
	}
	return r
}

// String implements fmt.Stringer.
func (r rates) String() string {
	return fmt.Sprintf("hubs %.0f%% of a core, %d MiB  Redis %.0f commands/s, %.0f%%", r.hubs*100, r.resident>>10, r.commands, r.redis*100)
}
