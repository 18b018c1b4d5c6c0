package redisstore_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/redisstore"
	"github.com/everdesk/everdesk/wire"
)

// coolVariable makes the program of the tests a process that moves sessions: the address of Redis
// and the folder of the objects.
const coolVariable = "TEST_COOL_UNTIL_KILLED"

const (
	killedSessions = 3
	killedPrefix   = "killed"
)

func killedConfig(dir string) redisstore.Config {
	cfg := config(killedPrefix)
	cfg.Objects = &folder{dir: dir}
	return cfg
}

// coolUntilKilled opens sessions, writes an event to each, moves them out and opens them again. It
// prints the number of the events of a session that are committed.
func coolUntilKilled(where string) {
	address, dir, _ := strings.Cut(where, " ")
	err := func() error {
		o, err := redisstore.ParseURL(address)
		if err != nil {
			return err
		}
		s, err := redisstore.Open(context.Background(), redis.NewUniversalClient(o), killedConfig(dir))
		if err != nil {
			return err
		}
		failed := make(chan error)
		for n := range killedSessions {
			go func() { failed <- moveForever(s, wire.SessionID(fmt.Sprint("s", n))) }() // until the process is killed
		}
		return <-failed
	}()
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func moveForever(s *redisstore.Store, id wire.SessionID) error {
	ctx := context.Background()
	for {
		l, err := s.Sessions.Claim(ctx, id, "killed", time.Hour)
		if err != nil {
			return err
		}
		page, err := s.Sessions.ReadList(ctx, id, "events", -1, 1)
		if err != nil {
			return err
		}
		frame := fmt.Appendf(nil, "%s event %d", id, page.Total)
		if _, err := s.Sessions.Commit(ctx, l, store.Batch{
			Number: 1, Prev: l.Top(), Events: [][]byte{frame}, Ops: []store.Op{store.Push("events", frame)},
		}); err != nil {
			return err
		}
		fmt.Fprintf(os.Stdout, "%s %d\n", id, page.Total+1)
		if err := s.Sessions.Pack(ctx, l); err != nil {
			return err
		}
		if _, err := s.Cold.Cool(ctx, id, later()); err != nil {
			return err
		}
		for range 3 { // so that it is cold for a part of the time
			if _, err := s.Sessions.Load(ctx, id); err != nil {
				return err
			}
		}
	}
}

// A process that moves sessions in both directions is killed at random moments. No session loses anything, and
// after a sweep each is in exactly one place.
func TestKilledProcessLeavesSessionsInOnePlace(t *testing.T) {
	t.Parallel()
	server, dir := redistest.Standalone(t), t.TempDir()
	client := deploy(t, server.URL()).client
	s := open(t, client, killedConfig(dir))
	authors := map[string]*author{}
	for n := range killedSessions {
		a := newAuthor(t, s, wire.SessionID(fmt.Sprint("s", n)))
		a.lease.Replica = "killed"
		if err := a.claimAs(t.Context(), "killed"); err != nil {
			t.Fatal(err)
		}
		a.mustWrite(t, coldEvents)
		authors[string(a.lease.Session)] = a
	}
	kills, cold, swept := 40, 0, 0
	if testing.Short() {
		kills = 10
	}
	for range kills {
		killCooler(t, server.URL()+" "+dir, authors)
		for id := range authors {
			n, err := s.Sessions.ReadList(t.Context(), wire.SessionID(id), "events", -1, 1)
			if err != nil {
				t.Fatal(err)
			}
			a := authors[id]
			if n.Total < len(a.acked) || n.Total > len(a.acked)+1 {
				t.Fatalf("session %s has %d events, want the %d that were committed and at most one more", id, n.Total, len(a.acked))
			}
			a.extend(n.Total)
			a.verify(t)
		}
		n, err := s.Cold.RemoveUnneeded(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		swept += n
		for id := range authors {
			cold += wantOnePlace(t, client, dir, id)
		}
	}
	t.Logf("%d kills: %d times a session was cold, %d objects were not needed", kills, cold, swept)
}

// claimAs claims the session for another replica, which is the one of the killed processes.
func (a *author) claimAs(ctx context.Context, replica wire.ReplicaID) error {
	if err := a.store.Sessions.Release(ctx, store.Lease{Session: a.lease.Session, Replica: "author", Epoch: a.lease.Epoch}); err != nil {
		return err
	}
	a.lease.Replica = replica
	return a.claim(ctx)
}

// extend adds the events up to a number to those that are committed.
func (a *author) extend(total int) {
	for n := len(a.acked); n < total; n++ {
		a.acked = append(a.acked, fmt.Sprintf("%s event %d", a.lease.Session, n))
	}
}

// killCooler runs a process that moves sessions, kills it at a random moment, and adds what it has committed to
// the authors.
func killCooler(t *testing.T, where string, authors map[string]*author) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), program)
	c.Env, c.Stderr = append(os.Environ(), coolVariable+"="+where), t.Output()
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	// The moment is a number of commits and a part of the time of one more.
	commits, lines := 1+rand.N(2*killedSessions), bufio.NewScanner(out)
	for lines.Scan() {
		var id string
		var n int
		if _, err := fmt.Sscan(lines.Text(), &id, &n); err != nil {
			t.Fatalf("line %q of the process: %v", lines.Text(), err)
		}
		authors[id].extend(n)
		if commits--; commits == 0 {
			<-time.After(rand.N(8 * time.Millisecond))
			if err := c.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.Wait(); commits > 0 {
		t.Fatalf("the process has ended by itself: %v", err)
	}
}

// wantOnePlace checks that a session is either in Redis or in one object, and returns 1 for the latter.
func wantOnePlace(t *testing.T, client redis.UniversalClient, dir, id string) int {
	t.Helper()
	names, err := (&folder{dir: dir}).Names(t.Context(), wire.SessionID(id))
	if err != nil {
		t.Fatal(err)
	}
	k := redisstore.KeysOf(killedPrefix, wire.SessionID(id))
	pack, err := client.Get(t.Context(), k.Base+"pack").Result()
	isPacked := err == nil
	logs, err := client.Exists(t.Context(), k.Log).Result()
	if err != nil {
		t.Fatal(err)
	}
	isReference := isPacked && strings.HasPrefix(pack, "\x03")
	switch {
	case isReference && (logs > 0 || len(names) != 1 || !strings.Contains(pack, names[0])):
		t.Errorf("cold session %s has %d logs in Redis and objects %v, want no log and the object of %q", id, logs, names, pack)
	case !isReference && len(names) > 0:
		t.Errorf("session %s in Redis has objects %v, want none", id, names)
	case isPacked == (logs > 0):
		t.Errorf("session %s: packed is %v and it has %d logs, want one of them", id, isPacked, logs)
	}
	if isReference {
		return 1
	}
	return 0
}
