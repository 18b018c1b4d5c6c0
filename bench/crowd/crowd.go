//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everdesk/everdesk/bench/rig"
	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/wire"
)

// The numbers of users and sessions of each kind, and their intervals.
const (
	userCount = 20
	// stalledCount is the number of sessions with an agent whose model has no output.
	stalledCount = 3
	// maxSending bounds the messages of tabs that wait for an answer.
	maxSending = 100
	// askEvery is the interval of questions; the hub ends an unanswered one after five minutes.
	askEvery = 5*time.Minute + 10*time.Second
	// failEvery is the interval of failing turns.
	failEvery  = time.Minute
	minTabLife = 5 * time.Second
	maxTabLife = 45 * time.Second
)

// waitingCount returns how many of n sessions have an open question.
func waitingCount(n int) int { return min(40, max(2, n/100)) }

// failingCount returns how many of n sessions have failing turns.
func failingCount(n int) int { return min(20, max(2, n/200)) }

// maxAgents returns the agent limit of the hubs for n sessions.
func maxAgents(n int) int { return waitingCount(n) + stalledCount + maxSending }

// simSession is a session of the crowd. In the list, the sessions with a question come first, then
// the failing ones, then the stalled ones, then the active ones.
type simSession struct {
	id   wire.SessionID
	user int // index of its user
}

// crowd is the users with their sessions and tabs.
type crowd struct {
	env      *environment
	userKeys []string // API keys by user
	sessions []simSession
	rate     float64
	tabs     int

	mu       sync.Mutex // guards the following
	openTabs map[*client.Client]struct{}

	accepted, refused atomic.Int64
}

func userName(user int) string { return fmt.Sprintf("user-%02d", user+1) }

// newCrowd creates users and their sessions, and loads each session.
func newCrowd(ctx context.Context, e *environment, o options, stdout io.Writer) (*crowd, error) {
	cr := &crowd{
		env: e, rate: o.rate, tabs: o.tabs, userKeys: make([]string, userCount), sessions: make([]simSession, o.sessions),
		openTabs: map[*client.Client]struct{}{},
	}
	for i := range cr.userKeys {
		var created struct {
			Key string `json:"key"`
		}
		if err := e.api(0, e.token).Do(ctx, http.MethodPost, "/api/tokens/keys", map[string]string{"user": userName(i)}, &created); err != nil {
			return nil, fmt.Errorf("create a key: %w", err)
		}
		cr.userKeys[i] = created.Key
	}
	fmt.Fprintf(stdout, "creating %d sessions\n", o.sessions)
	begin := time.Now()
	err := forEach(ctx, o.sessions, func(i int) error {
		user := i % userCount
		api := e.api(i%len(e.hubs), cr.userKeys[user])
		id, err := api.CreateSession(ctx, "Session "+strconv.Itoa(i+1))
		if err != nil {
			return err
		}
		cr.sessions[i] = simSession{id, user}
		// An action loads the session; creating a session does not load it.
		badge := map[string]any{"actions": []any{map[string]any{"type": "app.badge", "appId": "mail", "count": i%9 + 1}}}
		return api.Do(ctx, http.MethodPost, "/api/sessions/"+string(id)+"/actions", badge, nil)
	})
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(stdout, "%d hubs, %d sessions of %d users, created in %.1fs\n", len(e.hubs), o.sessions, userCount, time.Since(begin).Seconds())
	return cr, nil
}

// waitingSessions returns the sessions with a question.
func (cr *crowd) waitingSessions() []simSession { return cr.sessions[:waitingCount(len(cr.sessions))] }

func (cr *crowd) failingSessions() []simSession {
	from := waitingCount(len(cr.sessions))
	return cr.sessions[from : from+failingCount(len(cr.sessions))]
}

func (cr *crowd) stalledSessions() []simSession {
	from := waitingCount(len(cr.sessions)) + failingCount(len(cr.sessions))
	return cr.sessions[from : from+stalledCount]
}

// activeSessions returns the sessions that have tabs.
func (cr *crowd) activeSessions() []simSession {
	return cr.sessions[waitingCount(len(cr.sessions))+failingCount(len(cr.sessions))+stalledCount:]
}

// run opens tabs and sends messages until ctx ends.
func (cr *crowd) run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		cr.sendRepeatedly(ctx, cr.waitingSessions(), "/nosteer\n/ask Which colour shall it be? | red | blue", askEvery)
	})
	wg.Go(func() {
		cr.sendRepeatedly(ctx, cr.failingSessions(), "/fail invalid: the model refuses the request", failEvery)
	})
	wg.Go(func() {
		cr.sendRepeatedly(ctx, cr.stalledSessions(), "/nosteer\n/say Let me think.\n/hang", 24*time.Hour)
	})
	for range cr.tabs {
		wg.Go(func() {
			if pause(ctx, rand.N(maxTabLife/4)) != nil { //nolint:gosec // a simulation
				return
			}
			for ctx.Err() == nil {
				cr.runTab(ctx)
			}
		})
	}
	cr.sendMessages(ctx)
}

// sendRepeatedly sends a message to each of the sessions, once per interval.
func (cr *crowd) sendRepeatedly(ctx context.Context, sessions []simSession, text string, every time.Duration) {
	for {
		_ = forEach(ctx, len(sessions), func(i int) error {
			hubs := cr.env.usableHubs()
			api := rig.APIClient{URL: hubs[i%len(hubs)].url, Token: cr.userKeys[sessions[i].user], Client: cr.env.client}
			err := api.Do(ctx, http.MethodPost, "/api/sessions/"+string(sessions[i].id)+"/messages", map[string]string{"content": text}, nil)
			cr.countMessage(ctx, err)
			return nil // a refused message is counted and not retried
		})
		if pause(ctx, every) != nil {
			return
		}
	}
}

// countMessage counts a message as accepted or refused.
func (cr *crowd) countMessage(ctx context.Context, err error) {
	switch {
	case err == nil:
		cr.accepted.Add(1)
	case ctx.Err() == nil:
		cr.refused.Add(1)
	}
}

// runTab opens a tab of a random session at a random hub and closes it after a random time.
func (cr *crowd) runTab(ctx context.Context) {
	all := cr.activeSessions()
	d := all[rand.N(len(all))] //nolint:gosec // a simulation
	hubs := cr.env.usableHubs()
	at := hubs[rand.N(len(hubs))]                                                        //nolint:gosec // a simulation
	tabCtx, cancel := context.WithTimeout(ctx, minTabLife+rand.N(maxTabLife-minTabLife)) //nolint:gosec // a simulation
	defer cancel()
	c, err := client.New(client.Config{URL: at.url, Session: d.id, Token: cr.userKeys[d.user]})
	if err != nil {
		cr.refused.Add(1)
		return
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { _ = c.Run(tabCtx) })
	select {
	case <-c.Ready():
	case <-tabCtx.Done():
		return
	}
	cr.mu.Lock()
	cr.openTabs[c] = struct{}{}
	cr.mu.Unlock()
	<-tabCtx.Done()
	cr.mu.Lock()
	delete(cr.openTabs, c)
	cr.mu.Unlock()
}

// tabCount returns the number of open tabs.
func (cr *crowd) tabCount() int {
	cr.mu.Lock()
	defer cr.mu.Unlock()
	return len(cr.openTabs)
}

// anyTab returns an open tab, or nil.
func (cr *crowd) anyTab() *client.Client {
	cr.mu.Lock()
	defer cr.mu.Unlock()
	for c := range cr.openTabs { // in random order
		return c
	}
	return nil
}

// sendMessages sends messages from random tabs, rate per second, until ctx ends.
func (cr *crowd) sendMessages(ctx context.Context) {
	if cr.rate == 0 {
		return
	}
	texts := []string{"/stream 30 20", "/say Good morning.", "/window notes Notes | # Today\\nnothing yet", "/stream 60 30"}
	tick := time.NewTicker(time.Duration(float64(time.Second) / cr.rate))
	defer tick.Stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	slots := make(chan struct{}, maxSending)
	for n := 0; ; n++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		c := cr.anyTab()
		if c == nil {
			continue
		}
		select {
		case slots <- struct{}{}:
		default:
			continue // all slots wait for an answer
		}
		wg.Go(func() {
			defer func() { <-slots }()
			limited, cancel := context.WithTimeout(ctx, 10*time.Second)
			defer cancel()
			_, err := c.Send(limited, wire.UserMessage{Content: texts[n%len(texts)]})
			cr.countMessage(ctx, err)
		})
	}
}
