package filestore_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/store/storetest"
	"github.com/everdesk/everdesk/wire"
)

// chronicle writes to two sessions in turns, with two claims each, and returns
// where the batches of the first one lie.
func chronicle(t *testing.T, dir string) (tops []wire.Position, places []int64, file string) {
	t.Helper()
	s := open(t, dir, filestore.Config{})
	for _, id := range []wire.SessionID{"s", "other"} {
		ok(t, s.Sessions.Create(t.Context(), store.NewSession{ID: id, User: "u", Card: []byte("card")}))
	}
	for claim := range 2 {
		leases, prev := map[wire.SessionID]store.Lease{}, map[wire.SessionID]wire.Position{}
		for _, id := range []wire.SessionID{"s", "other"} {
			lease, err := s.Sessions.Claim(t.Context(), id, "a", time.Hour)
			ok(t, err)
			leases[id], prev[id] = lease, lease.Top()
		}
		for n := range uint64(4) {
			for _, id := range []wire.SessionID{"s", "other"} {
				r, err := s.Sessions.Commit(t.Context(), leases[id], store.Batch{
					Number: n + 1, Prev: prev[id], Events: [][]byte{fmt.Append(nil, claim, n, "a"), fmt.Append(nil, claim, n, "b")},
					Ops: []store.Op{store.Set("t", "f", fmt.Append(nil, claim, n)), store.Push("l", fmt.Append(nil, claim, n))},
				})
				ok(t, err)
				prev[id] = r.Top
			}
			tops = append(tops, prev["s"])
			f, off, size := s.Locate(storetest.Damage{Kind: store.KindEntry, Session: "s", At: prev["s"]})
			file, places = f, append(places, off+size/2)
		}
	}
	ok(t, s.Close())
	return tops, places, file
}

// TestDamagedBatch damages each batch of a session while the store is closed.
// The session is set aside, what is left of its log has no gap, others run on,
// and after lifting the quarantine it goes on for good.
func TestDamagedBatch(t *testing.T) {
	t.Parallel()
	good := quickDir(t)
	tops, places, file := chronicle(t, good)
	for i, off := range places {
		t.Run(fmt.Sprint("batch ", i), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(quickDir(t), "store")
			ok(t, os.CopyFS(dir, os.DirFS(good)))
			flip(t, filepath.Join(dir, file), off, 3)
			s := open(t, dir, filestore.Config{})
			info, err := s.Sessions.Session(t.Context(), "s")
			ok(t, err)
			if !strings.Contains(info.Quarantined, file) {
				t.Errorf("session is quarantined because of %q, want the file named", info.Quarantined)
			}
			if _, err := s.Sessions.Claim(t.Context(), "s", "b", time.Hour); !errors.Is(err, store.ErrQuarantined) {
				t.Errorf("claim ended with %v, want ErrQuarantined", err)
			}
			if i == len(tops)-1 { // nothing came after it
				if info.Top != tops[i-1] {
					t.Errorf("log ends at %v, want %v", info.Top, tops[i-1])
				}
			} else if info.Top != tops[len(tops)-1] || info.Oldest.Compare(tops[i]) <= 0 {
				t.Errorf("log is from %v to %v, want all after %v", info.Oldest, info.Top, tops[i])
			}
			checkUnbroken(t, s, info)
			if _, err := s.Sessions.Read(t.Context(), "s", wire.Position{}, 10); !errors.Is(err, store.ErrTrimmed) && i < len(tops)-1 {
				t.Errorf("reading from the beginning: got error %v, want ErrTrimmed", err)
			}
			other, err := s.Sessions.Session(t.Context(), "other")
			ok(t, err)
			if events, err := s.Sessions.Read(t.Context(), "other", wire.Position{}, 100); err != nil || len(events) != 18 || other.Quarantined != "" {
				t.Errorf("the other session has %d events, error %v, quarantine %q, want 18 events, none and no quarantine", len(events), err, other.Quarantined)
			}

			ok(t, s.Sessions.Quarantine(t.Context(), "s", ""))
			lease, err := s.Sessions.Claim(t.Context(), "s", "a", time.Hour)
			ok(t, err)
			_, err = s.Sessions.Commit(t.Context(), lease, store.Batch{Number: 1, Prev: lease.Top(), Events: [][]byte{[]byte("on")}})
			ok(t, err)
			ok(t, s.Close())
			s = open(t, dir, filestore.Config{})
			info, err = s.Sessions.Session(t.Context(), "s")
			ok(t, err)
			if info.Quarantined != "" || info.Top.Epoch != lease.Epoch {
				t.Errorf("session is %+v after opening again, want no quarantine and epoch %d", info, lease.Epoch)
			}
			checkUnbroken(t, s, info)
			if reports, err := filepath.Glob(filepath.Join(dir, "aside", "*.txt")); err != nil || len(reports) == 0 {
				t.Errorf("there are %d reports, error %v, want at least one", len(reports), err)
			}
		})
	}
}

// checkUnbroken reads a log and looks for gaps within epochs.
func checkUnbroken(t *testing.T, s *filestore.Store, info store.Info) {
	t.Helper()
	events, err := s.Sessions.Read(t.Context(), info.ID, info.Oldest, 100)
	ok(t, err)
	at := info.Oldest
	for _, e := range events {
		if next := (wire.Position{Epoch: at.Epoch, Seq: at.Seq + 1}); e.At != next && e.At.Seq != 0 {
			t.Errorf("event %v follows %v, want its next position", e.At, at)
		}
		at = e.At
	}
	if at != info.Top {
		t.Errorf("log ends at %v, want %v", at, info.Top)
	}
}

// TestFlippedBits flips bits everywhere in a closed store. It opens, nothing
// wrong is ever shown, and whoever is not quarantined is whole but perhaps for
// the newest batch.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	good := quickDir(t)
	chronicle(t, good)
	const file = "00000001.seg"
	data, err := os.ReadFile(filepath.Join(good, file))
	ok(t, err)
	for off := 0; off < len(data); off += 23 {
		dir := filepath.Join(quickDir(t), "store")
		ok(t, os.CopyFS(dir, os.DirFS(good)))
		bad := bytes.Clone(data)
		bad[off] ^= 1 << (off % 8)
		ok(t, os.WriteFile(filepath.Join(dir, file), bad, 0o600))
		s := open(t, dir, filestore.Config{})
		page, err := s.Sessions.Sessions(t.Context(), store.Query{})
		ok(t, err)
		for _, info := range page.Items {
			checkUnbroken(t, s, info)
			state, err := s.Sessions.Load(t.Context(), info.ID)
			ok(t, err)
			if f := string(state.Tables["t"]["f"]); info.Quarantined == "" && f != "1 3" && f != "1 2" {
				t.Fatalf(`bit flipped at %d: field of %s is %q, want "1 2" or "1 3"`, off, info.ID, f)
			}
			if card := string(info.Card); card != "card" && card != "" {
				t.Fatalf(`bit flipped at %d: card of %s is %q, want "card" or nothing`, off, info.ID, card)
			}
			if info.Quarantined != "" {
				ok(t, s.Sessions.Discard(t.Context(), info.ID))
			}
		}
		ok(t, s.Close())
	}
}

// TestQuarantineIsKept finds damage while the store is open, and remembers.
func TestQuarantineIsKept(t *testing.T) {
	t.Parallel()
	dir := quickDir(t)
	synctest.Test(t, func(t *testing.T) {
		s := open(t, dir, filestore.Config{})
		lease := owned(t, s)
		_, err := s.Sessions.Commit(t.Context(), lease, store.Batch{Number: 1, Prev: lease.Top(), Ops: []store.Op{store.Set("t", "f", []byte("value"))}})
		ok(t, err)
		file, off, size := s.Locate(storetest.Damage{Kind: store.KindField, Session: "s", Name: "t", Field: "f"})
		flip(t, filepath.Join(dir, file), off+size-1, 0)
		_, err = s.Sessions.Load(t.Context(), "s")
		if c, found := errors.AsType[*store.CorruptError](err); !found || !strings.Contains(c.Reason, file) {
			t.Fatalf("got error %v, want a *CorruptError that names the file", err)
		}
		synctest.Wait()
		before, err := s.Sessions.Session(t.Context(), "s")
		ok(t, err)
		flip(t, filepath.Join(dir, file), off+size-1, 0) // as if the cable had been loose
		ok(t, s.Close())
		s = open(t, dir, filestore.Config{})
		after, err := s.Sessions.Session(t.Context(), "s")
		ok(t, err)
		if before.Quarantined == "" || after.Quarantined != before.Quarantined {
			t.Errorf("quarantine is %q after opening again, want %q", after.Quarantined, before.Quarantined)
		}
	})
}

// TestEndedDocumentsAreRemoved looks for the bytes of documents whose time is
// over.
func TestEndedDocumentsAreRemoved(t *testing.T) {
	t.Parallel()
	dir := quickDir(t)
	synctest.Test(t, func(t *testing.T) {
		s := open(t, dir, filestore.Config{SegmentBytes: 4 << 10})
		for i := range 50 {
			_, err := s.Documents.Put(t.Context(), store.Document{
				Collection: "tickets", Name: strconv.Itoa(i), Data: []byte(strings.Repeat("secret", 100)), TTL: time.Duration(i+1) * time.Minute,
			})
			ok(t, err)
		}
		left := func() int {
			page, err := s.Documents.Documents(t.Context(), "tickets", "", 1000)
			ok(t, err)
			return len(page.Items)
		}
		for _, want := range []int{50, 40, 30} {
			if got := left(); got != want {
				t.Errorf("%d documents are left, want %d", got, want)
			}
			time.Sleep(10 * time.Minute)
		}
		ok(t, s.Close())
		s = open(t, dir, filestore.Config{SegmentBytes: 4 << 10})
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := left(); got != 0 {
			t.Errorf("%d documents are left, want 0", got)
		}
		if n := s.StoredDocuments(); n != 0 {
			t.Errorf("%d keys of documents are left, want 0", n)
		}
	})
}

// TestRepairedDocumentStays writes a damaged document anew, without the end it
// had before.
func TestRepairedDocumentStays(t *testing.T) {
	t.Parallel()
	dir := quickDir(t)
	synctest.Test(t, func(t *testing.T) {
		s := open(t, dir, filestore.Config{})
		doc := store.Document{Collection: "c", Name: "n", Data: []byte("data"), TTL: time.Hour}
		_, err := s.Documents.Put(t.Context(), doc)
		ok(t, err)
		file, off, _ := s.Locate(storetest.Damage{Kind: store.KindDocument, Name: "c", Field: "n"})
		flip(t, filepath.Join(dir, file), off, 0)
		if _, err := s.Documents.Get(t.Context(), "c", "n"); !errors.Is(err, store.ErrCorrupt) {
			t.Fatalf("got error %v, want ErrCorrupt", err)
		}
		doc.TTL = 0
		_, err = s.Documents.Put(t.Context(), doc)
		ok(t, err)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if got, err := s.Documents.Get(t.Context(), "c", "n"); err != nil || string(got.Data) != "data" || got.TTL != 0 {
			t.Errorf(`document is %+v, error %v, want "data" without a lifetime`, got, err)
		}
	})
}

// TestDeletedSessionsLeaveTheFolder looks for the bytes of a deleted session.
func TestDeletedSessionsLeaveTheFolder(t *testing.T) {
	t.Parallel()
	dir := quickDir(t)
	synctest.Test(t, func(t *testing.T) {
		s := open(t, dir, filestore.Config{})
		lease := owned(t, s)
		_, err := s.Sessions.Commit(t.Context(), lease, store.Batch{Number: 1, Prev: lease.Top(), Events: [][]byte{[]byte("a very private thing")}})
		ok(t, err)
		ok(t, s.Sessions.Delete(t.Context(), lease))
		time.Sleep(25 * time.Hour)
		synctest.Wait()
		names, err := filepath.Glob(filepath.Join(dir, "*"))
		ok(t, err)
		for _, name := range names {
			if data, err := os.ReadFile(name); err == nil && bytes.Contains(data, []byte("private")) {
				t.Errorf("%s still holds deleted data, want it gone", name)
			}
		}
		ok(t, s.Sessions.Create(t.Context(), store.NewSession{ID: "s", User: "u"}))
		again, err := s.Sessions.Claim(t.Context(), "s", "a", time.Hour)
		ok(t, err)
		if again.Epoch <= lease.Epoch {
			t.Errorf("epoch is %d after %d, want a higher one", again.Epoch, lease.Epoch)
		}
	})
}

// TestFolderIsBounded writes much more than the limits of logs and lists keep.
func TestFolderIsBounded(t *testing.T) {
	t.Parallel()
	dir := quickDir(t)
	synctest.Test(t, func(t *testing.T) {
		const segment = 64 << 10
		s := open(t, dir, filestore.Config{SegmentBytes: segment, Limits: store.Limits{LogEvents: 100}})
		lease := owned(t, s)
		b := store.Batch{Prev: lease.Top(), Events: slices.Repeat([][]byte{bytes.Repeat([]byte("x"), 1000)}, 10)}
		for range 2000 {
			b.Number++
			b.Ops = []store.Op{store.Push("l", make([]byte, 100)), store.KeepLast("l", 10)}
			r, err := s.Sessions.Commit(t.Context(), lease, b)
			ok(t, err)
			b.Prev = r.Top
		}
		synctest.Wait()
		names, err := os.ReadDir(dir)
		ok(t, err)
		size := int64(0)
		for _, n := range names {
			info, err := n.Info()
			ok(t, err)
			size += info.Size()
		}
		// 100 events of 1,000 bytes and ten items, twice, and some segments.
		if want := int64(2*(110_000+2_000) + 6*segment); size > want {
			t.Errorf("folder has %d bytes after 20 MB were written, want at most %d", size, want)
		}
	})
}

// TestListings walks sessions of many users while the order of creation is
// another than that of ids.
func TestListings(t *testing.T) {
	t.Parallel()
	s := open(t, quickDir(t), filestore.Config{})
	want := map[string][]wire.SessionID{}
	for i := range 50 {
		id, user := wire.SessionID(fmt.Sprintf("s%02d", i*37%50)), fmt.Sprint("user", i%3)
		ok(t, s.Sessions.Create(t.Context(), store.NewSession{ID: id, User: user}))
		want[user] = append(want[user], id)
	}
	for user := range maps.Keys(want) {
		var got []wire.SessionID
		for q := (store.Query{User: user, Limit: 4}); ; {
			page, err := s.Sessions.Sessions(t.Context(), q)
			ok(t, err)
			for _, info := range page.Items {
				got = append(got, info.ID)
			}
			if q.After = page.Next; q.After == "" {
				break
			}
		}
		if slices.Sort(want[user]); !slices.Equal(got, want[user]) {
			t.Errorf("%s has %v, want %v", user, got, want[user])
		}
	}
}
