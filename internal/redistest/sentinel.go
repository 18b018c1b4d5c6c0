package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// MasterName is the name of the master in the configuration of the Sentinels.
const MasterName = "main"

const sentinels = 3

// Watched is a master with a replica, monitored by three Sentinels that replace an
// unreachable master after one second.
type Watched struct {
	Master    *Server
	Replica   *Server
	Sentinels []*Server
}

// Sentinel starts a Watched set and waits until all of its processes know each other. The
// arguments are passed to master and replica.
func Sentinel(tb testing.TB, args ...string) *Watched {
	tb.Helper()
	args = append([]string{"--save", "", "--repl-diskless-sync-delay", "0"}, args...)
	w := &Watched{Master: start(tb, args...)}
	w.Replica = start(tb, append(args, "--replicaof", spaced(w.Master.Addr))...)
	poll(tb, "replica on "+w.Replica.Addr, w.Replica, replicaIsInSync(w.Replica.Client(tb)))
	poll(tb, "replica on "+w.Replica.Addr, w.Replica, receivesChanges(w.Master.Client(tb), w.Replica.Client(tb)))
	w.Sentinels = startSentinels(tb, w.Master.Addr, w.Replica.Addr)
	return w
}

// URL returns the address of the set as a store URL.
func (w *Watched) URL() string { return sentinelURL(w.Sentinels) }

func sentinelURL(sentinels []*Server) string {
	addrs := make([]string, len(sentinels))
	for i, s := range sentinels {
		addrs[i] = s.Addr
	}
	return "redis+sentinel://" + strings.Join(addrs, ",") + "/" + MasterName
}

// AwaitMaster waits until all Sentinels name s as the master and s has that role.
func (w *Watched) AwaitMaster(tb testing.TB, s *Server) {
	tb.Helper()
	awaitMaster(tb, w.Sentinels, s, s.Addr)
}

// awaitMaster is AwaitMaster for a server that the Sentinels know by addr.
func awaitMaster(tb testing.TB, sentinels []*Server, s *Server, addr string) {
	tb.Helper()
	for _, sentinel := range sentinels {
		client := sentinel.Client(tb)
		poll(tb, "sentinel on "+sentinel.Addr, sentinel, func(ctx context.Context) error {
			is, err := client.Do(ctx, "sentinel", "get-master-addr-by-name", MasterName).StringSlice()
			if err != nil {
				return err
			}
			if got := net.JoinHostPort(is[0], is[1]); got != addr {
				return fmt.Errorf("master is %s, want %s", got, addr)
			}
			return nil
		})
	}
	client := s.Client(tb)
	poll(tb, "master on "+s.Addr, s, func(ctx context.Context) error {
		info, err := client.Info(ctx, "replication").Result()
		if err != nil {
			return err
		}
		if !strings.Contains(info, "role:master") {
			return errors.New("still a replica")
		}
		return nil
	})
}

// DownAfter sets the time without a reply after which Sentinels replace the master. Tests
// of other behaviour use a long time, because a busy machine can exceed one second.
func (w *Watched) DownAfter(tb testing.TB, d time.Duration) {
	tb.Helper()
	downAfter(tb, w.Sentinels, d)
}

func downAfter(tb testing.TB, sentinels []*Server, d time.Duration) {
	tb.Helper()
	for _, s := range sentinels {
		err := s.Client(tb).Do(tb.Context(), "sentinel", "set", MasterName, "down-after-milliseconds", d.Milliseconds()).Err()
		if err != nil {
			tb.Fatalf("set down-after of sentinel on %s: %v", s.Addr, err)
		}
	}
}

// startSentinels starts Sentinels that are configured with all others, because discovering each
// other takes seconds, and waits until all know each other and the replicas.
func startSentinels(tb testing.TB, master string, replicas ...string) []*Server {
	tb.Helper()
	id := func(i int) string { return fmt.Sprintf("%040x", i+1) }
	var all []*Server
	for range sentinels {
		all = append(all, prepare(tb))
	}
	for i, s := range all {
		text := fmt.Appendf(nil, "sentinel myid %[2]s\n"+
			"sentinel monitor %[1]s %[3]s 2\n"+
			"sentinel down-after-milliseconds %[1]s 1000\n"+
			"sentinel failover-timeout %[1]s 3000\n"+
			"sentinel parallel-syncs %[1]s 1\n", MasterName, id(i), spaced(master))
		for _, r := range replicas {
			text = fmt.Appendf(text, "sentinel known-replica %s %s\n", MasterName, spaced(r))
		}
		for j, other := range all {
			if j != i {
				text = fmt.Appendf(text, "sentinel known-sentinel %s %s %s\n", MasterName, spaced(other.Addr), id(j))
			}
		}
		// Sentinels rewrite their configuration, so each needs a file of its own.
		conf := filepath.Join(s.dir, "sentinel.conf")
		if err := os.WriteFile(conf, text, 0o600); err != nil {
			tb.Fatalf("configuration of a sentinel: %v", err)
		}
		s.args = []string{conf, "--sentinel"}
		s.launch(tb)
	}
	for _, s := range all {
		poll(tb, "sentinel on "+s.Addr, s, sentinelKnowsAll(s.Client(tb), len(replicas)))
	}
	return all
}

// spaced converts HOST:PORT to "HOST PORT", the form in Redis' configuration.
func spaced(addr string) string { return strings.Replace(addr, ":", " ", 1) }

// replicaIsInSync returns a function that fails unless the replica has the data of its master. It
// does not mean that the replica receives changes already: see receivesChanges.
func replicaIsInSync(client *redis.Client) func(context.Context) error {
	return func(ctx context.Context) error {
		info, err := client.Info(ctx, "replication").Result()
		if err != nil {
			return err
		}
		if !strings.Contains(info, "master_link_status:up") {
			return errors.New("not in sync with its master")
		}
		return nil
	}
}

// receivesChanges returns a function that fails until the replica has received a change that the
// function made at its first call. After a diskless synchronisation a master sends changes only
// from the replica's next acknowledgement on, which takes up to a second.
func receivesChanges(master, replica *redis.Client) func(context.Context) error {
	wanted := -1
	return func(ctx context.Context) error {
		if wanted < 0 {
			if err := master.Publish(ctx, "redistest", "").Err(); err != nil {
				return err
			}
			at, err := replicationField(ctx, master, "master_repl_offset")
			if err != nil {
				return err
			}
			wanted = at
		}
		got, err := replicationField(ctx, replica, "slave_repl_offset")
		if err == nil && got < wanted {
			err = fmt.Errorf("receives no changes: at %d of %d", got, wanted)
		}
		return err
	}
}

// replicationField returns a number from the replication section of INFO.
func replicationField(ctx context.Context, client *redis.Client, name string) (int, error) {
	info, err := client.Info(ctx, "replication").Result()
	if err != nil {
		return 0, err
	}
	_, after, found := strings.Cut(info, name+":")
	if !found {
		return 0, fmt.Errorf("INFO has no %s", name)
	}
	value, _, _ := strings.Cut(after, "\r\n")
	return strconv.Atoi(value)
}

// sentinelKnowsAll returns a function that fails unless the Sentinel knows enough to decide
// and execute a failover.
func sentinelKnowsAll(client *redis.Client, replicas int) func(context.Context) error {
	return func(ctx context.Context) error {
		master, err := client.Do(ctx, "sentinel", "master", MasterName).StringSlice()
		if err != nil {
			return err
		}
		known := map[string]string{}
		for i := 0; i+1 < len(master); i += 2 {
			known[master[i]] = master[i+1]
		}
		if known["num-slaves"] != strconv.Itoa(replicas) || known["num-other-sentinels"] != strconv.Itoa(sentinels-1) || known["flags"] != "master" {
			return fmt.Errorf("knows %s replicas and %s other sentinels, master is %q",
				known["num-slaves"], known["num-other-sentinels"], known["flags"])
		}
		are, err := client.Do(ctx, "sentinel", "replicas", MasterName).Slice()
		if err != nil {
			return err
		}
		if n := strings.Count(fmt.Sprint(are), "master-link-status ok"); n != replicas {
			return fmt.Errorf("%d of %d replicas are linked", n, replicas)
		}
		return client.Do(ctx, "sentinel", "ckquorum", MasterName).Err()
	}
}
