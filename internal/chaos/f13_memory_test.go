package chaos_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/wire"
)

// fullResults are the measurements of full stores.
type fullResults struct {
	refused sample // until a message is refused
	read    sample // until a new tab has the session
	back    sample // until messages are accepted, once there is space
	round   sample
	faults  sample
}

func (c *fullResults) check(t *testing.T) {
	t.Helper()
	requireQuantile(t, "a message is refused", &c.refused, 1, time.Second)
	requireSamples(t, "new tabs open", &c.read)
	requireSamples(t, "messages are taken again", &c.back)
}

func (c *fullResults) figures() []hubtest.Figure {
	return []hubtest.Figure{
		{Name: "messages refused", Value: strconv.Itoa(c.refused.count())},
		{Name: "refused after p99", Value: roundDuration(c.refused.quantile(0.99))},
		{Name: "refused after, most", Value: roundDuration(c.refused.quantile(1)), Wanted: "≤ 1s"},
		{Name: "new tabs meanwhile, opened within", Value: roundDuration(c.read.quantile(1))},
		{Name: "messages accepted again after, most", Value: roundDuration(c.back.quantile(1))},
	}
}

// fullStoreSession is a session whose store is full.
type fullStoreSession struct {
	f   *hubtest.Cluster
	h   *hubtest.History
	out *fullResults
	d   *desktop
	n   int
	// refused is the number of refused messages of the present round.
	refused int
}

// useWhileFull reads the session and sends messages while the store is full: a message that is not
// accepted is refused with a code and the reason, and everything can be read at all hubs.
func (c *fullStoreSession) useWhileFull(t *testing.T) {
	t.Helper()
	for i, hub := range c.f.Hubs {
		for j := range 3 {
			id := fmt.Sprintf("full-%d-%d-%d", c.n, i, j)
			began := time.Now()
			err := c.f.Call(t, http.MethodPost, hub.URL+"/api/sessions/"+string(c.d.id)+"/messages",
				fmt.Sprintf(`{"messageId":%q,"content":"/nosteer\n/say never mind"}`, id), nil)
			if err == nil {
				// Other work of the store frees and uses the last bytes. A message that was not
				// refused must not be lost.
				c.h.Add(hubtest.Entry{Kind: hubtest.KindAck, Source: hub.Name, Session: c.d.id, Message: wire.MessageID(id)})
				continue
			}
			status, ok := errors.AsType[*hubtest.StatusError](err)
			if ok && status.Status == http.StatusGatewayTimeout {
				// The store had space for the forwarded message, and then none for the owner's commit.
				// It is executed later.
				continue
			}
			if !ok || status.Status != http.StatusServiceUnavailable || !strings.Contains(status.Body, strconv.Itoa(int(wire.CodeStoreUnavailable))) ||
				!strings.Contains(status.Body, "store is full") {
				t.Errorf("a message to hub %s is answered with %v, want %d with its code and that the store is full", hub.Name, err, http.StatusServiceUnavailable)
			}
			c.out.refused.add(time.Since(began))
			c.refused++
		}
		if _, _, err := c.f.ReadSnapshot(t, hub.URL, c.d.id); err != nil {
			t.Errorf("snapshot from hub %s: %v", hub.Name, err)
		}
		if log, err := c.f.ReadLog(t, hub.URL, c.d.id); err != nil || len(log) == 0 {
			t.Errorf("log from hub %s: got %d events, error %v, want all events", hub.Name, len(log), err)
		}
		began := time.Now()
		tab := c.h.OpenTab(t, hubtest.TabConfig{Name: fmt.Sprintf("late-%d-%d", c.n, i), URL: hub.URL, Session: c.d.id})
		c.out.read.add(time.Since(began))
		tab.Close()
	}
}

// sendUntilAccepted sends messages until one is accepted.
func (c *fullStoreSession) sendUntilAccepted(t *testing.T, since time.Duration) {
	t.Helper()
	for i, tab := range c.d.tabs {
		if err := tab.Send(t.Context(), wire.MessageID(fmt.Sprintf("again-%d-%d", c.n, i)), "/nosteer\n/say well", "well"); err != nil {
			t.Errorf("memory is free again and a message of tab %s fails: %v", tab.Name, err)
		}
	}
	c.out.back.add(c.h.Since() - since)
	if c.refused == 0 {
		t.Errorf("no message was refused in round %d: the memory was not full", c.n)
	}
	c.out.round.add(0)
}

// startTurn starts a turn that runs when the store becomes full.
func (c *fullStoreSession) startTurn(t *testing.T) {
	t.Helper()
	c.n++
	c.refused = 0
	id := wire.MessageID(fmt.Sprintf("running-%d", c.n))
	const length = 40
	if err := c.d.tabs[0].Send(t.Context(), id, fmt.Sprintf("/nosteer\n/stream %d 15", length), streamWords(length)); err != nil {
		t.Fatal(err)
	}
	if err := c.d.tabs[0].AwaitPieces(t.Context(), id, 2); err != nil {
		t.Fatal(err)
	}
}

// F13: another client fills the memory of Redis. Messages are refused with an error that says that
// the store is full, as does /readyz, all sessions can be read, turns wait, and everything
// continues when there is memory again.
func TestF13Memory(t *testing.T) {
	t.Parallel()
	began := time.Now()
	var out fullResults
	runShards(t, 1, func(t *testing.T, _ uint64) {
		t.Helper()
		server := redistest.Standalone(t, "--maxmemory", "50mb", "--maxmemory-policy", "noeviction")
		f := hubtest.Start(t, hubtest.Options{Program: program, Hubs: 2, Store: server.URL(), Args: []string{"--lease", "3s"}})
		h := plan.NewHistory(t, "f13")
		c := &fullStoreSession{f: f, h: h, out: &out}
		c.d = newDesktop(t, f, h, "f13", 2, func(tab int) string { return f.Hubs[tab].URL })
		closed := f.CreateSession(t)
		client := server.Client(t)
		for range plan.Rounds(1, 30) {
			c.startTurn(t)
			fillMemory(t, client)
			h.AddFault("the memory is full")
			c.useWhileFull(t)
			for _, hub := range f.Hubs {
				if status, err := c.readyWhenFull(t, client, hub); err != nil || status != "full" {
					t.Errorf("/readyz of hub %s answers %q, %v, want full", hub.Name, status, err)
				}
				if _, _, err := f.ReadSnapshot(t, hub.URL, closed); err != nil {
					t.Errorf("snapshot from hub %s of a session that it has not loaded: %v", hub.Name, err)
				}
			}
			if err := client.Del(t.Context(), client.Keys(t.Context(), "foreign:*").Val()...).Err(); err != nil {
				t.Fatal(err)
			}
			c.sendUntilAccepted(t, h.AddFault("there is memory"))
		}
		out.faults.addViolations(f.Finish(t, h, c.d.tabs, hubtest.Rules{}))
	}, func() {
		out.check(t)
		plan.Add(t, hubtest.Result{
			Fault: "F13", What: "Redis has no memory left", Rounds: out.round.count(), Violations: out.faults.violations,
			Figures: out.figures(), Seconds: time.Since(began).Seconds(),
		})
	})
}

// readyWhenFull asks a hub whether it is ready right after the memory was filled. Expiring keys
// free some memory in between, so it repeats that until the hub finds the store full.
func (c *fullStoreSession) readyWhenFull(t *testing.T, client *redis.Client, hub *hubtest.Hub) (status string, err error) {
	t.Helper()
	for range 100 {
		fillMemory(t, client)
		var ready struct{ Status string }
		err = c.f.Call(t, http.MethodGet, hub.URL+"/readyz", "", &ready)
		if status = ready.Status; err != nil || status == "full" {
			break
		}
	}
	return status, err
}

// fillMemory adds keys until Redis refuses more.
func fillMemory(t *testing.T, client *redis.Client) {
	t.Helper()
	for size := 1 << 20; size >= 16; size /= 4 {
		for {
			err := client.Set(t.Context(), "foreign:"+rand.Text(), strings.Repeat("x", size), 0).Err()
			if err != nil && strings.HasPrefix(err.Error(), "OOM") {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}
