package redistest_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/internal/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
		t.Fatalf("after the restart: %q, %v", got, err)
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
			t.Errorf("%s on its master: %q, %v", key, got, err)
		}
	}
}
