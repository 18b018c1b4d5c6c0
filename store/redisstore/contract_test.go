package redisstore_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/redisstore"
	"github.com/everdesk/everdesk/store/storetest"
)

func TestMain(m *testing.M) {
	if address := os.Getenv(coolVariable); address != "" {
		coolUntilKilled(address)
	}
	// Most tests wait for Redis or for its clock, so a few processors can have
	// many of them under way.
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(redistest.Dialing))
}

func TestStandaloneKeepsTheContract(t *testing.T) {
	t.Parallel()
	d := deploy(t, redistest.Standalone(t).URL())
	storetest.Run(t, storetest.Plain, d.setup)
}

func TestSentinelKeepsTheContract(t *testing.T) {
	t.Parallel()
	w := redistest.Sentinel(t)
	w.DownAfter(t, time.Minute)
	d := deploy(t, w.URL())
	storetest.Run(t, storetest.Plain, d.setup)
}

func TestClusterKeepsTheContract(t *testing.T) {
	t.Parallel()
	c := redistest.Cluster(t, 0)
	c.DownAfter(t, time.Minute)
	d := deploy(t, c.URL())
	storetest.Run(t, storetest.Plain, d.setup)
}

func TestStandaloneAgreesWithTheModel(t *testing.T) {
	t.Parallel()
	d := deploy(t, redistest.Standalone(t).URL())
	storetest.RunModel(t, storetest.Plain, d.setup)
}

func TestClusterAgreesWithTheModel(t *testing.T) {
	t.Parallel()
	c := redistest.Cluster(t, 0)
	c.DownAfter(t, time.Minute)
	d := deploy(t, c.URL())
	storetest.RunModel(t, storetest.Plain, d.setup)
}

// unit is the contract suite's tick.
const unit = 200 * time.Millisecond

// deployment is a running Redis of some kind that many tests share, each with a
// prefix of its own.
type deployment struct {
	client  redis.UniversalClient
	stores  atomic.Int64
	options redis.UniversalOptions
}

func deploy(t *testing.T, url string) *deployment {
	t.Helper()
	o, err := redisstore.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	d := &deployment{client: redis.NewUniversalClient(o), options: *o}
	t.Cleanup(func() { _ = d.client.Close() })
	return d
}

// prefix returns a key prefix that no other store of the test has.
func (d *deployment) prefix() string { return fmt.Sprint("test", d.stores.Add(1)) }

// config is one for tests, which are in more of a hurry than people.
func config(prefix string) redisstore.Config {
	return redisstore.Config{
		Prefix: prefix, CheckEvery: 100 * time.Millisecond, InboxEvery: 100 * time.Millisecond, TailEvery: 100 * time.Millisecond, SlotEvery: 50 * time.Millisecond,
	}
}

// open opens a store that is closed when the test ends.
func open(t *testing.T, client redis.UniversalClient, cfg redisstore.Config) *redisstore.Store {
	t.Helper()
	s, err := redisstore.Open(t.Context(), client, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// roles returns the parts of a store as the roles of the contract.
func roles(s *redisstore.Store) storetest.Engine {
	return storetest.Engine{
		Lifecycle: s.Sessions, Leases: s.Sessions, Contents: s.Sessions, Inbox: s.Sessions, Directory: s.Sessions,
		Replicas: s.Replicas, Semaphores: s.Semaphores, Rates: s.Rates, Documents: s.Documents, Service: s,
	}
}

// setup is a [storetest.Setup].
func (d *deployment) setup(t *testing.T, o storetest.Options) storetest.Env {
	t.Helper()
	prefix := d.prefix()
	var handles []*redisstore.Store
	open := func(t *testing.T) storetest.Engine {
		t.Helper()
		cfg := config(prefix)
		cfg.Limits, cfg.Schema = o.Limits, o.Schema
		s := open(t, d.client, cfg)
		handles = append(handles, s)
		return roles(s)
	}
	return storetest.Env{
		Open:    open,
		Advance: func(pass time.Duration) { d.advance(t, pass) },
		Unit:    unit,
		Reopen: func(t *testing.T, changed storetest.Options) storetest.Engine {
			t.Helper()
			for _, h := range handles {
				if err := h.Close(); err != nil {
					t.Fatal(err)
				}
			}
			o = changed
			return open(t)
		},
		Checkpoint: func(t *testing.T) func(*testing.T) storetest.Engine {
			t.Helper()
			saved := d.dump(t, prefix)
			return func(t *testing.T) storetest.Engine {
				t.Helper()
				d.restore(t, prefix, saved)
				return open(t)
			}
		},
		Corrupt: func(t *testing.T, damage storetest.Damage) storetest.Engine {
			t.Helper()
			d.corrupt(t, prefix, damage)
			return open(t)
		},
		Disturb: func(t *testing.T) {
			t.Helper()
			d.each(t, func(ctx context.Context, server *redis.Client) error {
				return server.ClientKillByFilter(ctx, "TYPE", "pubsub").Err()
			})
		},
	}
}

// each calls fn for every master.
func (d *deployment) each(t *testing.T, fn func(context.Context, *redis.Client) error) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	var err error
	switch c := d.client.(type) {
	case *redis.ClusterClient:
		err = c.ForEachMaster(ctx, fn)
	case *redis.Client:
		err = fn(ctx, c)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// advance waits until the store's clock has moved on.
func (d *deployment) advance(t *testing.T, pass time.Duration) {
	t.Helper()
	d.each(t, func(ctx context.Context, server *redis.Client) error {
		start, err := server.Time(ctx).Result()
		for now := start; err == nil && now.Sub(start) < pass; now, err = server.Time(ctx).Result() {
			<-time.After(pass - now.Sub(start))
		}
		return err
	})
}

// dump returns the serialized form of all keys with a prefix.
func (d *deployment) dump(t *testing.T, prefix string) map[string]string {
	t.Helper()
	saved := map[string]string{}
	for _, key := range d.keys(t, prefix) {
		value, err := d.client.Dump(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		saved[key] = value
	}
	return saved
}

// restore brings all keys with a prefix back, on one server all at once.
func (d *deployment) restore(t *testing.T, prefix string, saved map[string]string) {
	t.Helper()
	pipe := d.client.Pipeline()
	if _, isCluster := d.client.(*redis.ClusterClient); !isCluster {
		pipe = d.client.TxPipeline()
	}
	for _, key := range d.keys(t, prefix) {
		if saved[key] == "" {
			pipe.Del(t.Context(), key)
		}
	}
	for key, value := range saved {
		pipe.RestoreReplace(t.Context(), key, 0, value)
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (d *deployment) keys(t *testing.T, prefix string) []string {
	t.Helper()
	found := make(chan []string, 16)
	d.each(t, func(ctx context.Context, server *redis.Client) error {
		keys, err := server.Keys(ctx, prefix+":*").Result()
		found <- keys
		return err
	})
	close(found)
	var all []string
	for keys := range found {
		all = append(all, keys...)
	}
	return all
}

// corrupt flips a bit of a stored value.
func (d *deployment) corrupt(t *testing.T, prefix string, damage storetest.Damage) {
	t.Helper()
	ctx, k := t.Context(), redisstore.KeysOf(prefix, damage.Session)
	field := func(key, field string) {
		t.Helper()
		value, err := d.client.HGet(ctx, key, field).Result()
		if err == nil {
			err = d.client.HSet(ctx, key, field, flipped(value)).Err()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	switch damage.Kind {
	case store.KindField:
		field(k.Table(damage.Name), damage.Field)
	case store.KindCard:
		field(k.Meta, "card")
	case store.KindDocument:
		field(redisstore.DocumentsKey(prefix, damage.Name), damage.Field)
	case store.KindItem:
		value, err := d.client.LIndex(ctx, k.List(damage.Name), int64(damage.Index)).Result()
		if err == nil {
			err = d.client.LSet(ctx, k.List(damage.Name), int64(damage.Index), flipped(value)).Err()
		}
		if err != nil {
			t.Fatal(err)
		}
	case store.KindEntry:
		d.rewrite(t, k.Log, func(e redis.XMessage) bool { return e.ID == damage.At.String() })
	case store.KindCommand:
		d.rewrite(t, k.Inbox, func(e redis.XMessage) bool { return e.Values["id"] == damage.Name })
	default:
		t.Fatalf("damage of kind %s is unknown here, want a kind of data", damage.Kind)
	}
}

// rewrite replaces a stream by one in which some entries are damaged.
func (d *deployment) rewrite(t *testing.T, stream string, bad func(redis.XMessage) bool) {
	t.Helper()
	ctx := t.Context()
	entries, err := d.client.XRange(ctx, stream, "-", "+").Result()
	if err == nil {
		err = d.client.Del(ctx, stream).Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, _ := e.Values["d"].(string)
		if bad(e) {
			data = flipped(data)
		}
		values := []any{"d", data}
		if id, ok := e.Values["id"]; ok {
			values = []any{"id", id, "d", data}
		}
		if err := d.client.XAdd(ctx, &redis.XAddArgs{Stream: stream, ID: e.ID, Values: values}).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// flipped is a value with another last byte.
func flipped(value string) string {
	last := len(value) - 1
	return value[:last] + string([]byte{value[last] ^ 1})
}
