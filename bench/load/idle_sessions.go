//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/bench/rig"
)

// idleSessions opens a tab to each session, at the replicas in turn, and measures what
// they cost while nothing happens: commands of Redis, the part of a core per replica, and memory of
// the replicas per session with its tab.
func idleSessions(ctx context.Context, c *clients, o options, r *result) error {
	before, err := c.target.resident()
	if err != nil {
		return err
	}
	tabs := c.allTabs()
	if err := c.connect(ctx, tabs, maxConnecting); err != nil {
		return err
	}
	if err := c.hold(ctx, o.hold/4); err != nil { // snapshots and presence of the connects
		return err
	}
	err = c.target.measureIdle(ctx, r, func() error { return c.hold(ctx, o.hold) })
	if err != nil {
		return err
	}
	after, err := c.target.resident()
	r.Memory = float64(after-before) / float64(len(tabs))
	return err
}

// resident returns the resident memory of all replicas in KiB.
func (t target) resident() (sum int64, err error) {
	for _, pid := range t.pids {
		n, err := rig.Resident(pid)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// measureIdle measures the commands of Redis per second and the part of a core per replica meanwhile.
func (t target) measureIdle(ctx context.Context, r *result, wait func() error) error {
	client, err := t.redisClient()
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	begin, err := t.measure()
	if err != nil {
		return err
	}
	stats, err := rig.ReadRedisStats(ctx, client)
	if err != nil {
		return err
	}
	if err := wait(); err != nil {
		return err
	}
	now, err := rig.ReadRedisStats(ctx, client)
	if err != nil {
		return err
	}
	for _, n := range now.Rate(stats).Calls {
		r.RedisCalls += n
	}
	end, err := t.measure()
	r.Seconds = end.at.Sub(begin.at).Seconds()
	r.Cores = (end.cpu - begin.cpu).Seconds() / r.Seconds / float64(len(t.pids))
	return err
}

func (t target) redisClient() (*redis.Client, error) {
	options, err := redis.ParseURL(t.redisURL)
	if err != nil {
		return nil, fmt.Errorf("connect to Redis: %w", err)
	}
	return redis.NewClient(options), nil
}

// dormantSessions lets an agent open a window in each session, waits until all sessions are dormant
// (later than the replicas know that all of them read packs), and measures their keys and bytes in Redis and the commands that Redis executes meanwhile.
func dormantSessions(ctx context.Context, c *clients, o options, r *result) error {
	client, err := c.target.redisClient()
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	web := &http.Client{Timeout: rig.ReplyTimeout}
	defer web.CloseIdleConnections()
	api := rig.APIClient{URL: "http://" + c.target.addrs[0], Client: web}
	for _, s := range c.sessions {
		message := map[string]string{"content": "/window w1 Notes | # Notes from the meeting on the next release\n/say The notes are in the window."}
		if err := api.Do(ctx, http.MethodPost, "/api/sessions/"+s.id+"/messages", message, nil); err != nil {
			return err
		}
	}
	if err := awaitDormant(ctx, api); err != nil {
		return err
	}
	if err := c.target.measureIdle(ctx, r, func() error { return pause(ctx, o.hold) }); err != nil {
		return err
	}
	keys, bytes, err := sessionKeys(ctx, client)
	r.RedisKeys, r.RedisBytes = float64(keys)/float64(len(c.sessions)), float64(bytes)/float64(len(c.sessions))
	return err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// awaitDormant waits until no replica owns a session.
func awaitDormant(ctx context.Context, api rig.APIClient) error {
	for range 120 {
		var list struct {
			Sessions []struct {
				Owner   string `json:"owner"`
				Working bool   `json:"working"`
			} `json:"sessions"`
			Next string `json:"next"`
		}
		owned := 0
		for path := "/api/sessions"; path != ""; {
			list.Next, list.Sessions = "", nil
			if err := api.Do(ctx, http.MethodGet, path, nil, &list); err != nil {
				return err
			}
			for _, s := range list.Sessions {
				if s.Owner != "" || s.Working {
					owned++
				}
			}
			if path = ""; list.Next != "" {
				path = "/api/sessions?after=" + list.Next
			}
		}
		if owned == 0 {
			return nil
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
	return errors.New("sessions do not become dormant")
}

// sessionKeys counts the keys of sessions and their bytes.
func sessionKeys(ctx context.Context, client *redis.Client) (keys int, bytes int64, err error) {
	scan := client.Scan(ctx, 0, "*}:s:*", 1000).Iterator()
	for scan.Next(ctx) {
		n, err := client.MemoryUsage(ctx, scan.Val(), 0).Result()
		if err != nil {
			return 0, 0, fmt.Errorf("read the size of %s: %w", strconv.Quote(strings.ToValidUTF8(scan.Val(), "?")), err)
		}
		keys++
		bytes += n
	}
	return keys, bytes, scan.Err()
}
