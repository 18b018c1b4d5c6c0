package main

import (
	"context"
	"net/http"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/internal/redistest"
)

// TestRedisScript runs testdata/redis/*.txtar with the commands of TestScript
// and with the URLs of real servers in the environment.
func TestRedisScript(t *testing.T) {
	t.Parallel()
	guarded := redistest.Standalone(t)
	if err := guarded.Client(t).ACLSetUser(t.Context(), "alice", "on", ">sesame", "~*", "&*", "+@all").Err(); err != nil {
		t.Fatal(err)
	}
	urls := map[string]string{
		"REDIS":    redistest.Standalone(t).URL(),
		"EVICTING": redistest.Standalone(t, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru").URL(),
		"GUARDED":  guarded.Addr,
		"SENTINEL": redistest.Sentinel(t).URL(),
		"CLUSTER":  redistest.Cluster(t, 0).URL(),
	}
	params := scripts("testdata/redis")
	setup := params.Setup
	params.Setup = func(env *testscript.Env) error {
		for name, url := range urls {
			env.Setenv(name, url)
		}
		return setup(env)
	}
	testscript.Run(t, params)
}

func TestReadinessFollowsRedis(t *testing.T) {
	t.Parallel()
	redis := redistest.Standalone(t)
	h := startHub(t, "--store", redis.URL())
	await := func(want int) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
		defer cancel()
		for ctx.Err() == nil {
			if h.status(t, "/readyz") == want {
				return
			}
		}
		t.Fatalf("/readyz never said %d", want)
	}
	await(http.StatusOK)
	for range 2 {
		redis.Kill(t)
		await(http.StatusServiceUnavailable)
		if got := h.status(t, "/healthz"); got != http.StatusOK {
			t.Errorf("/healthz while Redis is away: got %d, want %d", got, http.StatusOK)
		}
		redis.Restart(t)
		await(http.StatusOK)
	}
	if code := h.stop(); code != command.ExitOK {
		t.Errorf("exit code %d, want 0", code)
	}
}
