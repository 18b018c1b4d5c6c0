package chaos_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/wire"
)

// storeContents is everything in a folder of a file store.
type storeContents struct {
	logs        map[wire.SessionID][]loggedEvent
	reported    map[wire.SessionID]bool // sessions that report a possible loss
	bad         int                     // unreadable records
	damageFiles int                     // files with reports of damage, or with its bytes
}

// damage is the number of unreadable records and of reports.
func (c storeContents) damage() int { return c.bad + c.damageFiles }

// loggedEvent is an event of a log.
type loggedEvent struct {
	at   wire.Position
	hash [8]byte
	size int
}

// scan opens a folder as a hub does and reads everything in it.
func scan(t *testing.T, dir string) storeContents {
	t.Helper()
	s, err := filestore.Open(dir, filestore.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatalf("open %s: %v", dir, err)
	}
	defer func() { _ = s.Close() }()
	all := storeContents{logs: map[wire.SessionID][]loggedEvent{}, reported: map[wire.SessionID]bool{}}
	for q := (store.Query{}); ; {
		page, err := s.Sessions.Sessions(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range page.Items {
			state, err := s.Sessions.Load(t.Context(), i.ID)
			all.reported[i.ID] = len(state.Tables[store.LossTable]) > 0
			if err != nil || i.Quarantined != "" {
				t.Logf("session %s: %v %s", i.ID, err, i.Quarantined)
				all.bad++
			}
			var after wire.Position
			for {
				events, err := s.Sessions.Read(t.Context(), i.ID, after, 1000)
				if err != nil {
					t.Logf("log of session %s after %v: %v", i.ID, after, err)
					all.bad++
				}
				if len(events) == 0 {
					break
				}
				for _, e := range events {
					sum := sha256.Sum256(e.Frame)
					all.logs[i.ID] = append(all.logs[i.ID], loggedEvent{e.At, [8]byte(sum[:8]), len(e.Frame)})
				}
				after = events[len(events)-1].At
			}
		}
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	if aside, err := os.ReadDir(filepath.Join(dir, "aside")); err == nil {
		all.damageFiles = len(aside)
	}
	return all
}

// F15: a hub on a file store is killed repeatedly during work, and the end of its files is
// truncated as a power failure may do. A killed hub has lost nothing that it had acknowledged. A
// truncation removes the newest data: the rest can be read and is a prefix of every log; no more is
// lost than the truncated bytes and the record that they belonged to. Sessions report a loss of
// data that was on disk.
func TestF15Torn(t *testing.T) {
	t.Parallel()
	began := time.Now()
	var kills, cuts sample
	shards := plan.Rounds(1, 4)
	runShards(t, shards, func(t *testing.T, shard uint64) {
		t.Helper()
		rng := plan.Rand(shard)
		for part, left := 0, plan.Rounds(5, 500/shards); left > 0 && !t.Failed(); part++ {
			n := min(left, 25)
			left -= n
			tearRun{rng: rng, kills: &kills, cuts: &cuts}.runEpisode(t, fmt.Sprintf("f15-%d-%d", shard, part), n)
		}
	}, func() {
		plan.Add(t, hubtest.Result{
			Fault: "F15", What: "kill -9 of a hub on a file store; its end is cut off", Rounds: kills.count(),
			Violations: kills.violations + cuts.violations, Seconds: time.Since(began).Seconds(),
			Figures: []hubtest.Figure{
				{Name: "kills", Value: strconv.Itoa(kills.count())},
				{Name: "hub restarted after p99", Value: roundDuration(kills.quantile(0.99))},
				{Name: "cuts", Value: strconv.Itoa(cuts.count())},
				{Name: "violations after kills", Value: strconv.Itoa(kills.violations), Wanted: "0"},
				{Name: "logs that are not a prefix after a cut", Value: strconv.Itoa(cuts.violations), Wanted: "0"},
			},
		})
	})
}

// tearRun is a hub that is killed.
type tearRun struct {
	rng         *rand.Rand
	kills, cuts *sample
}

func (k tearRun) runEpisode(t *testing.T, name string, kills int) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	f := hubtest.Start(t, hubtest.Options{Program: program, Hubs: 1, Store: "file:" + dir, Args: []string{"--store-sync", "always", "--lease", "2s"}})
	h := plan.NewHistory(t, name)
	hub := f.Hubs[0]
	var all []*desktop
	var tabs []*hubtest.Tab
	for i := range 2 {
		d := newDesktop(t, f, h, fmt.Sprintf("%s-%d", name, i), 2, func(int) string { return f.Balancer.URL() })
		all, tabs = append(all, d), append(tabs, d.tabs...)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	stop := func() { cancel(); wg.Wait() }
	t.Cleanup(stop)
	for i, tab := range tabs {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				id := wire.MessageID(fmt.Sprintf("m-%d-%d", i, n))
				if err := tab.Send(t.Context(), id, fmt.Sprintf("/nosteer\n/say %s", id), string(id)); err != nil && ctx.Err() == nil {
					t.Errorf("send %s: %v", id, err)
				}
				pace := time.NewTimer(20 * time.Millisecond)
				select {
				case <-pace.C:
				case <-ctx.Done():
				}
			}
		})
	}
	for range kills {
		waitFor(t.Context(), time.Duration(k.rng.IntN(400))*time.Millisecond)
		h.AddFault("kill %s", hub.ID())
		hub.Kill(t)
		k.checkTruncated(t, dir)
		began := time.Now()
		hub.Start(t)
		k.kills.add(time.Since(began))
	}
	stop()
	k.kills.addViolations(f.Finish(t, h, tabs, hubtest.Rules{}))
	for _, tab := range tabs {
		tab.Close()
	}
	// Finally a hub runs on what is left.
	hub.Kill(t)
	k.truncate(t, dir, 1+k.rng.Int64N(4096))
	hub.Start(t)
	for _, d := range all {
		if log, err := f.ReadLog(t, hub.URL, d.id); err != nil || len(log) == 0 {
			t.Errorf("log after a cut: got %d events, error %v, want at least one", len(log), err)
		}
		tab := plan.NewHistory(t, name+"-cut-"+string(d.id)).OpenTab(t, hubtest.TabConfig{Name: "after", URL: hub.URL, Session: d.id})
		if err := tab.Send(t.Context(), "after", "/nosteer\n/say well", "well"); err != nil {
			t.Errorf("after a cut: %v", err)
		}
		if _, err := tab.AwaitEnd(t.Context(), "after"); err != nil {
			t.Errorf("after a cut: %v", err)
		}
		tab.Close()
	}
}

// smallCut is less than the header of a record: it can damage the last record only.
const smallCut = 8

// checkTruncated checks truncated copies of a folder.
func (k tearRun) checkTruncated(t *testing.T, dir string) {
	t.Helper()
	whole := scan(t, copyDir(t, dir))
	if bad := whole.damage(); bad > 0 {
		t.Errorf("records that cannot be read after a kill: got %d, want 0", bad)
		k.cuts.addViolations(bad)
	}
	n := 1 + k.rng.Int64N(smallCut)
	if k.rng.IntN(2) == 0 {
		n = 1 + k.rng.Int64N(64<<10)
	}
	torn := copyDir(t, dir)
	k.truncate(t, torn, n)
	rest := scan(t, torn)
	k.cuts.add(0)
	lost, sessions := 0, 0
	for id, log := range whole.logs {
		left := rest.logs[id]
		if len(left) > len(log) || !slices.Equal(left, log[:len(left)]) {
			t.Errorf("without the last %d bytes of the file the log of %s has %d events that are not the first of its %d", n, id, len(left), len(log))
			k.cuts.addViolations(1)
			continue
		}
		for _, e := range log[len(left):] {
			lost += e.size
		}
		if len(left) < len(log) {
			sessions++
		}
	}
	// All sessions report a loss of data that was on disk, because none is known to be unaffected.
	// Data that was not synced when the hub was killed is not reported.
	for id := range rest.logs {
		if rest.reported[id] != (rest.damageFiles > 0) {
			t.Errorf("without the last %d bytes: got %d files of damage and session %s reports a possible loss: %v, want a report exactly with damage", n, rest.damageFiles, id, rest.reported[id])
			k.cuts.addViolations(1)
		}
	}
	if rest.damageFiles == 0 && int64(lost) > 256<<10 {
		t.Errorf("without the last %d bytes: got %d bytes of events lost without a report, want at most 256 KiB", n, lost)
		k.cuts.addViolations(1)
	}
	// The newest record may be much larger than the cut; all others are within it.
	if rest.bad > 0 || n <= smallCut && sessions > 1 || int64(lost) > n+(256<<10) {
		t.Errorf("without the last %d bytes: got %d bytes of events of %d sessions lost and %d unreadable records, want only what the cut had and none unreadable", n, lost, sessions, rest.bad)
		k.cuts.addViolations(1)
	}
}

// truncate truncates the newest file that is long enough.
func (k tearRun) truncate(t *testing.T, dir string, n int64) {
	t.Helper()
	var newest string
	var size int64
	names, err := filepath.Glob(filepath.Join(dir, "*.seg"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	for _, name := range names {
		info, err := os.Stat(name)
		if err == nil && info.Mode().IsRegular() && info.Size() > 64 {
			newest, size = name, info.Size()
		}
	}
	if newest == "" {
		t.Fatalf("no file to cut among %v", names)
	}
	if err := os.Truncate(newest, max(size-n, 0)); err != nil {
		t.Fatal(err)
	}
}
