package ratelimit_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/everdesk/everdesk/ratelimit"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// For any timing: never more than the limit in any minute, and a client that waits for the
// announced time is allowed.
func TestNeverMoreThanTheLimit(t *testing.T) {
	t.Parallel()
	addr := netip.MustParseAddr("192.0.2.1")
	for _, n := range []int{1, 2, 3, 10, 100, 601} {
		cfg := ratelimit.Config{Connects: n, Resumes: n, Strangers: n, Messages: n, Interactions: n, Renewals: n, Requests: n, Reads: n, Probes: n}
		for name, attempts := range map[string]func(*testing.T) func() time.Duration{
			"message": func(*testing.T) func() time.Duration {
				c := ratelimit.New(cfg, nil).NewConnection("ann")
				return func() time.Duration { return c.Message(wire.UserMessage{}) }
			},
			"interaction": func(*testing.T) func() time.Duration {
				c := ratelimit.New(cfg, nil).NewConnection("ann")
				return func() time.Duration { return c.Message(wire.UserInteractions{}) }
			},
			"renewal": func(*testing.T) func() time.Duration {
				c := ratelimit.New(cfg, nil).NewConnection("ann")
				return func() time.Duration { return c.Message(wire.Auth{}) }
			},
			"stranger": func(*testing.T) func() time.Duration {
				k := ratelimit.New(cfg, nil)
				return func() time.Duration { return k.Address(addr) }
			},
			"request": func(t *testing.T) func() time.Duration {
				t.Helper()
				k := ratelimit.New(cfg, openStore(t))
				return func() time.Duration { return k.Request(t.Context(), "ann") }
			},
			"read": func(t *testing.T) func() time.Duration {
				t.Helper()
				k := ratelimit.New(cfg, openStore(t))
				return func() time.Duration { return k.Read(t.Context(), "ann") }
			},
			"probe": func(t *testing.T) func() time.Duration {
				t.Helper()
				k := ratelimit.New(cfg, openStore(t))
				return func() time.Duration { return k.Probe(t.Context(), "ann") }
			},
			"connect": func(t *testing.T) func() time.Duration {
				t.Helper()
				k := ratelimit.New(cfg, openStore(t))
				return func() time.Duration { return k.Connect(t.Context(), "ann", false) }
			},
			"resume": func(t *testing.T) func() time.Duration {
				t.Helper()
				k := ratelimit.New(cfg, openStore(t))
				return func() time.Duration { return k.Connect(t.Context(), "ann", true) }
			},
		} {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { storm(t, n, attempts(t)) })
			})
		}
	}
}

// storm makes requests in bursts with pauses of all sizes and checks the allowed ones.
func storm(t *testing.T, n int, try func() time.Duration) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	start := time.Now()
	var passed []time.Duration
	attempt := func() time.Duration {
		wait := try()
		if wait == 0 {
			passed = append(passed, time.Since(start))
		}
		return wait
	}
	for len(passed) < 4*n {
		wait := time.Duration(0)
		for range rng.IntN(2*n + 2) {
			wait = attempt()
		}
		switch pause := rng.IntN(4); {
		case pause == 0 && wait > 0:
			time.Sleep(wait)
			if again := attempt(); again != 0 {
				t.Fatalf("after the announced wait of %v: got another wait of %v, want none", wait, again)
			}
		case pause == 1:
			time.Sleep(time.Minute)
		default:
			time.Sleep(time.Duration(rng.Int64N(int64(40 * time.Second / time.Duration(n)))))
		}
	}
	for i := range passed {
		if j := i + n; j < len(passed) && passed[j]-passed[i] < time.Minute {
			t.Fatalf("time in which %d passed: got %v, want at least %v", n+1, passed[j]-passed[i], time.Minute)
		}
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := ratelimit.New(ratelimit.Config{}, openStore(t))
		c := k.NewConnection("ann")
		addr := netip.MustParseAddr("192.0.2.1")
		for name, want := range map[string]struct {
			burst, minute int
			try           func() time.Duration
		}{
			"connect":     {10, 10, func() time.Duration { return k.Connect(t.Context(), "ann", false) }},
			"resume":      {60, 60, func() time.Duration { return k.Connect(t.Context(), "ann", true) }},
			"stranger":    {15, 30, func() time.Duration { return k.Address(addr) }},
			"message":     {100, 100, func() time.Duration { return c.Message(wire.UserMessage{}) }},
			"interaction": {120, 600, func() time.Duration { return c.Message(wire.UserInteractions{}) }},
			"renewal":     {5, 10, func() time.Duration { return c.Message(wire.Auth{}) }},
			"request":     {300, 300, func() time.Duration { return k.Request(t.Context(), "ann") }},
			"read":        {1200, 1200, func() time.Duration { return k.Read(t.Context(), "ann") }},
		} {
			start, passed := time.Now(), 0
			for time.Since(start) < time.Minute {
				wait := want.try()
				if wait == 0 {
					passed++
				}
				if passed == want.burst && wait > 0 && time.Since(start) > 0 && want.burst < want.minute {
					t.Errorf("%s: got a wait of %v after the burst, want none", name, wait)
				}
				if wait > 0 {
					if passed < want.burst {
						t.Errorf("%s: got only %d at once, want %d", name, passed, want.burst)
					}
					time.Sleep(min(wait, time.Until(start.Add(time.Minute))))
				}
			}
			if passed < want.minute-1 || passed > want.minute {
				t.Errorf("%s: %d passed in a minute, want %d", name, passed, want.minute)
			}
		}
	})
}

func TestConnectionsAreIndependent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := ratelimit.New(ratelimit.Config{}, nil)
		c, other := k.NewConnection("ann"), k.NewConnection("ann")
		for wait := time.Duration(0); wait == 0; {
			wait = c.Message(wire.UserMessage{})
		}
		if wait := other.Message(wire.UserMessage{}); wait != 0 {
			t.Errorf("first message of another connection: got a wait of %v, want none", wait)
		}
		if wait := c.Message(wire.UserInteractions{}); wait != 0 {
			t.Errorf("interactions after messages: got a wait of %v, want none", wait)
		}
		for wait := time.Duration(0); wait == 0; {
			wait = c.Message(wire.UserInteractions{})
		}
		for range 1000 {
			if c.Message(wire.Pong{}) != 0 {
				t.Fatal("pong: got a wait, want none")
			}
		}
		if c.Message(wire.Auth{}) != 0 {
			t.Error("new credentials after messages: got a wait, want none")
		}
	})
}

func TestStrikes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, off := range []bool{false, true} {
			k := ratelimit.New(ratelimit.Config{Off: off}, nil)
			c := k.NewConnection("ann")
			for name, s := range map[string]struct {
				limit  int
				strike func() bool
			}{"bad": {5, c.Bad}, "refused": {3, c.Refused}} {
				for i := range s.limit {
					if out := s.strike(); out != (i == s.limit-1) {
						t.Errorf("%s: strike %d: got out %v, want %v", name, i+1, out, i == s.limit-1)
					}
					time.Sleep(time.Second)
				}
				time.Sleep(time.Minute)
				for range 20 { // one less than the limit in any minute
					for range s.limit - 1 {
						if s.strike() {
							t.Fatalf("%s: got out with fewer than %d strikes in a minute, want that allowed", name, s.limit)
						}
					}
					time.Sleep(time.Minute)
				}
			}
		}
	})
}

func TestOff(t *testing.T) {
	t.Parallel()
	k := ratelimit.New(ratelimit.Config{Off: true}, nil) // the store is not even called
	c := k.NewConnection("ann")
	for range 1000 {
		if k.Connect(t.Context(), "ann", false)+k.Connect(t.Context(), "ann", true)+k.Request(t.Context(), "ann")+
			k.Address(netip.MustParseAddr("::1"))+c.Message(wire.UserMessage{})+c.Message(wire.UserInteractions{})+c.Message(wire.Auth{}) != 0 {
			t.Fatal("limits are off: got a wait, want none")
		}
	}
}

func TestUnauthenticatedByAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := ratelimit.New(ratelimit.Config{Strangers: 2}, nil) // one at once
		for _, c := range []struct {
			addr string
			wait bool
		}{
			{"192.0.2.1", false},
			{"192.0.2.1", true},
			{"::ffff:192.0.2.1", true}, // the same one
			{"192.0.2.2", false},
			{"2001:db8::1", false},
			{"2001:db8::ffff", true}, // the same household
			{"2001:db8:0:1::1", false},
			{"fe80::1%eth0", false},
			{"fe80::2%eth1", true},
		} {
			if wait := k.Address(netip.MustParseAddr(c.addr)); (wait > 0) != c.wait {
				t.Errorf("%s: got a wait of %v, want one: %v", c.addr, wait, c.wait)
			}
		}
		if k.Address(netip.Addr{}) != 0 || k.Address(netip.Addr{}) == 0 {
			t.Error("requests without an address: got separate buckets, want one bucket")
		}
	})
}

// 100,000 addresses and users take no more memory than 10,000, and the bucket of an active one is not
// dropped.
func TestMemoryIsBounded(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	counts := &broken{Counts: openStore(t)}
	counts.fail(store.ErrUnavailable) // the store in memory would grow, too
	k := ratelimit.New(ratelimit.Config{}, counts)
	next := uint32(0)
	flood := func(n int) uint64 {
		regular := netip.MustParseAddr("192.0.2.1")
		for range 15 {
			k.Address(regular)
		}
		for range n {
			next++
			k.Address(netip.AddrFrom4([4]byte{10, byte(next >> 16), byte(next >> 8), byte(next)}))
			k.Request(t.Context(), strconv.FormatUint(uint64(next), 10))
			if next%1000 == 0 && k.Address(regular) == 0 && k.Address(regular) == 0 {
				t.Fatal("the bucket of an active user was dropped")
			}
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := flood(10_000)
	after := flood(100_000)
	if after > before+1<<20 {
		t.Errorf("heap: got growth from %d to %d bytes, want at most 1 MiB", before, after)
	}
	runtime.KeepAlive(k)
}

func TestConnectionIsSmall(t *testing.T) { //nolint:paralleltest // it counts the allocations of the process
	if size := unsafe.Sizeof(ratelimit.Connection{}); size > 64 {
		t.Errorf("size of a connection: got %d bytes, want at most 64", size)
	}
	k := ratelimit.New(ratelimit.Config{}, nil)
	var c ratelimit.Connection
	n := testing.AllocsPerRun(100, func() {
		c = k.NewConnection("ann")
		c.Message(wire.Pong{})
	})
	if n != 0 {
		t.Errorf("allocations of an idle connection: got %v, want 0", n)
	}
}

// Reconnecting does not give a full bucket, and neither does a second connection that begins when
// the first ends; a concurrent one has its own.
func TestBucketsSurviveConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := ratelimit.New(ratelimit.Config{Messages: 10}, nil)
		passed := 0
		for range 50 {
			c := k.NewConnection("ann")
			for range 10 {
				if c.Message(wire.UserMessage{}) == 0 {
					passed++
				}
			}
			c.End("ann")
		}
		if passed > 10 {
			t.Errorf("%d messages in a moment, want at most 10", passed)
		}
		other := k.NewConnection("bob")
		if other.Message(wire.UserMessage{}) != 0 {
			t.Error("first message of another user: got a wait, want none")
		}
		time.Sleep(2 * time.Minute)
		c := k.NewConnection("ann")
		if c.Message(wire.UserMessage{}) != 0 {
			t.Error("message two minutes later: got a wait, want none")
		}
	})
}
