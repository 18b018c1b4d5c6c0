package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Ensemble is a master with replicas, watched by three Sentinels. Everybody
// reaches a server over its line only, the other servers too, so that replication
// can be late and cut. Nobody is replaced but by [Ensemble.Fail].
type Ensemble struct {
	Servers []*Server
	// Lines[i] leads to Servers[i].
	Lines     []*Line
	Sentinels []*Server
}

// patient is how long Sentinels wait when nothing is to happen.
const patient = time.Hour

// SentinelOver starts such a set, of which Servers[0] is the first master, and
// waits until all of it knows all of it.
func SentinelOver(tb testing.TB, replicas int, args ...string) *Ensemble {
	tb.Helper()
	e := &Ensemble{}
	var addrs []string
	for i := range 1 + replicas {
		s := prepare(tb)
		line := newLine(tb, s.Addr)
		host, port, err := net.SplitHostPort(line.Addr)
		if err != nil {
			tb.Fatal(err)
		}
		s.args = append([]string{
			"--save", "", "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1",
			"--replica-announce-ip", host, "--replica-announce-port", port,
		}, args...)
		e.Servers, e.Lines, addrs = append(e.Servers, s), append(e.Lines, line), append(addrs, line.Addr)
		s.Restart(tb)
		if i > 0 {
			e.follow(tb, i, 0)
		}
	}
	e.Sentinels = startSentinels(tb, addrs[0], addrs[1:]...)
	downAfter(tb, e.Sentinels, patient)
	return e
}

// URL is the set's address in the form that programs take.
func (e *Ensemble) URL() string { return sentinelURL(e.Sentinels) }

// Lag says how late all replicas are from now on.
func (e *Ensemble) Lag(d time.Duration) {
	for _, l := range e.Lines {
		l.Lag(d)
	}
}

// follow makes a server a replica of another one and waits until it is in sync.
func (e *Ensemble) follow(tb testing.TB, i, master int) {
	tb.Helper()
	s := e.Servers[i]
	client := s.Client(tb)
	host, port, err := net.SplitHostPort(e.Lines[master].Addr)
	if err != nil {
		tb.Fatal(err)
	}
	poll(tb, "replica on "+s.Addr, s, func(ctx context.Context) error { return client.ReplicaOf(ctx, host, port).Err() })
	poll(tb, "replica on "+s.Addr, s, replicaIsInSync(client))
}

// Master is the number of the server that takes writes, and what it knows of its
// replicas: their number and by how many bytes the slowest is behind.
func (e *Ensemble) Master(tb testing.TB) (master, replicas, behind int) {
	tb.Helper()
	for i, s := range e.Servers {
		info, err := s.Client(tb).Info(tb.Context(), "replication").Result()
		if err != nil || !strings.Contains(info, "role:master") {
			continue
		}
		replicas, behind = onlineReplicas(info)
		return i, replicas, behind
	}
	tb.Fatal("nobody is master")
	return 0, 0, 0
}

// onlineReplicas reads, from what a master says of its replication, how many replicas are
// connected and in sync, and by how many bytes the slowest is behind.
func onlineReplicas(info string) (replicas, behind int) {
	at := 0
	var offsets []int
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch {
		case name == "master_repl_offset":
			at, _ = strconv.Atoi(value)
		case strings.HasPrefix(name, "slave") && strings.Contains(value, "state=online"):
			_, rest, _ := strings.Cut(value, "offset=")
			offset, _, _ := strings.Cut(rest, ",")
			n, _ := strconv.Atoi(offset)
			offsets = append(offsets, n)
		}
	}
	for _, n := range offsets {
		behind = max(behind, at-n)
	}
	return len(offsets), behind
}

// Fail takes the master away as a crash of its machine does, waits until the
// Sentinels have another one, and returns that and when it was promoted.
func (e *Ensemble) Fail(tb testing.TB, master int) (next int, promoted time.Time) {
	tb.Helper()
	return e.FailAfter(tb, master, time.Second)
}

// FailAfter is Fail with Sentinels that wait for a time before they replace the master.
func (e *Ensemble) FailAfter(tb testing.TB, master int, down time.Duration) (next int, promoted time.Time) {
	tb.Helper()
	e.Lines[master].Down()
	e.Servers[master].Kill(tb)
	downAfter(tb, e.Sentinels, down)
	times := map[int]time.Time{} // when each server was seen as a master first
	others := map[int]*redis.Client{}
	for i, s := range e.Servers {
		if i != master {
			others[i] = s.Client(tb)
		}
	}
	poll(tb, "sentinel on "+e.Sentinels[0].Addr, e.Sentinels[0], func(ctx context.Context) error {
		for i, client := range others {
			role, err := client.Do(ctx, "role").Slice()
			if err == nil && len(role) > 0 && role[0] == "master" {
				times[i] = time.Now()
				return nil
			}
		}
		return errors.New("nobody is promoted")
	})
	// On a busy machine Sentinels may replace the one they have just promoted, too.
	e.agreed(tb)
	downAfter(tb, e.Sentinels, patient)
	next = e.agreed(tb)
	if promoted = times[next]; promoted.IsZero() {
		promoted = time.Now()
	}
	return next, promoted
}

// agreed waits until the Sentinels agree on a master that takes writes, and returns its
// number.
func (e *Ensemble) agreed(tb testing.TB) (master int) {
	tb.Helper()
	named := e.named(tb)
	poll(tb, "sentinel on "+e.Sentinels[0].Addr, e.Sentinels[0], func(ctx context.Context) (err error) {
		master, err = named(ctx)
		return err
	})
	return master
}

// named asks for the number of the server that all Sentinels name, if that is a master.
func (e *Ensemble) named(tb testing.TB) func(context.Context) (int, error) {
	tb.Helper()
	clients := func(all []*Server) (out []*redis.Client) {
		for _, s := range all {
			out = append(out, s.Client(tb))
		}
		return out
	}
	sentinels, servers := clients(e.Sentinels), clients(e.Servers)
	return func(ctx context.Context) (int, error) {
		var names []string
		for _, client := range sentinels {
			is, err := client.Do(ctx, "sentinel", "get-master-addr-by-name", MasterName).StringSlice()
			if err != nil {
				return 0, err
			}
			names = append(names, net.JoinHostPort(is[0], is[1]))
		}
		if same := slices.Compact(slices.Clone(names)); len(same) > 1 {
			return 0, fmt.Errorf("sentinels name %v", names)
		}
		master := slices.IndexFunc(e.Lines, func(l *Line) bool { return l.Addr == names[0] })
		if master < 0 {
			return 0, fmt.Errorf("sentinels name %s, which is no server of this set", names[0])
		}
		role, err := servers[master].Do(ctx, "role").Slice()
		if err != nil || len(role) == 0 || role[0] != "master" {
			return 0, fmt.Errorf("sentinels name %s, whose role is %v: %w", names[0], role, err)
		}
		return master, nil
	}
}

// Return brings a server that failed back as a replica of the master that the
// Sentinels have, which may change meanwhile, and waits until all replicas are in sync
// with it. Sentinels do that too, but let ten seconds pass first.
func (e *Ensemble) Return(tb testing.TB, failed int) {
	tb.Helper()
	e.Servers[failed].Restart(tb)
	named, follows := e.named(tb), -1
	var masters []*redis.Client
	var synced []func(context.Context) error
	for _, s := range e.Servers {
		masters = append(masters, s.Client(tb))
		synced = append(synced, replicaIsInSync(s.Client(tb)))
	}
	back, up := e.Servers[failed].Client(tb), false
	poll(tb, "sentinel on "+e.Sentinels[0].Addr, e.Sentinels[0], func(ctx context.Context) error {
		master, err := named(ctx)
		if err != nil {
			return err
		}
		if master != follows {
			host, port, err := net.SplitHostPort(e.Lines[master].Addr)
			if err != nil {
				return err
			}
			if err := back.ReplicaOf(ctx, host, port).Err(); err != nil {
				return err
			}
			follows = master
		}
		if err := synced[failed](ctx); err != nil {
			return err
		}
		if !up {
			e.Lines[failed].Up(tb) // nobody has seen it as an empty master
			up = true
		}
		for i := range e.Servers {
			if i == master {
				continue
			}
			if err := synced[i](ctx); err != nil {
				return fmt.Errorf("replica on %s: %w", e.Servers[i].Addr, err)
			}
		}
		// A replica knows that it is in sync before its master does.
		info, err := masters[master].Info(ctx, "replication").Result()
		if err != nil {
			return err
		}
		if n, _ := onlineReplicas(info); n != len(e.Servers)-1 {
			return fmt.Errorf("master on %s has %d replicas in sync, want %d", e.Servers[master].Addr, n, len(e.Servers)-1)
		}
		return nil
	})
}

// Detach cuts the replicas of a master off from it, so that nothing that is written from
// now on reaches them. They keep what they have; a failover to one of them goes back to
// this moment.
func (e *Ensemble) Detach(tb testing.TB, master int) {
	tb.Helper()
	host, port, err := net.SplitHostPort(freeAddr(tb)) // where nobody listens
	if err != nil {
		tb.Fatal(err)
	}
	for i, s := range e.Servers {
		if i == master {
			continue
		}
		if err := s.Client(tb).ReplicaOf(tb.Context(), host, port).Err(); err != nil {
			tb.Fatalf("detach replica on %s: %v", s.Addr, err)
		}
	}
}
