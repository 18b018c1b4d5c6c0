package wire_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/wire"
)

func drawPosition(t *rapid.T) wire.Position {
	// Small numbers too, or no two would ever have the same epoch.
	number := rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 3))
	return wire.Position{Epoch: number.Draw(t, "epoch"), Seq: number.Draw(t, "seq")}
}

func TestPositionsAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPosition(t)
		got, err := wire.ParsePosition(p.String())
		if err != nil || got != p {
			t.Fatalf("%v parsed again: got %v, error %v, want the same position", p, got, err)
		}
		text, err := json.Marshal(map[string]wire.Position{"at": p})
		if err != nil {
			t.Fatalf("marshal: %v", err)
		}
		var back map[string]wire.Position
		if err := json.Unmarshal(text, &back); err != nil || back["at"] != p {
			t.Fatalf("decoding %s: got %v, error %v, want %v", text, back, err, p)
		}
	})
}

func TestPositionsAreTotallyOrdered(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, q, r := drawPosition(t), drawPosition(t), drawPosition(t)
		if p.Compare(q) != -q.Compare(p) {
			t.Fatalf("comparing %v and %v: got %d and %d, want opposite signs", p, q, p.Compare(q), q.Compare(p))
		}
		if (p.Compare(q) == 0) != (p == q) {
			t.Fatalf("comparing %v and %v: got %d, want 0 only for the same position", p, q, p.Compare(q))
		}
		if p.Compare(q) <= 0 && q.Compare(r) <= 0 && p.Compare(r) > 0 {
			t.Fatalf("%v ≤ %v ≤ %v, but not %v ≤ %v", p, q, r, p, r)
		}
		if p.Epoch != q.Epoch && p.Compare(q) != cmp.Compare(p.Epoch, q.Epoch) {
			t.Fatalf("a later epoch is not later: %v and %v", p, q)
		}
		if !p.IsZero() && p.Compare(wire.Position{}) <= 0 {
			t.Fatalf("%v is not after the beginning", p)
		}
	})
}

// notPositions are invalid positions that a client may send as resume_from.
var notPositions = []string{
	"", "-", "1", "1-", "-1", "-1-1", "1--1", "+1-1", "1-+1", "01-1", "1-01", "1-1-1", " 1-1", "1-1 ", "1_0-1", "0x1-1",
	"18446744073709551616-0", "0-18446744073709551616", "１-1", "4-127\n", "null", "../x",
}

func TestGarbageIsNotAPosition(t *testing.T) {
	t.Parallel()
	for _, s := range notPositions {
		if p, err := wire.ParsePosition(s); !errors.Is(err, wire.ErrPosition) || !p.IsZero() {
			t.Errorf("parsing %q: got %v, error %v, want %v and no position", s, p, err, wire.ErrPosition)
		}
	}
	var p wire.Position
	if err := p.UnmarshalText([]byte("x")); !errors.Is(err, wire.ErrPosition) {
		t.Errorf("UnmarshalText of x: got error %v, want %v", err, wire.ErrPosition)
	}
}

func FuzzParsePosition(f *testing.F) {
	for _, s := range append(slices.Clone(notPositions), "0-0", "4-127", "18446744073709551615-18446744073709551615") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := wire.ParsePosition(s)
		if err != nil {
			if !errors.Is(err, wire.ErrPosition) {
				t.Fatalf("%q: got error %v, want %v", s, err, wire.ErrPosition)
			}
			return
		}
		if p.String() != s {
			t.Fatalf("%q parsed and written: got %q, want the same text", s, p)
		}
	})
}
