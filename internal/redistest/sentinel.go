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

// MasterName is what the Sentinels of [Sentinel] call their master.
const MasterName = "main"

const sentinels = 3

// Watched is a master with a replica, watched by three Sentinels that replace
// a silent master after one second.
type Watched struct {
	Master    *Server
	Replica   *Server
	Sentinels []*Server
}

// Sentinel starts such a set and waits until all of it knows all of it. The
// arguments are for master and replica.
func Sentinel(tb testing.TB, args ...string) *Watched {
	tb.Helper()
	args = append([]string{"--save", "", "--repl-diskless-sync-delay", "0"}, args...)
	w := &Watched{Master: start(tb, args...)}
	w.Replica = start(tb, append(args, "--replicaof", spaced(w.Master))...)
	poll(tb, "replica on "+w.Replica.Addr, w.Replica, replicaIsInSync(w.Replica.Client(tb)))
	w.startSentinels(tb)
	for _, s := range w.Sentinels {
		poll(tb, "sentinel on "+s.Addr, s, sentinelKnowsAll(s.Client(tb)))
	}
	return w
}

// URL is the set's address in the form that programs take.
func (w *Watched) URL() string {
	return "redis+sentinel://" + strings.Join(w.sentinelAddrs(), ",") + "/" + MasterName
}

// AwaitMaster waits until the Sentinels agree that the server at addr is the
// master and it takes writes.
func (w *Watched) AwaitMaster(tb testing.TB, s *Server) {
	tb.Helper()
	for _, sentinel := range w.Sentinels {
		client := sentinel.Client(tb)
		poll(tb, "sentinel on "+sentinel.Addr, sentinel, func(ctx context.Context) error {
			addr, err := client.Do(ctx, "sentinel", "get-master-addr-by-name", MasterName).StringSlice()
			if err != nil {
				return err
			}
			if got := net.JoinHostPort(addr[0], addr[1]); got != s.Addr {
				return fmt.Errorf("master is %s, want %s", got, s.Addr)
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

// DownAfter says for how long a master must be silent before it is replaced.
// Tests that are about something else want that to be long: on a busy machine a
// second is short.
func (w *Watched) DownAfter(tb testing.TB, d time.Duration) {
	tb.Helper()
	for _, s := range w.Sentinels {
		err := s.Client(tb).Do(tb.Context(), "sentinel", "set", MasterName, "down-after-milliseconds", d.Milliseconds()).Err()
		if err != nil {
			tb.Fatalf("patience of sentinel on %s: %v", s.Addr, err)
		}
	}
}

func (w *Watched) sentinelAddrs() []string {
	addrs := make([]string, len(w.Sentinels))
	for i, s := range w.Sentinels {
		addrs[i] = s.Addr
	}
	return addrs
}

// startSentinels tells each Sentinel of everybody else, which they would find
// out by themselves within seconds.
func (w *Watched) startSentinels(tb testing.TB) {
	tb.Helper()
	id := func(i int) string { return fmt.Sprintf("%040x", i+1) }
	for range sentinels {
		w.Sentinels = append(w.Sentinels, prepare(tb))
	}
	for i, s := range w.Sentinels {
		text := fmt.Appendf(nil, "sentinel myid %[2]s\n"+
			"sentinel monitor %[1]s %[3]s 2\n"+
			"sentinel down-after-milliseconds %[1]s 1000\n"+
			"sentinel failover-timeout %[1]s 3000\n"+
			"sentinel parallel-syncs %[1]s 1\n"+
			"sentinel known-replica %[1]s %[4]s\n", MasterName, id(i), spaced(w.Master), spaced(w.Replica))
		for j, other := range w.Sentinels {
			if j != i {
				text = fmt.Appendf(text, "sentinel known-sentinel %s %s %s\n", MasterName, spaced(other), id(j))
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
}

// spaced is a server's address as Sentinel's configuration wants it.
func spaced(s *Server) string { return strings.Replace(s.Addr, ":", " ", 1) }

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

// sentinelKnowsAll is ready when a failover could be decided and carried out.
func sentinelKnowsAll(client *redis.Client) func(context.Context) error {
	return func(ctx context.Context) error {
		master, err := client.Do(ctx, "sentinel", "master", MasterName).StringSlice()
		if err != nil {
			return err
		}
		known := map[string]string{}
		for i := 0; i+1 < len(master); i += 2 {
			known[master[i]] = master[i+1]
		}
		if known["num-slaves"] != "1" || known["num-other-sentinels"] != strconv.Itoa(sentinels-1) || known["flags"] != "master" {
			return fmt.Errorf("knows %s replicas and %s other sentinels, master is %q",
				known["num-slaves"], known["num-other-sentinels"], known["flags"])
		}
		replicas, err := client.Do(ctx, "sentinel", "replicas", MasterName).Slice()
		if err != nil {
			return err
		}
		if text := fmt.Sprint(replicas); !strings.Contains(text, "master-link-status ok") {
			return errors.New("replica is not linked yet")
		}
		return client.Do(ctx, "sentinel", "ckquorum", MasterName).Err()
	}
}
