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

// Ensemble is a master with replicas, monitored by three Sentinels. Clients that use
// [Ensemble.URL], the Sentinels and the servers themselves connect to a server through its proxy
// only, so that replication can be delayed and cut; [Server.Client] connects directly. The master
// changes only through [Ensemble.Fail] and [Ensemble.FailAfter].
type Ensemble struct {
	Servers []*Server
	// Proxies[i] forwards to Servers[i].
	Proxies   []*Proxy
	Sentinels []*Server
}

// neverDown is the down-after time of Sentinels while no failover is wanted.
const neverDown = time.Hour

// SentinelOver starts an Ensemble whose first master is Servers[0], and waits until all
// servers and Sentinels know each other. The arguments are passed to all servers.
func SentinelOver(tb testing.TB, replicas int, args ...string) *Ensemble {
	tb.Helper()
	e := &Ensemble{}
	var addrs []string
	for i := range 1 + replicas {
		s := prepare(tb)
		line := newProxy(tb, s.Addr)
		host, port, err := net.SplitHostPort(line.Addr)
		if err != nil {
			tb.Fatal(err)
		}
		s.args = append([]string{
			"--save", "", "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1",
			"--replica-announce-ip", host, "--replica-announce-port", port,
		}, args...)
		e.Servers, e.Proxies, addrs = append(e.Servers, s), append(e.Proxies, line), append(addrs, line.Addr)
		s.Restart(tb)
		if i > 0 {
			e.replicateFrom(tb, i, 0)
		}
	}
	e.Sentinels = startSentinels(tb, addrs[0], addrs[1:]...)
	downAfter(tb, e.Sentinels, neverDown)
	return e
}

// URL returns the address of the set as a store URL.
func (e *Ensemble) URL() string { return sentinelURL(e.Sentinels) }

// Lag sets the replication delay of all replicas.
func (e *Ensemble) Lag(d time.Duration) {
	for _, p := range e.Proxies {
		p.Lag(d)
	}
}

// replicateFrom makes server i a replica of another one and waits until it is in sync
// and receives changes.
func (e *Ensemble) replicateFrom(tb testing.TB, i, master int) {
	tb.Helper()
	s := e.Servers[i]
	client := s.Client(tb)
	host, port, err := net.SplitHostPort(e.Proxies[master].Addr)
	if err != nil {
		tb.Fatal(err)
	}
	poll(tb, "replica on "+s.Addr, s, func(ctx context.Context) error { return client.ReplicaOf(ctx, host, port).Err() })
	poll(tb, "replica on "+s.Addr, s, replicaIsInSync(client))
	poll(tb, "replica on "+s.Addr, s, receivesChanges(e.Servers[master].Client(tb), client))
}

// Master returns the index of the master in Servers, the number of its online replicas, and the
// bytes by which the slowest is behind.
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
	tb.Fatal("no server is master")
	return 0, 0, 0
}

// onlineReplicas parses the replication section of a master's INFO: the number of replicas that
// are online, and the bytes by which the slowest of them is behind.
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

// Fail kills the master and cuts its connections, as a crash of its machine does, and waits until
// the Sentinels, with a down-after time of one second, have promoted another server. It returns
// the index of that server and the time at which it was first seen as a master.
func (e *Ensemble) Fail(tb testing.TB, master int) (next int, promoted time.Time) {
	tb.Helper()
	return e.FailAfter(tb, master, time.Second)
}

// FailAfter is Fail with a given down-after time of the Sentinels.
func (e *Ensemble) FailAfter(tb testing.TB, master int, down time.Duration) (next int, promoted time.Time) {
	tb.Helper()
	e.Proxies[master].Down()
	e.Servers[master].Kill(tb)
	downAfter(tb, e.Sentinels, down)
	times := map[int]time.Time{} // time at which the first promoted server was seen as a master
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
		return errors.New("no server is promoted")
	})
	// On a busy machine Sentinels may also replace the server that they have just promoted.
	e.awaitAgreedMaster(tb)
	downAfter(tb, e.Sentinels, neverDown)
	next = e.awaitAgreedMaster(tb)
	if promoted = times[next]; promoted.IsZero() {
		promoted = time.Now()
	}
	return next, promoted
}

// awaitAgreedMaster waits until the Sentinels agree on a server that is a master, and returns its
// index.
func (e *Ensemble) awaitAgreedMaster(tb testing.TB) (master int) {
	tb.Helper()
	named := e.agreedMaster(tb)
	poll(tb, "sentinel on "+e.Sentinels[0].Addr, e.Sentinels[0], func(ctx context.Context) (err error) {
		master, err = named(ctx)
		return err
	})
	return master
}

// agreedMaster returns a function that asks all Sentinels for the master, and fails unless
// they agree on a server that is a master.
func (e *Ensemble) agreedMaster(tb testing.TB) func(context.Context) (int, error) {
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
		master := slices.IndexFunc(e.Proxies, func(p *Proxy) bool { return p.Addr == names[0] })
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

// Return restarts a failed server as a replica of the current master, follows a change of that
// master, and waits until all replicas are in sync. Sentinels would do that too, but only after
// ten seconds.
func (e *Ensemble) Return(tb testing.TB, failed int) {
	tb.Helper()
	e.Servers[failed].Restart(tb)
	named, follows := e.agreedMaster(tb), -1
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
			host, port, err := net.SplitHostPort(e.Proxies[master].Addr)
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
			e.Proxies[failed].Up(tb) // only now, so that no client sees it as an empty master
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

// Detach cuts the replicas of a master off from it, so that no later write reaches them.
// They keep their data; a failover to one of them loses all later writes.
func (e *Ensemble) Detach(tb testing.TB, master int) {
	tb.Helper()
	host, port, err := net.SplitHostPort(freeAddr(tb)) // an address without a listener
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
