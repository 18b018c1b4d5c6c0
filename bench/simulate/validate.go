//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/bench/rig"
	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/store/redisstore"
	"github.com/everdesk/everdesk/wire"
)

// What is built for real to see whether the model is right.
const (
	realHubs   = 3
	realSecond = 0.3 // part of the sessions that have a second tab, elsewhere
	realBusy   = 0.1 // part of the sessions that somebody publishes in
	realRate   = 10  // times a second
	// tolerance is how far the model may be from what it says.
	tolerance = 0.25
)

// rehearsal is how much of it, and how long.
type rehearsal struct {
	sessions     int
	settle, last time.Duration
}

// validate runs real hubs on a real Redis, and the model of the same, and fails
// when they do not agree.
func validate(ctx context.Context, table [ops]cost, seed uint64, as rehearsal, stdout io.Writer) error {
	seen, err := as.play(ctx)
	if err != nil {
		return err
	}
	cfg := settings{
		replicas: realHubs, sessions: as.sessions, masters: 1, idle: 1 - realBusy, streaming: realBusy, second: realSecond,
		rate: realRate, turn: time.Hour, lease: 6 * time.Second, rtt: 200 * time.Microsecond, surge: 1, seed: seed,
		warm: as.settle, last: as.last, agentless: true,
	}
	steady, err := scenarios()[0].play(ctx, cfg, table)
	if err != nil {
		return err
	}
	model := forecast(steady, table)
	fmt.Fprintf(stdout, "%d hubs, %d sessions, %.0f%% with a second tab elsewhere, %.0f%% published in %d times a second, %v\n\n",
		realHubs, as.sessions, realSecond*100, realBusy*100, realRate, as.last)
	fmt.Fprintln(stdout, "| per second | real | model | model to real |\n| --- | --- | --- | --- |")
	var wrong error
	row := func(name string, r, m float64, judged bool) {
		mark := ""
		if judged && (m < r*(1-tolerance) || m > r*(1+tolerance)) {
			mark = ", too far"
			wrong = errors.Join(wrong, fmt.Errorf("%s: real %.0f, model %.0f", name, r, m))
		}
		fmt.Fprintf(stdout, "| %s | %.1f | %.1f | %.2f%s |\n", name, r, m, m/r, mark)
	}
	sum := func(of map[string]float64) (n float64) {
		for _, v := range of {
			n += v
		}
		return n
	}
	row("all commands, those in scripts included", sum(seen.Calls), sum(model.Calls), true)
	for _, cmd := range []string{"evalsha", "exec", "hget", "hset", "xadd", "spublish"} {
		row(cmd, seen.Calls[cmd], model.Calls[cmd], cmd == "evalsha" || cmd == "exec")
	}
	row("bytes in", seen.In, model.In, true)
	row("bytes out", seen.Out, model.Out, false)
	row("CPU of Redis, ms", seen.CPU*1000, model.CPU*1000, false)
	return wrong
}

// forecast is what a Redis would count in a second of an outcome.
func forecast(o outcome, table [ops]cost) rig.Reading {
	r := rig.Reading{Calls: map[string]float64{}}
	include := func(c cost, n float64) {
		r.CPU += c.CPU * n / 1e6
		r.In += c.In * n
		r.Out += c.Out * n
		for cmd, calls := range c.Commands {
			r.Calls[cmd] += calls * n
		}
	}
	for p := range ops {
		include(table[p], o.byOp[p])
	}
	// Commits are counted as parts of a transaction, which costs, too.
	include(table[opCommit], o.transactions)
	include(table[opBatched], -o.transactions)
	return r
}

// play runs the real thing and returns what Redis counted in a second.
func (as rehearsal) play(ctx context.Context) (rig.Reading, error) {
	var none rig.Reading
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dir, err := os.MkdirTemp("", "everdesk-simulate-")
	if err != nil {
		return none, fmt.Errorf("make a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	server, url, err := rig.StartRedis(ctx, dir)
	if err != nil {
		return none, err
	}
	defer server.Stop()
	hubs, stop, err := startHubs(ctx, dir, url)
	defer stop()
	if err != nil {
		return none, err
	}
	var crowd sync.WaitGroup
	defer crowd.Wait()
	defer cancel()
	if err := as.populate(ctx, hubs, &crowd); err != nil {
		return none, err
	}
	o, err := redisstore.ParseURL(url)
	if err != nil {
		return none, err
	}
	watch := redis.NewUniversalClient(o)
	defer func() { _ = watch.Close() }()
	if err := pass(ctx, as.settle); err != nil {
		return none, err
	}
	before, err := rig.Read(ctx, watch)
	if err != nil {
		return none, err
	}
	if err := pass(ctx, as.last); err != nil {
		return none, err
	}
	after, err := rig.Read(ctx, watch)
	if err != nil {
		return none, err
	}
	return after.Rate(before), nil
}

// startHubs builds the hub and runs some on the same Redis.
func startHubs(ctx context.Context, dir, url string) (addrs []string, stop func(), err error) {
	var running []*rig.Process
	stop = func() {
		for _, c := range slices.Backward(running) {
			c.Stop()
		}
	}
	program, err := rig.BuildHub(ctx, dir)
	if err != nil {
		return nil, stop, err
	}
	for range realHubs {
		c, addr, err := rig.StartHub(ctx, program, "--addr", "127.0.0.1:0", "--apps-addr", "off",
			"--store", url, "--files-dir", filepath.Join(dir, "files"),
			"--auth", "none", "--rate-limits", "off", "--provider", "demo", "--shutdown-grace", "1s", "--log-level", "error")
		if err != nil {
			return nil, stop, err
		}
		running = append(running, c)
		addrs = append(addrs, strings.TrimSuffix(addr, "/"))
	}
	return addrs, stop, nil
}

// populate creates sessions and connects their tabs, and returns when all are
// connected.
func (as rehearsal) populate(ctx context.Context, hubs []string, crowd *sync.WaitGroup) error {
	door := &http.Client{Timeout: rig.Patience}
	defer door.CloseIdleConnections()
	for i := range as.sessions {
		first := hubs[i%len(hubs)]
		id, err := (rig.Door{URL: first, Client: door}).CreateSession(ctx, "")
		if err != nil {
			return err
		}
		share := float64(i%100) / 100 // so that the parts are exact
		tab, err := follow(ctx, crowd, first, id)
		if err != nil {
			return err
		}
		if share < realSecond {
			if _, err := follow(ctx, crowd, hubs[(i+1)%len(hubs)], id); err != nil {
				return err
			}
		}
		if share >= realSecond-realBusy/2 && share < realSecond+realBusy/2 {
			crowd.Go(func() { publish(ctx, tab) })
		}
	}
	return nil
}

// follow connects a tab.
func follow(ctx context.Context, crowd *sync.WaitGroup, hub string, id wire.SessionID) (*client.Client, error) {
	c, err := client.New(client.Config{URL: hub, Session: id})
	if err != nil {
		return nil, err
	}
	crowd.Go(func() { _ = c.Run(ctx) })
	select {
	case <-c.Ready():
		return c, nil
	case <-time.After(rig.Patience):
		return nil, fmt.Errorf("a tab of %s is not connected in time", id)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// publish shows something again and again.
func publish(ctx context.Context, tab *client.Client) {
	tick := time.NewTicker(time.Second / realRate)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		_, _ = tab.Send(ctx, wire.Emit{Actions: []wire.Action{
			wire.ToastShow{Toast: wire.Toast{ID: "news", Message: strings.Repeat("x", 48)}},
		}})
	}
}
