package chaos_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/wire"
)

const (
	trialClients = 4 // the last one uses a WebSocket
	trialOps     = 3 // per client
	// trialWait bounds a request. It is shorter than a takeover, so that answers are lost.
	trialWait = 1500 * time.Millisecond
	// trialTimeout is how long a client retries until its message is accepted.
	trialTimeout = time.Minute
)

// trial is one session, a few clients, and their operations.
type trial struct {
	ctx     context.Context
	cluster *hubtest.Cluster
	session wire.SessionID
	part    uint64
	began   time.Time
	web     *http.Client

	mu          sync.Mutex // guards the following
	ops         []porcupine.Operation
	known       map[wire.MessageID]string // positions of messages
	lost, again int                       // answers, messages that were kept before
	open        int                       // operations
	err         error
}

func newTrial(t *testing.T, f *hubtest.Cluster, part uint64) *trial {
	t.Helper()
	return &trial{
		ctx: t.Context(), cluster: f, session: f.CreateSession(t), part: part, began: time.Now(), known: map[wire.MessageID]string{},
		web: &http.Client{Timeout: trialWait, Transport: &http.Transport{DisableKeepAlives: true}},
	}
}

// run runs all clients, and then reads everything.
func (s *trial) run() {
	var wg sync.WaitGroup
	for client := range trialClients {
		rng := plan.Rand(s.part<<8 + uint64(client))
		wg.Go(func() {
			submit := s.post
			if client == trialClients-1 {
				tab, end, err := s.attach()
				if err != nil {
					s.fail(err)
					return
				}
				defer end()
				submit = tab
			}
			for i := range trialOps {
				s.doRandom(client, rng, i, submit)
			}
		})
	}
	wg.Wait()
	s.read(trialClients, plan.Rand(s.part<<8+trialClients), true)
}

func (s *trial) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = errors.Join(s.err, err)
}

// submitFunc sends a message to a hub and returns its position.
type submitFunc func(hub *hubtest.Hub, id wire.MessageID) (string, error)

// doRandom does one random operation: it submits a new message, or one that another client may be
// submitting, or reads.
func (s *trial) doRandom(client int, rng *rand.Rand, i int, submit submitFunc) {
	id := wire.MessageID(fmt.Sprintf("m-%d-%d", client, i))
	switch rng.IntN(6) {
	case 0, 1:
		s.read(client, rng, false)
		return
	case 2:
		id = wire.MessageID(fmt.Sprintf("shared-%d", rng.IntN(2)))
	}
	op := porcupine.Operation{ClientId: client, Input: operation{submit: id}, Call: int64(time.Since(s.began)), Output: answer{lost: true}, Return: math.MaxInt64}
	deadline := time.Now().Add(trialTimeout)
	for {
		at, err := submit(s.cluster.Hubs[rng.IntN(len(s.cluster.Hubs))], id)
		if err == nil {
			op.Output, op.Return = answer{at: at}, int64(time.Since(s.began))
			s.recordSubmit(op, id, at)
			return
		}
		if s.recordLostAnswer(client, err) && rng.IntN(2) == 0 {
			s.recordSubmit(op, id, "")
			return
		}
		if time.Now().After(deadline) || s.ctx.Err() != nil {
			s.fail(fmt.Errorf("%s is not stored after %v: %w", id, trialTimeout, err))
			return
		}
		waitFor(s.ctx, time.Duration(rng.IntN(200))*time.Millisecond)
	}
}

// recordLostAnswer records that there was no answer, and reports whether the client may stop: then
// the message may be appended at any time, or never. Mostly the client retries, and all attempts
// are one operation, because a message is appended once: many open operations would have too many
// orders to check.
func (s *trial) recordLostAnswer(client int, err error) (mayLeave bool) {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return false // no hub was reached: nothing can have happened
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost++
	return !slices.ContainsFunc(s.ops, func(op porcupine.Operation) bool { return op.ClientId == client && op.Return == math.MaxInt64 })
}

// recordSubmit records the result of a submit; the position is empty if its client has stopped.
func (s *trial) recordSubmit(op porcupine.Operation, id wire.MessageID, at string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ops = append(s.ops, op)
	if at == "" {
		s.open++
		return
	}
	if s.known[id] != "" {
		s.again++
	}
	s.known[id] = at
}

// post submits with a request.
func (s *trial) post(hub *hubtest.Hub, id wire.MessageID) (string, error) {
	body, err := json.Marshal(map[string]any{"actions": []any{map[string]any{"type": "toast.show", "id": "t", "message": id}}})
	if err != nil {
		return "", err
	}
	var made wire.Emitted
	err = s.call(http.MethodPost, hub.URL+"/api/sessions/"+string(s.session)+"/actions", string(body), id, &made)
	return made.At.String(), err
}

// attach opens a tab that submits over its connections.
func (s *trial) attach() (submit submitFunc, end func(), err error) {
	c, err := client.New(client.Config{
		URL: s.cluster.Balancer.URL(), Session: s.session, Backoff: func(int) time.Duration { return 50 * time.Millisecond },
	})
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(s.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = c.Run(ctx) // until it is cancelled
	}()
	end = func() {
		cancel()
		<-done
	}
	return func(_ *hubtest.Hub, id wire.MessageID) (string, error) {
		toast := wire.ToastShow{Toast: wire.Toast{ID: "t", Message: string(id)}}
		// Long enough for any takeover: the client repeats the message by itself.
		ctx, cancel := context.WithTimeout(ctx, trialTimeout/2)
		defer cancel()
		answer, err := c.Send(ctx, wire.Emit{MessageID: id, Actions: []wire.Action{toast}})
		if err != nil {
			return "", err
		}
		made, ok := answer.Data.(wire.Emitted)
		if !ok {
			return "", fmt.Errorf("got %T, want an answer", answer.Data)
		}
		return made.At.String(), nil
	}, end, nil
}

// read reads what comes after a known message, or everything. A read without an answer is not
// recorded, unless it must succeed.
func (s *trial) read(client int, rng *rand.Rand, must bool) {
	for deadline := time.Now().Add(trialTimeout); ; waitFor(s.ctx, 100*time.Millisecond) {
		hub := s.cluster.Hubs[rng.IntN(len(s.cluster.Hubs))]
		var after wire.MessageID
		if !must && rng.IntN(2) == 0 {
			s.mu.Lock()
			if ids := slices.Sorted(maps.Keys(s.known)); len(ids) > 0 {
				after = ids[rng.IntN(len(ids))]
			}
			s.mu.Unlock()
		}
		err := s.readFrom(client, hub, after)
		switch {
		case err == nil || !must:
			return
		case time.Now().After(deadline) || s.ctx.Err() != nil:
			s.fail(fmt.Errorf("the log cannot be read: %w", err))
			return
		}
	}
}

func (s *trial) readFrom(client int, hub *hubtest.Hub, after wire.MessageID) error {
	s.mu.Lock()
	at := s.known[after]
	s.mu.Unlock()
	call := time.Since(s.began)
	var page struct {
		Events []struct {
			At   string `json:"message_id"`
			Type string `json:"type"`
			Data struct {
				ID wire.MessageID `json:"messageId"`
			} `json:"data"`
		} `json:"events"`
	}
	url := hub.URL + "/api/sessions/" + string(s.session) + "/events?limit=1000&after=" + at
	if err := s.call(http.MethodGet, url, "", "", &page); err != nil {
		return err
	}
	back := time.Since(s.began)
	var out answer
	for _, e := range page.Events {
		if e.Type == "ACTIONS" {
			out.marks = append(out.marks, logEntry{e.Data.ID, e.At})
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ops = append(s.ops, porcupine.Operation{ClientId: client, Input: operation{after: after}, Call: int64(call), Output: out, Return: int64(back)})
	return nil
}

// call makes a request and decodes the answer.
func (s *trial) call(method, url, body string, key wire.MessageID, out any) error {
	req, err := http.NewRequestWithContext(s.ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", string(key))
	}
	answer, err := s.web.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("status %d: %s", answer.StatusCode, b)
	}
	return json.Unmarshal(b, out)
}
