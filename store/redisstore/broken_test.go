package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/redisstore"
	"github.com/everdesk/everdesk/wire"
)

// TestWrongTypes puts a string where something else should be, or nothing.
func TestWrongTypes(t *testing.T) {
	t.Parallel()
	d := deploy(t, redistest.Standalone(t).URL())
	load := func(s *redisstore.Store, _ *author) error { return second(s.Sessions.Load(t.Context(), "s")) }
	read := func(s *redisstore.Store, a *author) error {
		return second(s.Sessions.Read(t.Context(), "s", a.lease.Top(), 10))
	}
	commit := func(_ *redisstore.Store, a *author) error {
		return second(a.try(t.Context(), store.Batch{
			Events: [][]byte{[]byte("x")}, Consumed: []string{"c"}, Working: new(true),
			Ops: []store.Op{store.Set("t", "f", nil), store.Push("l", nil), store.Push("fresh", nil)},
		}))
	}
	claim := func(s *redisstore.Store, a *author) error {
		return second(s.Sessions.Claim(t.Context(), "s", a.lease.Replica, a.lease.TTL))
	}
	receive := func(s *redisstore.Store, a *author) error {
		for _, err := range s.Sessions.Receive(t.Context(), a.lease) {
			return err
		}
		return nil
	}
	for name, c := range map[string]struct {
		key   func(redisstore.Keys) string
		gone  bool
		calls map[string]func(*redisstore.Store, *author) error
	}{
		"meta": {
			key:   func(k redisstore.Keys) string { return k.Meta },
			calls: map[string]func(*redisstore.Store, *author) error{"load": load, "read": read, "commit": commit, "claim": claim, "receive": receive},
		},
		"log": {
			key:   func(k redisstore.Keys) string { return k.Log },
			calls: map[string]func(*redisstore.Store, *author) error{"read": read, "commit": commit, "claim": claim},
		},
		"missing log": {
			key: func(k redisstore.Keys) string { return k.Log }, gone: true,
			calls: map[string]func(*redisstore.Store, *author) error{"read": read, "commit": commit, "claim": claim},
		},
		"table": {
			key:   func(k redisstore.Keys) string { return k.Table("t") },
			calls: map[string]func(*redisstore.Store, *author) error{"load": load, "commit": commit},
		},
		"list": {
			key:   func(k redisstore.Keys) string { return k.List("l") },
			calls: map[string]func(*redisstore.Store, *author) error{"load": load, "commit": commit},
		},
		"inbox": {
			key:   func(k redisstore.Keys) string { return k.Inbox },
			calls: map[string]func(*redisstore.Store, *author) error{"commit": commit, "receive": receive},
		},
		"names": {
			key:   func(k redisstore.Keys) string { return k.Base + "names" },
			calls: map[string]func(*redisstore.Store, *author) error{"load": load, "commit": commit},
		},
	} {
		for call, fn := range c.calls {
			t.Run(call+" with a wrong "+name, func(t *testing.T) {
				t.Parallel()
				prefix := d.prefix()
				s := open(t, d.client, config(prefix))
				a, other := newAuthor(t, s, "s"), newAuthor(t, s, "other")
				first := store.Batch{Events: [][]byte{[]byte("e")}, Ops: []store.Op{store.Set("t", "f", nil), store.Push("l", nil)}}
				if _, err := a.try(t.Context(), first); err != nil {
					t.Fatal(err)
				}
				if _, err := s.Sessions.Send(t.Context(), "s", store.Command{ID: "c"}); err != nil {
					t.Fatal(err)
				}
				key := c.key(redisstore.KeysOf(prefix, "s"))
				if err := d.client.Del(t.Context(), key).Err(); err != nil {
					t.Fatal(err)
				}
				if !c.gone {
					if err := d.client.Set(t.Context(), key, "not ours", 0).Err(); err != nil {
						t.Fatal(err)
					}
				}
				untouched := d.dumpOthers(t, prefix, key)
				err := fn(s, a)
				if bad, ok := errors.AsType[*store.CorruptError](err); !ok || bad.Where == "" {
					t.Fatalf("it is %v, want a *CorruptError that says where", err)
				}
				info, err := s.Sessions.Session(t.Context(), "s")
				if err != nil || info.Quarantined == "" {
					t.Errorf("info is %+v, error %v, want quarantined", info, err)
				}
				if err := commit(s, a); !errors.Is(err, store.ErrQuarantined) {
					t.Errorf("commit after that is %v, want ErrQuarantined", err)
				}
				if after := d.dumpOthers(t, prefix, key); !slices.Equal(after, untouched) {
					t.Errorf("other keys were written:\n%q, want\n%q", after, untouched)
				}
				other.mustWrite(t, 1)
				page, err := s.Sessions.Sessions(t.Context(), store.Query{User: "user"})
				if err != nil || len(page.Items) != 2 {
					t.Errorf("listing is %+v, error %v, want both", page, err)
				}
				if err := s.Sessions.Discard(t.Context(), "s"); err != nil {
					t.Errorf("discard: %v", err)
				}
				left, err := d.client.Keys(t.Context(), redisstore.KeysOf(prefix, "s").Base+"*").Result()
				if err != nil || len(left) != 0 {
					t.Errorf("of a discarded session there are the keys %v, error %v, want none", left, err)
				}
				if n, err := d.client.ZCard(t.Context(), redisstore.SharedKeys(prefix, "s", "user")["sessions of a user"]).Result(); err != nil || n != 0 {
					t.Errorf("the user's list has %d sessions, error %v, want 0", n, err)
				}
				other.mustWrite(t, 1)
			})
		}
	}
}

// TestTornBatch makes a batch fail half-way, which only foreign data can. It must
// not be taken for a whole one, however often it is sent.
func TestTornBatch(t *testing.T) {
	t.Parallel()
	d := deploy(t, redistest.Standalone(t).URL())
	prefix := d.prefix()
	s := open(t, d.client, config(prefix))
	a := newAuthor(t, s, "s")
	meta := redisstore.KeysOf(prefix, "s").Meta
	if err := d.client.HSet(t.Context(), meta, "names", "not a number").Err(); err != nil {
		t.Fatal(err)
	}
	_, err := a.try(t.Context(), store.Batch{Events: [][]byte{[]byte("e")}, Ops: []store.Op{store.Set("t", "f", nil)}})
	if !errors.Is(err, store.ErrCorrupt) {
		t.Fatalf("commit is %v, want ErrCorrupt", err)
	}
	if _, err := a.try(t.Context(), store.Batch{Events: [][]byte{[]byte("e")}}); !errors.Is(err, store.ErrQuarantined) {
		t.Errorf("commit after that is %v, want ErrQuarantined", err)
	}
	if events, err := s.Sessions.Read(t.Context(), "s", a.lease.Top(), 10); len(events) > 0 || err != nil {
		t.Errorf("log has %q, error %v, want none of the batch", events, err)
	}
}

// dumpOthers returns all that is stored of a session except for one key and what
// a quarantine changes.
func (d *deployment) dumpOthers(t *testing.T, prefix, except string) []string {
	t.Helper()
	k := redisstore.KeysOf(prefix, "s")
	var all []string
	for _, key := range d.keys(t, k.Base) {
		if key == except || key == k.Meta {
			continue
		}
		value, err := d.client.Dump(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, key+" "+value)
	}
	slices.Sort(all)
	return all
}

// TestOneBatchFromManyGoroutines sends the same batches in the same pipelines.
func TestOneBatchFromManyGoroutines(t *testing.T) {
	t.Parallel()
	s := open(t, deploy(t, redistest.Standalone(t).URL()).client, config("twins"))
	a, other := newAuthor(t, s, "s"), newAuthor(t, s, "other")
	for n := range 50 {
		frame := fmt.Appendf(nil, "event %d", n)
		b := a.batch(store.Batch{Events: [][]byte{frame}, Ops: []store.Op{store.Push("events", frame)}})
		var wg sync.WaitGroup
		receipts := make([]store.Receipt, 8)
		errs := make([]error, 8)
		for i := range receipts {
			wg.Go(func() { receipts[i], errs[i] = s.Sessions.Commit(t.Context(), a.lease, b) })
		}
		other.mustWrite(t, 1)
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		if len(slices.Compact(receipts)) != 1 {
			t.Fatalf("receipts are %v, want one", receipts)
		}
		a.number, a.top, a.acked = b.Number, receipts[0].Top, append(a.acked, string(frame))
	}
	a.verify(t)
	other.verify(t)
}

// TestBrokenSessionInAPipeline has a session whose commits begin to fail half-way,
// in the company of others.
func TestBrokenSessionInAPipeline(t *testing.T) {
	t.Parallel()
	d := deploy(t, redistest.Standalone(t).URL())
	s := open(t, d.client, config("company"))
	authors := make([]*author, 16)
	for i := range authors {
		authors[i] = newAuthor(t, s, wire.SessionID(fmt.Sprint("s", i)))
	}
	errs := make(chan error, len(authors))
	for i, a := range authors {
		go func() {
			errs <- func() error {
				for n := range 40 {
					if i == 0 && n == 20 { // from now on it cannot count its structures
						if err := d.client.HSet(t.Context(), redisstore.KeysOf("company", "s0").Meta, "names", "x").Err(); err != nil {
							return err
						}
					}
					b := store.Batch{Events: [][]byte{[]byte("e")}, Ops: []store.Op{store.Push(fmt.Sprint("list ", n), nil)}}
					_, err := a.try(t.Context(), b)
					if i == 0 && n == 20 && errors.Is(err, store.ErrCorrupt) {
						return nil
					}
					if err != nil {
						return fmt.Errorf("author %d, batch %d: %w", i, n, err)
					}
				}
				return nil
			}()
		}()
	}
	for range authors {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if info, err := s.Sessions.Session(t.Context(), "s0"); err != nil || info.Quarantined == "" {
		t.Errorf("the broken session is %+v, error %v, want quarantined", info, err)
	}
	for _, a := range authors[1:] {
		state, err := s.Sessions.Load(t.Context(), a.lease.Session)
		if err != nil || state.At != a.top || len(state.Lists) != 40 {
			t.Errorf("%s has %d lists at %v, error %v, want 40 at %v", a.lease.Session, len(state.Lists), state.At, err, a.top)
		}
	}
}

// TestTailLearnsOfALoss has a tail that has seen batches which the store then loses,
// and that receives only the batches written after that.
func TestTailLearnsOfALoss(t *testing.T) {
	t.Parallel()
	d := deploy(t, redistest.Standalone(t).URL())
	s := open(t, d.client, config("loss"))
	a := newAuthor(t, s, "s")
	a.mustWrite(t, 3)
	saved := d.dump(t, "loss")
	a.mustWrite(t, 3)
	seen := make(chan wire.Position, 100)
	ended := follow(t, s, "s", func(e store.Event) bool {
		seen <- e.At
		return true
	})
	for at := range seen {
		if at == a.top {
			break
		}
	}
	d.restore(t, "loss", saved)
	if err := a.claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, store.ErrUnknownPosition) && !errors.Is(err, store.ErrAhead) {
		t.Errorf("tail ended with %v, want that its position is not known", err)
	}
	close(seen)
	for at := range seen {
		t.Errorf("the tail shows %v after its end, want nothing", at)
	}
}

// counter counts round trips.
type counter struct {
	mu    sync.Mutex
	trips int
}

func (*counter) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.count()
		return next(ctx, cmd)
	}
}

func (c *counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.count()
		return next(ctx, cmds)
	}
}

func (c *counter) count() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trips++
}

// during returns the round trips that fn makes.
func (c *counter) during(fn func()) int {
	c.mu.Lock()
	before := c.trips
	c.mu.Unlock()
	fn()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.trips - before
}

func TestReadingIsOneRoundTrip(t *testing.T) {
	t.Parallel()
	d := deploy(t, redistest.Standalone(t).URL())
	trips := &counter{}
	d.client.AddHook(trips)
	cfg := redisstore.Config{Prefix: "trips"} // whose regular checks are far apart
	s := open(t, d.client, cfg)
	for _, perBatch := range []int{1, 16, 100, 2000} {
		a := newAuthor(t, s, wire.SessionID(fmt.Sprint("s", perBatch)))
		frames := make([][]byte, perBatch)
		for i := range frames {
			frames[i] = []byte("event")
		}
		for range (2000 + perBatch - 1) / perBatch {
			if _, err := a.try(t.Context(), store.Batch{Events: frames}); err != nil {
				t.Fatal(err)
			}
		}
		after := wire.Position{Epoch: a.lease.Epoch, Seq: 7}
		if _, err := s.Sessions.Read(t.Context(), a.lease.Session, after, 1); err != nil { // Redis knows the script
			t.Fatal(err)
		}
		n := trips.during(func() {
			events, err := s.Sessions.Read(t.Context(), a.lease.Session, after, 1000)
			if err != nil || len(events) != 1000 || events[0].At.Seq != 8 || events[999].At.Seq != 1007 {
				t.Errorf("batches of %d: %d events, error %v, want 1,000 from 8 to 1007", perBatch, len(events), err)
			}
		})
		if n != 1 {
			t.Errorf("batches of %d: reading 1,000 events took %d round trips, want 1", perBatch, n)
		}
	}
}
