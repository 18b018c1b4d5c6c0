package chaos_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/wire"
)

// crowdEnv has the [crowdConfig] of a process that runs a crowd instead of tests.
const crowdEnv = "EVERDESK_TEST_CROWD"

// crowdConfig holds the sessions that the tabs of a crowd open.
type crowdConfig struct {
	URL      string           `json:"url"`
	Sessions []wire.SessionID `json:"sessions"` // one for every tab
}

// crowdStatus is the state of a crowd. Times are wall-clock times in nanoseconds, so that those of
// several processes can be compared.
type crowdStatus struct {
	Up int `json:"up"` // connected tabs
	// Since the requested time: when tabs dialled, and when each tab was first connected again, at
	// its position or, fresh, with a snapshot.
	Dials []int64 `json:"dials,omitempty"`
	Back  []int64 `json:"back,omitempty"`
	Fresh []int64 `json:"fresh,omitempty"`
	// Ended are the errors of tabs that have ended.
	Ended []string `json:"ended,omitempty"`
}

// crowd is many tabs with the Go client.
type crowd struct {
	mu    sync.Mutex // guards the following
	dials []int64
	links [][]linkChange // of each tab
	ended []string
}

// linkChange is a change of a tab's connection.
type linkChange struct {
	at      int64
	up      bool
	resumed bool
}

// dialBatch is the number of tabs that connect concurrently at the start.
const dialBatch = 32

// openCrowd opens the tabs and returns when all are connected. They end with the context.
func openCrowd(ctx context.Context, g crowdConfig) (*crowd, error) {
	c := &crowd{links: make([][]linkChange, len(g.Sessions))}
	var d net.Dialer
	web := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c.mu.Lock()
		c.dials = append(c.dials, time.Now().UnixNano())
		c.mu.Unlock()
		return d.DialContext(ctx, network, addr)
	}}}
	dialSlots := make(chan struct{}, dialBatch)
	for i, session := range g.Sessions {
		tab, err := client.New(client.Config{URL: g.URL, Session: session, HTTPClient: web, OnLink: func(_ context.Context, l client.Link) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.links[i] = append(c.links[i], linkChange{at: time.Now().UnixNano(), up: l.State == client.LinkConnected, resumed: l.Resumed})
		}})
		if err != nil {
			return nil, err
		}
		select {
		case dialSlots <- struct{}{}:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		go func() {
			if err := tab.Run(ctx); ctx.Err() == nil {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.ended = append(c.ended, err.Error())
			}
		}()
		go func() {
			select {
			case <-tab.Ready():
			case <-ctx.Done():
			}
			<-dialSlots
		}()
	}
	for range dialBatch {
		select {
		case dialSlots <- struct{}{}:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return c, nil
}

// status returns the state, in detail since a time.
func (c *crowd) status(since int64) crowdStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := crowdStatus{Ended: slices.Clone(c.ended)}
	for _, at := range c.dials {
		if at >= since {
			s.Dials = append(s.Dials, at)
		}
	}
	for _, stages := range c.links {
		if n := len(stages); n > 0 && stages[n-1].up {
			s.Up++
		}
		first := slices.IndexFunc(stages, func(l linkChange) bool { return l.up && l.at >= since })
		switch {
		case first < 0:
		case stages[first].resumed:
			s.Back = append(s.Back, stages[first].at)
		default:
			s.Fresh = append(s.Fresh, stages[first].at)
		}
	}
	return s
}

// runCrowdProcess is the main function of a crowd process: it opens its tabs, and answers every
// time that it reads with the status since then.
func runCrowdProcess(text string) error {
	var g crowdConfig
	if err := json.Unmarshal([]byte(text), &g); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, err := openCrowd(ctx, g)
	if err != nil {
		return err
	}
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for since := int64(math.MaxInt64); ; {
		if err := out.Encode(c.status(since)); err != nil {
			return err
		}
		if err := in.Decode(&since); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// crowdProcess is a crowd in a process of its own.
type crowdProcess struct {
	in  *json.Encoder
	out *json.Decoder
}

// startCrowdProcess starts a process with tabs and returns when all are connected.
func startCrowdProcess(t *testing.T, g crowdConfig) (*crowdProcess, error) {
	t.Helper()
	text, err := json.Marshal(g)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0])
	cmd.Env = append(os.Environ(), crowdEnv+"="+string(text))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	o := &crowdProcess{in: json.NewEncoder(in), out: json.NewDecoder(bufio.NewReader(out))}
	var s crowdStatus
	if err := o.out.Decode(&s); err != nil {
		return nil, fmt.Errorf("start a crowd process: %w", err)
	}
	return o, nil
}

func (o *crowdProcess) status(since int64) (crowdStatus, error) {
	if err := o.in.Encode(since); err != nil {
		return crowdStatus{}, err
	}
	var s crowdStatus
	err := o.out.Decode(&s)
	return s, err
}
