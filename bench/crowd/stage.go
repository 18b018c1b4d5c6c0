//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
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

// stage is what the crowd lives on.
type stage struct {
	hubs   []hub
	token  string // of the installation, who may do everything
	redis  *rig.Process
	meter  redis.UniversalClient
	client *http.Client
	// goesOn says that it is only looked at, so that one may end a hub to see what
	// happens.
	goesOn bool
}

// hub is one of the hubs.
type hub struct {
	name wire.ReplicaID
	url  string
	*rig.Process
}

// newStage starts a Redis and the hubs. stop is there also when it fails.
func newStage(ctx context.Context, o options, dir string) (s *stage, stop func(), err error) {
	s = &stage{client: &http.Client{Timeout: rig.Patience, Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	stop = func() {
		s.client.CloseIdleConnections()
		for _, h := range slices.Backward(s.hubs) {
			h.Stop()
		}
		if s.meter != nil {
			_ = s.meter.Close()
		}
		if s.redis != nil {
			s.redis.Stop()
		}
	}
	program := o.hub
	if program == "" {
		if program, err = rig.BuildHub(ctx, dir); err != nil {
			return s, stop, err
		}
	}
	p, store, err := rig.StartRedis(ctx, dir)
	if err != nil {
		return s, stop, err
	}
	s.redis = p
	parsed, err := redis.ParseURL(store)
	if err != nil {
		return s, stop, err
	}
	s.meter = redis.NewClient(parsed)
	for i := range o.hubs {
		name := "hub-" + strconv.Itoa(i+1)
		p, printed, err := rig.StartHub(ctx, program, "--replica-id", name, "--addr", "127.0.0.1:0", "--apps-addr", "off",
			"--store", store, "--files-dir", filepath.Join(dir, "files"), "--provider", "demo", "--rate-limits", "off",
			"--max-agents", strconv.Itoa(agents(o.sessions)), "--dormant-after", "24h", "--shutdown-grace", "1s", "--log-level", "error")
		if err != nil {
			return s, stop, err
		}
		u, err := url.Parse(strings.TrimSpace(printed))
		if err != nil {
			p.Stop()
			return s, stop, fmt.Errorf("read the address of a hub: %w", err)
		}
		s.hubs = append(s.hubs, hub{wire.ReplicaID(name), "http://" + u.Host, p})
		s.token = u.Query().Get("token")
	}
	return s, stop, nil
}

// living are the hubs that have not ended.
func (s *stage) living() []hub {
	return slices.DeleteFunc(slices.Clone(s.hubs), func(h hub) bool {
		select {
		case <-h.Gone():
			return true
		default:
			return false
		}
	})
}

// alive are the same, or all when none is left, which is the end.
func (s *stage) alive() []hub {
	if some := s.living(); len(some) > 0 {
		return some
	}
	return s.hubs
}

// guard gives up when one of the processes ends before it is told to: what is left
// is nothing to measure, and nobody would be told why. A crowd that is only looked at
// goes on while there is a hub.
func (s *stage) guard(ctx context.Context, wg *sync.WaitGroup, giveUp context.CancelCauseFunc) {
	await := func(name string, p *rig.Process) {
		wg.Go(func() {
			select {
			case <-p.Gone():
				if p == s.redis || !s.goesOn || len(s.living()) == 0 {
					giveUp(fmt.Errorf("%s has ended by itself\n%s", name, p.Said()))
				}
			case <-ctx.Done():
			}
		})
	}
	await("Redis", s.redis)
	for _, h := range s.hubs {
		await(string(h.name), h.Process)
	}
}

// usage is what hubs and Redis have used so far.
type usage struct {
	hubs     time.Duration
	resident int64 // KiB
	redis    rig.Reading
}

func (s *stage) measure(ctx context.Context) (u usage, err error) {
	for _, h := range s.alive() {
		cpu, err := rig.CPU(h.PID())
		kib, err2 := rig.Resident(h.PID())
		switch err = errors.Join(err, err2); {
		case err != nil && s.goesOn:
			continue // it ends in this moment
		case err != nil:
			return u, err
		}
		u.hubs += cpu
		u.resident += kib
	}
	u.redis, err = rig.Read(ctx, s.meter)
	return u, err
}

// rates are what hubs and Redis use in a second.
type rates struct {
	hubs, redis float64 // parts of a core
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
