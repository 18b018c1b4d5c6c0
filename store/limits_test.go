package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

func TestDefaultLimits(t *testing.T) {
	t.Parallel()
	want := store.Limits{
		LogEvents: 10_000, LogBytes: 16 << 20, BatchBytes: 8 << 20, BatchItems: 4096,
		InboxCommands: 256, CommandBytes: 1 << 20, DocumentBytes: 1 << 20,
	}
	if got := (store.Limits{}).WithDefaults(); got != want {
		t.Errorf("defaults are %+v, want %+v", got, want)
	}
	some := store.Limits{LogEvents: 1, BatchItems: 2, DocumentBytes: 3}
	got := some.WithDefaults()
	if got.LogEvents != 1 || got.BatchItems != 2 || got.DocumentBytes != 3 || got.LogBytes != want.LogBytes {
		t.Errorf("limits %+v with defaults are %+v, want the given ones kept and the others of %+v", some, got, want)
	}
}

func TestCheckBatch(t *testing.T) {
	t.Parallel()
	limits := store.Limits{BatchBytes: 100, BatchItems: 5}.WithDefaults()
	lease := store.Lease{Session: "s", Replica: "r", Epoch: 7}
	frames := func(lengths ...int) [][]byte {
		var out [][]byte
		for _, n := range lengths {
			out = append(out, []byte(strings.Repeat("x", n)))
		}
		return out
	}
	ops := func(ops ...store.Op) store.Batch { return store.Batch{Ops: ops} }
	name := strings.Repeat("n", 256)
	for what, c := range map[string]struct {
		b    store.Batch
		want error
	}{
		"nothing":                  {store.Batch{}, nil},
		"bytes at the limit":       {store.Batch{Events: frames(40), Card: make([]byte, 30), Ops: []store.Op{store.Set("t", "f", make([]byte, 30))}}, nil},
		"bytes over it by a frame": {store.Batch{Events: frames(50, 51)}, store.ErrTooLarge},
		"bytes over it by a card":  {store.Batch{Events: frames(50), Card: make([]byte, 51)}, store.ErrTooLarge},
		"bytes over it by a value": {ops(store.Push("l", frames(50, 51)...)), store.ErrTooLarge},
		"items at the limit":       {store.Batch{Events: frames(1, 1), Ops: []store.Op{store.Drop("l")}, Consumed: []string{"a", "b"}}, nil},
		"items over it":            {store.Batch{Events: frames(1, 1, 1), Ops: []store.Op{store.Drop("l")}, Consumed: []string{"a", "b"}}, store.ErrTooLarge},
		"items over it by values":  {ops(store.Push("l", frames(1, 1, 1, 1, 1)...)), store.ErrTooLarge},
		"an empty frame":           {store.Batch{Events: frames(1, 0)}, store.ErrInvalid},
		"a line break":             {store.Batch{Events: [][]byte{[]byte("a\n")}}, store.ErrInvalid},
		"a carriage return":        {store.Batch{Events: [][]byte{[]byte("a\r\x00")}}, nil},
		"names as long as can be":  {ops(store.Set(name, name, nil)), nil},
		"a longer table":           {ops(store.Set(name+"n", "f", nil)), store.ErrInvalid},
		"a longer field":           {ops(store.Unset("t", name+"n")), store.ErrInvalid},
		"no list":                  {ops(store.Push("")), store.ErrInvalid},
		"no field":                 {ops(store.Unset("t", "")), store.ErrInvalid},
		"no command":               {store.Batch{Consumed: []string{""}}, store.ErrInvalid},
		"every op": {store.Batch{Ops: []store.Op{
			store.Set("t", "f", nil), store.Unset("t", "f"), store.Clear("t"), store.Replace("l", -9, nil),
		}}, store.ErrTooLarge}, // their values are items, too
		"ops of lists":     {ops(store.Push("l"), store.KeepLast("l", 0), store.KeepFirst("l", 0), store.Drop("l")), nil},
		"a negative bound": {ops(store.KeepFirst("l", -1)), store.ErrInvalid},
		"no kind":          {ops(store.Op{Name: "t"}), store.ErrInvalid},
		"an unknown kind":  {ops(store.Op{Kind: store.OpDrop + 1, Name: "t"}), store.ErrInvalid},
		"no value":         {ops(store.Op{Kind: store.OpReplace, Name: "l"}), store.ErrInvalid},
		"two values":       {ops(store.Op{Kind: store.OpSet, Name: "t", Field: "f", Values: frames(1, 1)}), store.ErrInvalid},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			c.b.Number, c.b.Prev = 1, lease.Top()
			if err := limits.CheckBatch(lease, c.b); !errors.Is(err, c.want) {
				t.Errorf("got error %v, want %v", err, c.want)
			}
		})
	}
	if err := limits.CheckBatch(lease, store.Batch{Prev: lease.Top()}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("batch 0: got error %v, want ErrInvalid", err)
	}
	for _, epoch := range []uint64{0, 6, 8} {
		b := store.Batch{Number: 1, Prev: wire.Position{Epoch: epoch}}
		if err := limits.CheckBatch(lease, b); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("prev of epoch %d: got error %v, want ErrInvalid", epoch, err)
		}
	}
}

func TestCheckName(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"a", " ", "a:b/{c}", "ünïcödé", "\xff", strings.Repeat("x", 256)} {
		if err := store.CheckName("thing", good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", "\x00", "a\nb", "tab\t", "\x1f", "\x7f", strings.Repeat("x", 257)} {
		err := store.CheckName("thing", bad)
		if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "thing") {
			t.Errorf("%q: got error %v, want ErrInvalid that names the thing", bad, err)
		}
	}
}

func TestCheckCommandAndDocument(t *testing.T) {
	t.Parallel()
	limits := store.Limits{CommandBytes: 3, DocumentBytes: 4}.WithDefaults()
	for _, c := range []struct {
		c    store.Command
		want error
	}{
		{store.Command{ID: "c", Data: make([]byte, 3)}, nil},
		{store.Command{ID: "c"}, nil},
		{store.Command{ID: "c", Data: make([]byte, 4)}, store.ErrTooLarge},
		{store.Command{}, store.ErrInvalid},
	} {
		if err := limits.CheckCommand(c.c); !errors.Is(err, c.want) {
			t.Errorf("%+v: got error %v, want %v", c.c, err, c.want)
		}
	}
	for _, c := range []struct {
		d    store.Document
		want error
	}{
		{store.Document{Collection: "c", Name: "n", Data: make([]byte, 4), TTL: time.Second}, nil},
		{store.Document{Collection: "c", Name: "n", Data: make([]byte, 5)}, store.ErrTooLarge},
		{store.Document{Collection: "c", Name: "n", TTL: -1}, store.ErrInvalid},
		{store.Document{Collection: "c"}, store.ErrInvalid},
		{store.Document{Name: "n"}, store.ErrInvalid},
	} {
		if err := limits.CheckDocument(c.d); !errors.Is(err, c.want) {
			t.Errorf("%+v: got error %v, want %v", c.d, err, c.want)
		}
	}
}

func TestCheckSlot(t *testing.T) {
	t.Parallel()
	good := store.SlotRequest{Semaphore: "s", Limit: 1, Holder: "h", Key: "k", TTL: 1}
	if err := store.CheckSlot(good); err != nil {
		t.Errorf("%+v: %v", good, err)
	}
	for what, change := range map[string]func(*store.SlotRequest){
		"limit":     func(r *store.SlotRequest) { r.Limit = 0 },
		"live":      func(r *store.SlotRequest) { r.TTL = 0 },
		"semaphore": func(r *store.SlotRequest) { r.Semaphore = "" },
		"holder":    func(r *store.SlotRequest) { r.Holder = "\n" },
		"key":       func(r *store.SlotRequest) { r.Key = "" },
	} {
		bad := good
		change(&bad)
		if err := store.CheckSlot(bad); !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), what) {
			t.Errorf("%+v: got error %v, want ErrInvalid that names its %s", bad, err, what)
		}
	}
}

func TestCheckSession(t *testing.T) {
	t.Parallel()
	limits := store.Limits{DocumentBytes: 2}.WithDefaults()
	for _, c := range []struct {
		s    store.NewSession
		want error
	}{
		{store.NewSession{ID: "s", User: "u", Card: make([]byte, 2)}, nil},
		{store.NewSession{ID: "s", User: "u", Card: make([]byte, 3)}, store.ErrTooLarge},
		{store.NewSession{ID: "s"}, store.ErrInvalid},
		{store.NewSession{User: "u"}, wire.ErrID},
		{store.NewSession{ID: "a:b", User: "u"}, wire.ErrID},
	} {
		if err := limits.CheckSession(c.s); !errors.Is(err, c.want) {
			t.Errorf("%+v: got error %v, want %v", c.s, err, c.want)
		}
	}
}

func TestCheckTTL(t *testing.T) {
	t.Parallel()
	for ttl, want := range map[time.Duration]error{1: nil, time.Hour: nil, 0: store.ErrInvalid, -1: store.ErrInvalid} {
		if err := store.CheckTTL(ttl); !errors.Is(err, want) {
			t.Errorf("%v: got error %v, want %v", ttl, err, want)
		}
	}
}

func TestPageLimit(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{-1: 100, 0: 100, 1: 1, 100: 100, 999: 999, 1000: 1000, 1001: 1000, 1 << 40: 1000} {
		if got := store.PageLimit(n); got != want {
			t.Errorf("PageLimit(%d) = %d, want %d", n, got, want)
		}
	}
}

func TestNextPositions(t *testing.T) {
	t.Parallel()
	first, last := store.NextPositions(wire.Position{Epoch: 7, Seq: 4}, 3)
	if first != (wire.Position{Epoch: 7, Seq: 5}) || last != (wire.Position{Epoch: 7, Seq: 7}) {
		t.Errorf("three events after 7-4 are at %v to %v, want 7-5 to 7-7", first, last)
	}
}
