//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/everdesk/everdesk/bench/rig"
	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/wire"
)

// tokenInterval is the time between two tokens of the model: 50 per second, as fast models are.
const tokenInterval = 20 * time.Millisecond

// tokenModel is a model on loopback that speaks the chat dialect of OpenAI. Its tokens are the times
// at which it sent them, in nanoseconds, so that a tab can tell how old a token is.
type tokenModel struct {
	server  *http.Server
	addr    string
	answers time.Duration // how long an answer lasts
}

// startTokenModel serves a model until stop is called.
func startTokenModel(ctx context.Context, answers time.Duration) (m *tokenModel, stop func(), err error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, fmt.Errorf("serve a model: %w", err)
	}
	m = &tokenModel{addr: ln.Addr().String(), answers: answers}
	m.server = &http.Server{Handler: http.HandlerFunc(m.answer), ReadHeaderTimeout: rig.ReplyTimeout}
	var wg sync.WaitGroup
	wg.Go(func() { _ = m.server.Serve(ln) })
	return m, func() {
		_ = m.server.Close()
		wg.Wait()
	}, nil
}

// hubArgs are the flags of a hub whose agents use the model.
func (m *tokenModel) hubArgs() []string {
	return []string{
		"--provider", "openai", "--openai-url", "http://" + m.addr + "/v1", "--openai-key", "none",
		"--openai-dialect", "chat", "--openai-model", "tokens", "--max-agents", "1000",
	}
}

// answer streams tokens.
func (m *tokenModel) answer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	tick := time.NewTicker(tokenInterval)
	defer tick.Stop()
	for began := time.Now(); time.Since(began) < m.answers; {
		fmt.Fprintf(w, `data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"%d "}}]}`+"\n\n", time.Now().UnixNano())
		if out.Flush() != nil {
			return
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
	fmt.Fprint(w, `data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
}

// agentText lets one agent per session answer, and measures the age of its tokens at a tab.
func agentText(ctx context.Context, c *clients, o options, r *result) error {
	ctx, cancel := context.WithTimeout(ctx, o.duration+2*rig.ReplyTimeout)
	defer cancel()
	readers := make([]*textReader, len(c.sessions))
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	for i, s := range c.sessions {
		readers[i] = &textReader{ended: make(chan error, 1)}
		connect := readers[i].connect
		if c.target.isCentrifuge {
			connect = readers[i].connectCentrifuge
		}
		if err := connect(ctx, c.target, s.id, &running); err != nil {
			return fmt.Errorf("connect a tab: %w", err)
		}
	}
	from, err := c.target.measure()
	if err != nil {
		return err
	}
	for _, t := range readers {
		if err := t.start(ctx); err != nil {
			return fmt.Errorf("send a message: %w", err)
		}
	}
	var delays histogram
	for _, t := range readers {
		select {
		case err := <-t.ended:
			if err != nil {
				return err
			}
			delays.merge(&t.delays)
		case <-ctx.Done():
			return fmt.Errorf("%w: an answer did not end", errStuck)
		}
	}
	to, err := c.target.measure()
	if err != nil {
		return err
	}
	if r.Deliveries = delays.total; r.Deliveries == 0 {
		return fmt.Errorf("%w: no tokens", errStuck)
	}
	r.setCPU(from, to)
	r.P50, r.P99 = milliseconds(delays.quantile(0.5)), milliseconds(delays.quantile(0.99))
	return nil
}

// textReader is a tab that reads the tokens of one answer.
type textReader struct {
	start  func(context.Context) error // lets the agent answer
	rest   string                      // of the text, a part of a token
	delays histogram
	ended  chan error // buffered
}

// connect opens a tab of the hub, which ends with ctx.
func (t *textReader) connect(ctx context.Context, hub target, session string, running *sync.WaitGroup) error {
	tab, err := client.New(client.Config{URL: "http://" + hub.addrs[0], Session: wire.SessionID(session), OnEvent: t.onEvent})
	if err != nil {
		return err
	}
	running.Go(func() { _ = tab.Run(ctx) })
	t.start = func(ctx context.Context) error {
		_, err := tab.Send(ctx, wire.UserMessage{Content: "go"})
		return err
	}
	return nil
}

// onEvent records the age of the tokens in an event.
func (t *textReader) onEvent(_ context.Context, e client.Event) {
	p, ok := e.Data.(wire.AgentResponse)
	if !ok {
		return
	}
	t.addText(p.Delta)
	if p.IsComplete {
		if p.Outcome != wire.OutcomeCompleted {
			t.end(errors.New("an answer failed: " + p.Reason))
			return
		}
		t.end(nil)
	}
}

// addText records the age of the tokens in a piece of the text.
func (t *textReader) addText(piece string) {
	now := time.Now()
	tokens := strings.SplitAfter(t.rest+piece, " ")
	for _, token := range tokens[:len(tokens)-1] {
		sent, err := strconv.ParseInt(strings.TrimSpace(token), 10, 64)
		if err != nil {
			t.end(fmt.Errorf("the text has an unknown token: %w", err))
			return
		}
		t.delays.add(now.Sub(time.Unix(0, sent)))
	}
	t.rest = tokens[len(tokens)-1]
}

// end reports the end of the answer once.
func (t *textReader) end(err error) {
	select {
	case t.ended <- err:
	default:
	}
}
