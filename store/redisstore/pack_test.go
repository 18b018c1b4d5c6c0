package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/redisstore"
	"github.com/everdesk/everdesk/wire"
)

// packed returns a store with the packed session "s" that has an event and a list.
func packed(t *testing.T, d *deployment, prefix string) *redisstore.Store {
	t.Helper()
	s := open(t, d.client, config(prefix))
	a := newAuthor(t, s, "s")
	if _, err := a.try(t.Context(), store.Batch{Events: [][]byte{[]byte(`{"x":1}`)}, Ops: []store.Op{store.Push("l", []byte("item")), store.Set("t", "f", []byte("value"))}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Sessions.Pack(t.Context(), a.lease); err != nil {
		t.Fatal(err)
	}
	return s
}

// ownKeys returns the last parts of the keys of a session.
func ownKeys(t *testing.T, d *deployment, prefix string) []string {
	t.Helper()
	base := redisstore.KeysOf(prefix, "s").Base
	var own []string
	for _, key := range d.keys(t, prefix) {
		if rest, ok := strings.CutPrefix(key, base); ok {
			own = append(own, rest)
		}
	}
	slices.Sort(own)
	return own
}

func TestPackHasTwoKeys(t *testing.T) {
	t.Parallel()
	d := deploy(t, redistest.Standalone(t).URL())
	prefix := d.prefix()
	s := packed(t, d, prefix)
	if got, want := ownKeys(t, d, prefix), []string{"meta", "pack"}; !slices.Equal(got, want) {
		t.Errorf("packed session has keys %v, want %v", got, want)
	}
	if _, err := s.Sessions.Claim(t.Context(), "s", "b", time.Hour); err != nil {
		t.Fatal(err)
	}
	if got := ownKeys(t, d, prefix); slices.Contains(got, "pack") || !slices.Contains(got, "l:l") {
		t.Errorf("claimed session has keys %v, want no pack", got)
	}
}

// An unpack that Redis did not finish, or whose process was killed before the claim, loses nothing:
// the next call starts over.
func TestUnfinishedUnpackIsRepeated(t *testing.T) {
	t.Parallel()
	d := deploy(t, redistest.Standalone(t).URL())
	for n, leave := range []func(k redisstore.Keys) error{
		func(redisstore.Keys) error { return nil },
		func(k redisstore.Keys) error {
			return errors.Join(d.client.RPush(t.Context(), k.List("l"), "left").Err(), d.client.HSet(t.Context(), k.Table("t"), "left", "x").Err())
		},
	} {
		prefix := d.prefix()
		s := packed(t, d, prefix)
		if err := leave(redisstore.KeysOf(prefix, "s")); err != nil {
			t.Fatal(err)
		}
		if n == 0 { // unpacked by a process that was killed then
			if _, err := s.Sessions.Send(t.Context(), "s", store.Command{ID: "c"}); err != nil {
				t.Fatal(err)
			}
		}
		lease, err := s.Sessions.Claim(t.Context(), "s", "b", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		state, err := s.Sessions.Load(t.Context(), "s")
		if err != nil || len(state.Tables["t"]) != 1 || fmt.Sprintf("%s", state.Lists["l"]) != "[item]" {
			t.Errorf("state after a claim is %v, error %v", state, err)
		}
		if events, err := s.Sessions.Read(t.Context(), "s", lease.Prev, 10); err != nil || len(events) != 1 {
			t.Errorf("log after the pack has %d events, error %v, want the claim", len(events), err)
		}
	}
}

// Sessions are packed and claimed again and again while Redis is killed: in the middle of both, too.
func TestKilledRedisKeepsPacks(t *testing.T) {
	t.Parallel()
	server := redistest.Standalone(t, "--appendonly", "yes", "--appendfsync", "always")
	s := open(t, deploy(t, server.URL()).client, config("packs"))
	const sessions, packs, kills = 6, 40, 4
	ctx, fail := context.WithCancelCause(t.Context())
	defer fail(nil)
	var done atomic.Int64
	reached := make(chan struct{}, kills+1)
	authors := make([]*author, sessions)
	var wg sync.WaitGroup
	for i := range authors {
		authors[i] = newAuthor(t, s, wire.SessionID(fmt.Sprint("s", i)))
	}
	for _, a := range authors {
		wg.Go(func() {
			for range packs {
				err := a.write(ctx)
				if err == nil {
					err = s.Sessions.Pack(ctx, a.lease)
				}
				// Without an answer the session may be packed or not. The next write finds out.
				if err != nil && !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrFenced) {
					fail(err)
					return
				}
				if done.Add(1)%(sessions*packs/(kills+1)) == 0 {
					reached <- struct{}{}
				}
			}
		})
	}
	for range kills {
		select {
		case <-reached:
		case <-ctx.Done():
			t.Fatal(context.Cause(ctx))
		}
		server.Kill(t)
		server.Restart(t)
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		t.Fatal(err)
	}
	for _, a := range authors {
		a.verify(t)
	}
}

func TestBrokenPackQuarantinesItsSession(t *testing.T) {
	t.Parallel()
	d := deploy(t, redistest.Standalone(t).URL())
	for name, value := range map[string]string{"missing": "", "short": "x", "damaged": "\x01aaaabbbbbbbb"} {
		prefix := d.prefix()
		s := packed(t, d, prefix)
		key := redisstore.KeysOf(prefix, "s").Base + "pack"
		err := d.client.Del(t.Context(), key).Err()
		if value != "" {
			err = d.client.Set(t.Context(), key, value, 0).Err()
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Sessions.Claim(t.Context(), "s", "b", time.Hour); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s: claim: error %v, want %v", name, err, store.ErrCorrupt)
		}
		if _, err := s.Sessions.Load(t.Context(), "s"); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s: load: error %v, want %v", name, err, store.ErrCorrupt)
		}
		if i, err := s.Sessions.Session(t.Context(), "s"); err != nil || i.Quarantined == "" {
			t.Errorf("%s: session is %+v, error %v, want it quarantined", name, i, err)
		}
	}
}

// A store has the first format until a session is packed, so that earlier versions can use it.
func TestPackRaisesTheFormat(t *testing.T) {
	t.Parallel()
	d := deploy(t, redistest.Standalone(t).URL())
	prefix := d.prefix()
	open(t, d.client, config(prefix))
	if got := d.client.Get(t.Context(), redisstore.FormatKey(prefix)).Val(); got != "1" {
		t.Errorf("format of a new store is %q, want 1", got)
	}
	packed(t, d, prefix)
	if got := d.client.Get(t.Context(), redisstore.FormatKey(prefix)).Val(); got != "2" {
		t.Errorf("format of a store with packs is %q, want 2", got)
	}
	open(t, d.client, config(prefix))
}
