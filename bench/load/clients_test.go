//go:build linux

package main

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// faultyEncoder is an encoder that loses, repeats or reorders certain events.
type faultyEncoder struct {
	encoder
	lose, repeat, swap uint64 // numbers of events; 0 means none
}

func (p faultyEncoder) events(dst []byte, session string, seq uint64, n int, stamp time.Duration, receipt bool) []byte {
	one := func(dst []byte, seq uint64) []byte { return p.encoder.events(dst, session, seq, 1, stamp, receipt) }
	for end := seq + uint64(n); seq < end; seq++ {
		switch {
		case p.lose > 0 && seq == p.lose:
		case p.repeat > 0 && seq == p.repeat:
			dst = one(one(dst, seq), seq)
		case p.swap > 0 && seq == p.swap:
			dst = one(one(dst, seq+1), seq)
			seq++
		default:
			dst = one(dst, seq)
		}
	}
	return dst
}

// startFloor runs a floor in this process until the test ends.
func startFloor(t *testing.T) target {
	t.Helper()
	f, err := newFloor()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		defer f.close()
		if err := f.serve(t.Context()); err != nil {
			t.Errorf("floor: %v", err)
		}
	})
	t.Cleanup(wg.Wait) // t.Context has ended by then
	return floorTarget(f.addr, os.Getpid(), defaultEnvelope)
}

func TestInjectedFaultsAreFound(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		faulty faultyEncoder
		want   faults
	}{
		"no fault": {},
		"loss":     {faultyEncoder{lose: 50}, faults{Lost: 6}},
		"repeat":   {faultyEncoder{repeat: 50}, faults{Repeated: 6, Backwards: 6}},
		"reorder":  {faultyEncoder{swap: 20}, faults{Reordered: 6, Backwards: 6}},
		"loss end": {faultyEncoder{lose: 100}, faults{Lost: 6}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tg := startFloor(t)
			tt.faulty.encoder = tg.encoder
			tg.encoder = tt.faulty
			c, err := newClients(tg, []*session{newSession(0, "a", 3, false), newSession(0, "b", 3, true)})
			if err != nil {
				t.Fatal(err)
			}
			defer c.close()
			if err := c.prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			for range 4 { // numbers 1 to 100 after the first, and one more at the end
				for _, r := range c.sessions {
					if err := c.publish(r, 25, c.clock(), false); err != nil {
						t.Fatal(err)
					}
				}
			}
			want := uint64(2 * 3 * 101)
			switch {
			case tt.faulty.lose > 0:
				want -= 6
			case tt.faulty.repeat > 0:
				want += 6
			}
			if err := c.run(t.Context(), "test", func() bool { return c.deliveries >= want }, waitOnly); err != nil {
				t.Fatal(err)
			}
			if got := c.allFaults(); got != tt.want {
				t.Errorf("faults: got %v, want %v", got, tt.want)
			}
		})
	}
}

// A tab that the server closes ends the run with its close code.
func TestClosedTabIsFault(t *testing.T) {
	t.Parallel()
	tg := startFloor(t)
	c, err := newClients(tg, []*session{newSession(0, "a", 1, false)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if err := c.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	// A close frame, prepared like all frames of the floor.
	frame := "\x00\x00\x00\x08\x88\x06\x11\x97gone"
	if err := c.send(c.sessions[0].publisher, []byte(frame)); err != nil {
		t.Fatal(err)
	}
	err = c.run(t.Context(), "test", func() bool { return false }, func() (time.Duration, error) { return tick, c.firstFault() })
	if err == nil || !strings.Contains(err.Error(), `closed with 4503 "gone"`) {
		t.Errorf("got %v, want the close code", err)
	}
	if got := c.allFaults(); got.Closed != 1 {
		t.Errorf("faults: got %v, want one closed", got)
	}
}

func TestHeartbeatsAreAnswered(t *testing.T) {
	t.Parallel()
	tg := startFloor(t)
	c, err := newClients(tg, []*session{newSession(0, "a", 1, false)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if err := c.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	ping := `{"type":"ping"}`
	frame := "\x00\x00\x00\x11\x81\x0f" + ping
	if err := c.send(c.sessions[0].publisher, []byte(frame)); err != nil {
		t.Fatal(err)
	}
	if err := c.run(t.Context(), "test", func() bool { return c.pings == 1 }, waitOnly); err != nil {
		t.Fatal(err)
	}
	if f := c.allFaults(); f.any() {
		t.Errorf("faults: got %v, want none", f)
	}
}
