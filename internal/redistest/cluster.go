package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	clusterMasters = 3
	clusterSlots   = 16384
)

// Sharded is a Cluster of three masters, each with the same number of replicas.
type Sharded struct {
	Masters []*Server
	// Replicas[i] are the replicas of Masters[i].
	Replicas [][]*Server
}

// Cluster starts three masters with the given number of replicas each and waits until every
// node sees the whole Cluster. The arguments are passed to all nodes.
func Cluster(tb testing.TB, replicas int, args ...string) *Sharded {
	tb.Helper()
	args = append([]string{
		"--save", "", "--cluster-enabled", "yes", "--cluster-node-timeout", "2000",
		"--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1",
	}, args...)
	c := &Sharded{Replicas: make([][]*Server, clusterMasters)}
	for range clusterMasters {
		c.Masters = append(c.Masters, start(tb, args...))
	}
	for i := range c.Masters {
		for range replicas {
			c.Replicas[i] = append(c.Replicas[i], start(tb, args...))
		}
	}
	c.meet(tb)
	c.assignSlots(tb)
	c.replicate(tb)
	c.awaitWhole(tb)
	return c
}

// URL returns the address of the Cluster as a store URL.
func (c *Sharded) URL() string {
	addrs := make([]string, len(c.Masters))
	for i, s := range c.Masters {
		addrs[i] = s.Addr
	}
	return "redis+cluster://" + strings.Join(addrs, ",")
}

// DownAfter sets the time without a reply after which live nodes consider a master failed.
func (c *Sharded) DownAfter(tb testing.TB, d time.Duration) {
	tb.Helper()
	for _, s := range c.nodes() {
		select {
		case <-s.ended():
			continue
		default:
		}
		ms := strconv.FormatInt(d.Milliseconds(), 10)
		if err := s.Client(tb).ConfigSet(tb.Context(), "cluster-node-timeout", ms).Err(); err != nil {
			tb.Fatalf("set node timeout of cluster node on %s: %v", s.Addr, err)
		}
	}
}

// Fail kills the master of a shard and waits until its first replica is promoted. It swaps the
// two in c.
func (c *Sharded) Fail(tb testing.TB, shard int) {
	tb.Helper()
	failed, next := c.Masters[shard], c.Replicas[shard][0]
	failed.Kill(tb)
	client := next.Client(tb)
	poll(tb, "cluster replica on "+next.Addr, next, func(ctx context.Context) error {
		role, err := client.Do(ctx, "role").Slice()
		if err == nil && len(role) > 0 && role[0] != "master" {
			err = errors.New("still a replica")
		}
		return err
	})
	c.Masters[shard], c.Replicas[shard][0] = next, failed
}

// Return restarts the node that Fail killed, as a replica, and waits until it is in sync and every
// node sees the whole Cluster.
func (c *Sharded) Return(tb testing.TB, shard int) {
	tb.Helper()
	s := c.Replicas[shard][0]
	s.Restart(tb)
	poll(tb, "cluster replica on "+s.Addr, s, replicaIsInSync(s.Client(tb)))
	c.awaitWhole(tb)
}

// MasterOf returns the master that holds a key's slot.
func (c *Sharded) MasterOf(tb testing.TB, key string) *Server {
	tb.Helper()
	slot, err := c.Masters[0].Client(tb).ClusterKeySlot(tb.Context(), key).Result()
	if err != nil {
		tb.Fatalf("slot of %s: %v", key, err)
	}
	for i := range c.Masters {
		if _, end := slotRange(i); int(slot) <= end {
			return c.Masters[i]
		}
	}
	tb.Fatalf("no master for slot %d", slot)
	return nil
}

func slotRange(master int) (first, last int) {
	return master * clusterSlots / clusterMasters, (master+1)*clusterSlots/clusterMasters - 1
}

func (c *Sharded) nodes() []*Server {
	all := append([]*Server(nil), c.Masters...)
	for _, r := range c.Replicas {
		all = append(all, r...)
	}
	return all
}

// meet introduces every node to every other one, which is faster than gossip, and assigns
// each its own configuration epoch, so that the nodes need not resolve conflicts of epochs.
func (c *Sharded) meet(tb testing.TB) {
	tb.Helper()
	nodes := c.nodes()
	for i, s := range nodes {
		client := s.Client(tb)
		if err := client.Do(tb.Context(), "cluster", "set-config-epoch", i+1).Err(); err != nil {
			tb.Fatalf("configuration epoch of cluster node %s: %v", s.Addr, err)
		}
		for _, other := range nodes[:i] {
			host, port, err := net.SplitHostPort(other.Addr)
			if err != nil {
				tb.Fatalf("address of a cluster node: %v", err)
			}
			if err := client.ClusterMeet(tb.Context(), host, port).Err(); err != nil {
				tb.Fatalf("introduce cluster node %s: %v", s.Addr, err)
			}
		}
	}
}

func (c *Sharded) assignSlots(tb testing.TB) {
	tb.Helper()
	for i, s := range c.Masters {
		first, last := slotRange(i)
		if err := s.Client(tb).ClusterAddSlotsRange(tb.Context(), first, last).Err(); err != nil {
			tb.Fatalf("assign slots %d to %d to %s: %v", first, last, s.Addr, err)
		}
	}
}

func (c *Sharded) replicate(tb testing.TB) {
	tb.Helper()
	for i, master := range c.Masters {
		id, err := master.Client(tb).ClusterMyID(tb.Context()).Result()
		if err != nil {
			tb.Fatalf("id of cluster node %s: %v", master.Addr, err)
		}
		for _, s := range c.Replicas[i] {
			client := s.Client(tb)
			// A replica can replicate only from a master it knows.
			poll(tb, "cluster node on "+s.Addr, s, func(ctx context.Context) error {
				return client.ClusterReplicate(ctx, id).Err()
			})
			poll(tb, "cluster replica on "+s.Addr, s, replicaIsInSync(client))
		}
	}
}

func (c *Sharded) awaitWhole(tb testing.TB) {
	tb.Helper()
	want := len(c.nodes())
	for _, s := range c.nodes() {
		client := s.Client(tb)
		poll(tb, "cluster node on "+s.Addr, s, func(ctx context.Context) error {
			info, err := client.ClusterInfo(ctx).Result()
			if err != nil {
				return err
			}
			if !strings.Contains(info, "cluster_state:ok") {
				return errors.New("cluster is not complete")
			}
			shards, err := client.ClusterShards(ctx).Result()
			if err != nil {
				return err
			}
			seen := 0
			for _, shard := range shards {
				for _, node := range shard.Nodes {
					if len(shard.Slots) > 0 && node.Health == "online" {
						seen++
					}
				}
			}
			if seen != want {
				return fmt.Errorf("sees %d of %d nodes online", seen, want)
			}
			return nil
		})
	}
}
