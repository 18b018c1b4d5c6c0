package redistest_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/internal/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(redistest.Dialing)) }

func TestStandaloneSurvivesAKillOnItsPort(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, "--appendonly", "yes", "--appendfsync", "always")
	client := s.Client(t)
	if err := client.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	s.Kill(t)
	if err := client.Ping(t.Context()).Err(); err == nil {
		t.Fatal("a killed server answers")
	}
	s.Restart(t)
	if got, err := client.Get(t.Context(), "k").Result(); got != "v" || err != nil {
		t.Fatalf("k after the restart: got %q, error %v, want v", got, err)
	}
}

func TestStoppedServerIsSilentUntilContinued(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t)
	client := s.Client(t)
	s.Stop(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := client.Ping(ctx).Err(); err == nil {
		t.Fatal("a stopped server answers")
	}
	s.Continue(t)
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}

func TestSentinelReplacesTheMaster(t *testing.T) {
	t.Parallel()
	w := redistest.Sentinel(t)
	w.Master.Kill(t)
	w.AwaitMaster(t, w.Replica)
	if err := w.Replica.Client(t).Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
}

func TestEnsembleForgetsWhatWasLate(t *testing.T) {
	t.Parallel()
	e := redistest.SentinelOver(t, 2)
	client := e.Servers[0].Client(t)
	if err := client.Set(t.Context(), "old", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if n, err := client.Wait(t.Context(), 2, 10*time.Second).Result(); n != 2 || err != nil {
		t.Fatalf("replicas that have it: got %d, error %v, want 2", n, err)
	}
	e.Proxies[0].Lag(time.Minute)
	if err := client.Set(t.Context(), "new", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	master, replicas, behind := e.Master(t)
	if master != 0 || replicas != 2 || behind <= 0 {
		t.Errorf("got server %d as master of %d replicas up to %d bytes behind, want server 0 of two that are behind", master, replicas, behind)
	}
	next, _ := e.Fail(t, master)
	client = e.Servers[next].Client(t)
	if got, err := client.Exists(t.Context(), "old", "new").Result(); got != 1 || err != nil {
		t.Errorf("the new master has %d of the keys, %v; want the old one", got, err)
	}
	e.Return(t, master)
	if got, err := e.Servers[master].Client(t).Exists(t.Context(), "old").Result(); got != 1 || err != nil {
		t.Errorf("the old master has %d of the keys, %v; want all", got, err)
	}
}

// After a second failover, Return makes the server that failed first a replica of the newest master.
func TestEnsembleFollowsASecondFailover(t *testing.T) {
	t.Parallel()
	e := redistest.SentinelOver(t, 2)
	first, _ := e.Fail(t, 0)
	second := 3 - first
	sentinel := e.Sentinels[0].Client(t)
	client := e.Servers[second].Client(t)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for promoted := false; !promoted && t.Context().Err() == nil; <-tick.C {
		// Sentinels refuse a failover for a while after the first one, and a promotion closes
		// connections.
		_ = sentinel.Do(t.Context(), "sentinel", "failover", redistest.MasterName).Err()
		role, err := client.Do(t.Context(), "role").Slice()
		promoted = err == nil && role[0] == "master"
	}
	e.Return(t, 0)
	if master, replicas, _ := e.Master(t); master != second || replicas != 2 {
		t.Errorf("server %d is master of %d replicas, want %d of 2", master, replicas, second)
	}
}

// A failover after Detach loses the writes after Detach.
func TestEnsembleGoesBackToWhereItWasDetached(t *testing.T) {
	t.Parallel()
	e := redistest.SentinelOver(t, 2)
	client := e.Servers[0].Client(t)
	if err := client.Set(t.Context(), "old", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if n, err := client.Wait(t.Context(), 2, 10*time.Second).Result(); n != 2 || err != nil {
		t.Fatalf("replicas that have it: got %d, error %v, want 2", n, err)
	}
	e.Detach(t, 0)
	if err := client.Set(t.Context(), "new", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	next, _ := e.Fail(t, 0)
	if got, err := e.Servers[next].Client(t).Exists(t.Context(), "old", "new").Result(); got != 1 || err != nil {
		t.Errorf("the new master has %d of the keys, %v; want the old one", got, err)
	}
	e.Return(t, 0)
}

func TestClusterTakesEveryKey(t *testing.T) {
	t.Parallel()
	c := redistest.Cluster(t, 1)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{c.Masters[0].Addr}})
	t.Cleanup(func() { _ = client.Close() })
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		if err := client.Set(t.Context(), key, key, 0).Err(); err != nil {
			t.Fatal(err)
		}
		if got, err := c.MasterOf(t, key).Client(t).Get(t.Context(), key).Result(); got != key || err != nil {
			t.Errorf("%s on its master: got %q, error %v, want the key itself", key, got, err)
		}
	}
}
