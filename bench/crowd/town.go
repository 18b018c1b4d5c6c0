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

// How many live how.
const (
	people = 20
	// stalled sessions have an agent whose model says nothing.
	stalled = 3
	// roomForTalk is how many agents may run beside those that wait.
	roomForTalk = 100
	// askAgain is when a question that nobody answered is asked again; the hub
	// gives up after five minutes.
	askAgain = 5*time.Minute + 10*time.Second
	// failAgain is how often the unlucky fail.
	failAgain = time.Minute
	shortStay = 5 * time.Second
	longStay  = 45 * time.Second
)

// waiting is how many of n sessions wait for an answer, failing how many fail.
func waiting(n int) int { return min(40, max(2, n/100)) }

func failing(n int) int { return min(20, max(2, n/200)) }

// agents is how many may run at once.
func agents(n int) int { return waiting(n) + stalled + roomForTalk }

// desk is a session. Those first in the list wait, those after them fail, and
// those after them are stalled.
type desk struct {
	id    wire.SessionID
	owner int // one of the people
}

// town is everybody.
type town struct {
	stage  *stage
	people []string // their tokens
	desks  []desk
	rate   float64
	tabs   int

	mu   sync.Mutex // guards the following
	here map[*client.Client]struct{}

	said, refused atomic.Int64
}

func nameOf(person int) string { return fmt.Sprintf("person-%02d", person+1) }

// newTown makes people and their sessions, and loads each of them.
func newTown(ctx context.Context, s *stage, o options, stdout io.Writer) (*town, error) {
	t := &town{
		stage: s, rate: o.rate, tabs: o.tabs, people: make([]string, people), desks: make([]desk, o.sessions),
		here: map[*client.Client]struct{}{},
	}
	for i := range t.people {
		var made struct {
			Key string `json:"key"`
		}
		if err := s.door(0, s.token).Ask(ctx, http.MethodPost, "/api/tokens/keys", map[string]string{"user": nameOf(i)}, &made); err != nil {
			return nil, fmt.Errorf("make a key: %w", err)
		}
		t.people[i] = made.Key
	}
	begin := time.Now()
	err := each(ctx, o.sessions, func(i int) error {
		who := i % people
		door := s.door(i%len(s.hubs), t.people[who])
		id, err := door.CreateSession(ctx, "Desk "+strconv.Itoa(i+1))
		if err != nil {
			return err
		}
		t.desks[i] = desk{id, who}
		// A badge loads it, which making it does not.
		badge := map[string]any{"actions": []any{map[string]any{"type": "app.badge", "appId": "mail", "count": i%9 + 1}}}
		return door.Ask(ctx, http.MethodPost, "/api/sessions/"+string(id)+"/actions", badge, nil)
	})
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(stdout, "%d hubs, %d sessions of %d people, made in %.1fs\n", len(s.hubs), o.sessions, people, time.Since(begin).Seconds())
	return t, nil
}

// The parts of the list of desks.
func (t *town) askers() []desk { return t.desks[:waiting(len(t.desks))] }

func (t *town) unlucky() []desk {
	from := waiting(len(t.desks))
	return t.desks[from : from+failing(len(t.desks))]
}

func (t *town) silent() []desk {
	from := waiting(len(t.desks)) + failing(len(t.desks))
	return t.desks[from : from+stalled]
}

// lively are those that people use.
func (t *town) lively() []desk {
	return t.desks[waiting(len(t.desks))+failing(len(t.desks))+stalled:]
}

// live lets everybody do what they do until ctx ends.
func (t *town) live(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { t.again(ctx, t.askers(), "/nosteer\n/ask Which colour shall it be? | red | blue", askAgain) })
	wg.Go(func() { t.again(ctx, t.unlucky(), "/fail invalid: the model has a bad day", failAgain) })
	wg.Go(func() { t.again(ctx, t.silent(), "/nosteer\n/say Let me think.\n/hang", 24*time.Hour) })
	for range t.tabs {
		wg.Go(func() {
			if pause(ctx, rand.N(longStay/4)) != nil { //nolint:gosec // a simulation
				return
			}
			for ctx.Err() == nil {
				t.visit(ctx)
			}
		})
	}
	t.talk(ctx)
}

// again says the same in some sessions, over and over.
func (t *town) again(ctx context.Context, desks []desk, text string, every time.Duration) {
	for {
		_ = each(ctx, len(desks), func(i int) error {
			hubs := t.stage.alive()
			door := rig.Door{URL: hubs[i%len(hubs)].url, Token: t.people[desks[i].owner], Client: t.stage.client}
			err := door.Ask(ctx, http.MethodPost, "/api/sessions/"+string(desks[i].id)+"/messages", map[string]string{"content": text}, nil)
			t.count(ctx, err)
			return nil // the next time, perhaps
		})
		if pause(ctx, every) != nil {
			return
		}
	}
}

// count counts a message that was said.
func (t *town) count(ctx context.Context, err error) {
	switch {
	case err == nil:
		t.said.Add(1)
	case ctx.Err() == nil:
		t.refused.Add(1)
	}
}

// visit is a tab, from its opening to its end.
func (t *town) visit(ctx context.Context) {
	all := t.lively()
	d := all[rand.N(len(all))] //nolint:gosec // a simulation
	hubs := t.stage.alive()
	at := hubs[rand.N(len(hubs))]                                                  //nolint:gosec // a simulation
	stay, cancel := context.WithTimeout(ctx, shortStay+rand.N(longStay-shortStay)) //nolint:gosec // a simulation
	defer cancel()
	c, err := client.New(client.Config{URL: at.url, Session: d.id, Token: t.people[d.owner]})
	if err != nil {
		t.refused.Add(1)
		return
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { _ = c.Run(stay) })
	select {
	case <-c.Ready():
	case <-stay.Done():
		return
	}
	t.mu.Lock()
	t.here[c] = struct{}{}
	t.mu.Unlock()
	<-stay.Done()
	t.mu.Lock()
	delete(t.here, c)
	t.mu.Unlock()
}

// open is how many tabs are.
func (t *town) open() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.here)
}

// anybody is one of those who are here, or nil.
func (t *town) anybody() *client.Client {
	t.mu.Lock()
	defer t.mu.Unlock()
	for c := range t.here { // in no order
		return c
	}
	return nil
}

// talk has people say things, a bounded number of times a second.
func (t *town) talk(ctx context.Context) {
	if t.rate == 0 {
		return
	}
	texts := []string{"/stream 30 20", "/say Good morning.", "/window notes Notes | # Today\\nnothing yet", "/stream 60 30"}
	tick := time.NewTicker(time.Duration(float64(time.Second) / t.rate))
	defer tick.Stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	room := make(chan struct{}, roomForTalk)
	for n := 0; ; n++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		c := t.anybody()
		if c == nil {
			continue
		}
		select {
		case room <- struct{}{}:
		default:
			continue // enough wait for an answer
		}
		wg.Go(func() {
			defer func() { <-room }()
			limited, cancel := context.WithTimeout(ctx, 10*time.Second)
			defer cancel()
			_, err := c.Send(limited, wire.UserMessage{Content: texts[n%len(texts)]})
			t.count(ctx, err)
		})
	}
}
