package redisstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/redisstore"
)

// refuses ends the test when Open does not refuse with these words.
func refuses(t *testing.T, client redis.UniversalClient, cfg redisstore.Config, words ...string) error {
	t.Helper()
	s, err := redisstore.Open(t.Context(), client, cfg)
	if err == nil {
		_ = s.Close()
		t.Fatalf("Open does not refuse, want %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("Open refuses with %q, want %q in it", err, w)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("Open refuses with %q, want one line", err)
	}
	return err
}

func TestOpenRefusesEviction(t *testing.T) {
	t.Parallel()
	d := deploy(t, redistest.Standalone(t, "--maxmemory-policy", "allkeys-lru").URL())
	refuses(t, d.client, redisstore.Config{}, "allkeys-lru", "CONFIG SET maxmemory-policy noeviction", "store-allow-eviction")
	open(t, d.client, redisstore.Config{AllowEviction: true})
}

func TestOpenRefusesEvictionOnAnyMaster(t *testing.T) {
	t.Parallel()
	c := redistest.Cluster(t, 0)
	d := deploy(t, c.URL())
	open(t, d.client, redisstore.Config{})
	if err := c.Masters[2].Client(t).ConfigSet(t.Context(), "maxmemory-policy", "volatile-lru").Err(); err != nil {
		t.Fatal(err)
	}
	refuses(t, d.client, redisstore.Config{}, "volatile-lru", c.Masters[2].Addr)
}

func TestOpenRefusesOldRedis(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"6.2.14", "2.8.0", "", "x"} {
		d := deploy(t, redistest.Standalone(t).URL())
		d.client.AddHook(disguise{"redis_version:7.0.15", "redis_version:" + version})
		refuses(t, d.client, redisstore.Config{}, "version", version, "7.0 or newer")
	}
}

func TestOpenNeedsNoRightToConfigure(t *testing.T) {
	t.Parallel()
	server := redistest.Standalone(t)
	err := server.Client(t).Do(t.Context(), "acl", "setuser", "hub", "on", ">secret", "~*", "&*", "+@all", "-config", "-@admin").Err()
	if err != nil {
		t.Fatal(err)
	}
	d := deploy(t, "redis://hub:secret@"+server.Addr)
	newAuthor(t, open(t, d.client, redisstore.Config{}), "s").mustWrite(t, 1)
	wrong := deploy(t, "redis://hub:wrong@"+server.Addr)
	if err := refuses(t, wrong.client, redisstore.Config{}, "WRONGPASS"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a wrong password is %v, want ErrUnavailable", err)
	}
}

func TestOpenRefusesANewerFormat(t *testing.T) {
	t.Parallel()
	d := deploy(t, redistest.Standalone(t).URL())
	open(t, d.client, redisstore.Config{})
	for _, format := range []string{"3", "99", "x"} {
		if err := d.client.Set(t.Context(), redisstore.FormatKey("everdesk"), format, 0).Err(); err != nil {
			t.Fatal(err)
		}
		if err := refuses(t, d.client, redisstore.Config{}, "format", format); !errors.Is(err, store.ErrNewerSchema) {
			t.Errorf("format %s is %v, want ErrNewerSchema", format, err)
		}
	}
	open(t, d.client, redisstore.Config{Prefix: "another"})
}

func TestOpenRefusesClientsThatRetry(t *testing.T) {
	t.Parallel()
	server := redistest.Standalone(t)
	for want, o := range map[string]*redis.UniversalOptions{
		"MaxRetries":            {ContextTimeoutEnabled: true},
		"ContextTimeoutEnabled": {MaxRetries: -1},
	} {
		o.Addrs = []string{server.Addr}
		client := redis.NewUniversalClient(o)
		t.Cleanup(func() { _ = client.Close() })
		refuses(t, client, redisstore.Config{}, want)
	}
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": server.Addr}})
	t.Cleanup(func() { _ = ring.Close() })
	refuses(t, ring, redisstore.Config{}, "*redis.Ring")
	d := deploy(t, server.URL())
	refuses(t, d.client, redisstore.Config{ReplicaWait: d.options.ReadTimeout}, "ReplicaWait", "read timeout")
	for _, cfg := range []redisstore.Config{{Prefix: "a{b}"}, {Prefix: "a b"}, {RetryFor: -1}} {
		if err := refuses(t, d.client, cfg); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%+v is %v, want ErrInvalid", cfg, err)
		}
	}
}

func TestOpenWithoutRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Standalone(t)
	server.Kill(t)
	d := deploy(t, server.URL())
	if err := refuses(t, d.client, redisstore.Config{}, server.Addr); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("no server is %v, want ErrUnavailable", err)
	}
}

// disguise changes what INFO says.
type disguise struct{ from, to string }

func (disguise) DialHook(next redis.DialHook) redis.DialHook { return next }

func (d disguise) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if info, ok := cmd.(*redis.StringCmd); ok && cmd.Name() == "info" {
			info.SetVal(strings.Replace(info.Val(), d.from, d.to, 1))
		}
		return err
	}
}

func (disguise) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
