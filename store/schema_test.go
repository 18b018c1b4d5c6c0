package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/store"
)

func TestSealOpen(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := store.Schema{Version: rapid.Byte().Draw(t, "version")}
		dst := rapid.SliceOf(rapid.Byte()).Draw(t, "dst")
		value := rapid.SliceOf(rapid.Byte()).Draw(t, "value")
		sealed := s.Seal(bytes.Clone(dst), value)
		if !bytes.HasPrefix(sealed, dst) {
			t.Fatalf("Seal returns %x, want the prefix %x unchanged", sealed, dst)
		}
		got, err := s.Open(store.KindField, "t/f", sealed[len(dst):])
		if err != nil || !bytes.Equal(got, value) {
			t.Fatalf("Open = %x, %v, want %x", got, err, value)
		}
	})
}

func TestOpenFindsEveryFlippedBit(t *testing.T) {
	t.Parallel()
	for _, s := range []store.Schema{{}, {Version: 7, Upgrade: upgrade}} {
		sealed := s.Seal(nil, []byte("some value"))
		for bit := range len(sealed) * 8 {
			bad := bytes.Clone(sealed)
			bad[bit/8] ^= 1 << (bit % 8)
			_, err := s.Open(store.KindItem, "list", bad)
			isCorrupt(t, err, "item list")
		}
		for n := range sealed {
			_, err := s.Open(store.KindItem, "list", sealed[:n])
			isCorrupt(t, err, "item list")
		}
		_, err := s.Open(store.KindItem, "list", append(sealed, 0))
		isCorrupt(t, err, "item list")
	}
}

func isCorrupt(t *testing.T, err error, where string) {
	t.Helper()
	c, ok := errors.AsType[*store.CorruptError](err)
	if !ok || c.Where != where || c.Reason == "" {
		t.Errorf("got error %v, want a *CorruptError of %q", err, where)
	}
	if errors.Is(err, store.ErrNewerSchema) {
		t.Errorf("error %v of damaged data is ErrNewerSchema, want it not to be", err)
	}
}

func upgrade(kind store.Kind, name string, from uint8, value []byte) ([]byte, error) {
	if from == 2 {
		return nil, errors.New("version 2 was a mistake")
	}
	return fmt.Appendf(nil, "%s %s %d %s", kind, name, from, value), nil
}

func TestOpenOfOtherVersions(t *testing.T) {
	t.Parallel()
	old := store.Schema{}.Seal(nil, []byte("value")) // version 1
	current := store.Schema{Version: 3, Upgrade: upgrade}

	got, err := current.Open(store.KindDocument, "c/n", old)
	if want := "document c/n 1 value"; err != nil || string(got) != want {
		t.Errorf("Open of version 1 = %q, %v, want %q", got, err, want)
	}
	_, err = current.Open(store.KindCard, "s", store.Schema{Version: 2}.Seal(nil, nil))
	isCorrupt(t, err, "card s")
	_, err = store.Schema{Version: 3}.Open(store.KindCard, "s", old)
	isCorrupt(t, err, "card s")

	// A value may need a newer program than the others.
	needs2 := store.Schema{}.SealAs(nil, []byte("value"), 2)
	for _, s := range []store.Schema{{}, {Version: 2}} {
		if got, err := s.Open(store.KindField, "t/f", needs2); err != nil || string(got) != "value" {
			t.Errorf("version %d opens version 2 as %q, %v, want the value", s.Version, got, err)
		}
	}
	for _, s := range []store.Schema{{}, {Version: 1, Upgrade: upgrade}, {Version: 2}} {
		_, err = s.Open(store.KindEntry, "1-2", current.Seal(nil, []byte("value")))
		if !errors.Is(err, store.ErrNewerSchema) || errors.Is(err, store.ErrCorrupt) {
			t.Errorf("version %d opens version 3 with error %v, want ErrNewerSchema", s.Version, err)
		}
	}
	// Version 1 by name and by default are the same.
	if one := (store.Schema{Version: 1}).Seal(nil, []byte("value")); !bytes.Equal(one, old) {
		t.Errorf("versions 0 and 1 are sealed as %x and %x, want the same", old, one)
	}
}
