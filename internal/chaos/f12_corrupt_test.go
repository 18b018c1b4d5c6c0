package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/wire"
)

// corruptResults are the measurements of damaged sessions.
type corruptResults struct {
	aside  sample // until they are quarantined
	well   sample // of those that need no quarantine
	shared sample // until everything works after damage to shared keys
	beside atomic.Int64
	panics atomic.Int64
	faults sample
}

// F12: stored data is damaged, a bit or a whole key, of sessions in use and of unused sessions, and
// of shared keys. A session that cannot be read is quarantined with the reason, and works again
// when it is repaired and released; other sessions are not affected, and no hub ends.
func TestF12Corrupt(t *testing.T) {
	t.Parallel()
	began := time.Now()
	var all corruptResults
	shards := plan.Rounds(1, 3)
	runShards(t, shards, func(t *testing.T, shard uint64) {
		t.Helper()
		runCorrupt(t, &all, shard, plan.Rounds(6, 80), plan.Rounds(5, 40))
	}, func() {
		requireSamples(t, "sessions are set aside", &all.aside)
		requireSamples(t, "shared keys are damaged", &all.shared)
		plan.Add(t, hubtest.Result{
			Fault: "F12", What: "stored data is damaged", Rounds: all.aside.count() + all.well.count() + all.shared.count(),
			Violations: all.faults.violations, Seconds: time.Since(began).Seconds(),
			Figures: []hubtest.Figure{
				{Name: "quarantined with a reason", Value: strconv.Itoa(all.aside.count())},
				{Name: "quarantined after, p99", Value: roundDuration(all.aside.quantile(0.99))},
				{Name: "damage overwritten by the owner or never read", Value: strconv.Itoa(all.well.count())},
				{Name: "shared keys damaged", Value: strconv.Itoa(all.shared.count())},
				{Name: "recovered after, most", Value: roundDuration(all.shared.quantile(1))},
				{Name: "messages in other sessions", Value: strconv.FormatInt(all.beside.Load(), 10), Wanted: "0 errors"},
				{Name: "panics", Value: strconv.FormatInt(all.panics.Load(), 10), Wanted: "0"},
			},
		})
	})
}

// corruptRun is one cluster whose data is damaged.
type corruptRun struct {
	corruptor
	f   *hubtest.Cluster
	h   *hubtest.History
	out *corruptResults
}

func runCorrupt(t *testing.T, out *corruptResults, shard uint64, rounds, shared int) {
	t.Helper()
	redis := redistest.Standalone(t)
	s := corruptRun{corruptor: corruptor{redis: redis.Client(t), rng: plan.Rand(shard)}, out: out, h: plan.NewHistory(t, fmt.Sprintf("f12-%d", shard))}
	s.f = hubtest.Start(t, hubtest.Options{
		Program: program, Hubs: plan.Rounds(2, 3), Store: redis.URL(), Args: []string{"--dormant-after", "1s", "--lease", "2s"},
	})
	tabs, stop := s.startOtherSessions(t)
	for n := range rounds {
		tabs = append(tabs, s.round(t, n)...)
	}
	for range shared {
		s.corruptShared(t)
	}
	stop()
	for _, hub := range s.f.Hubs {
		out.panics.Add(int64(hub.CountInLog("panic"))) // each of which is a violation
	}
	out.faults.addViolations(s.f.Finish(t, s.h, tabs, hubtest.Rules{}))
}

// startOtherSessions runs sessions with continuous work, until the returned function is called.
func (s corruptRun) startOtherSessions(t *testing.T) ([]*hubtest.Tab, func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var tabs []*hubtest.Tab
	for i := range plan.Rounds(2, 4) {
		d := newDesktop(t, s.f, s.h, fmt.Sprintf("beside-%d", i), 2, func(tab int) string { return s.f.Hubs[tab%len(s.f.Hubs)].URL })
		tabs = append(tabs, d.tabs...)
		wg.Go(func() {
			tick := time.NewTicker(time.Duration(plan.Rounds(100, 1000)) * time.Millisecond)
			defer tick.Stop()
			for n := 0; ; n++ {
				id := wire.MessageID(fmt.Sprintf("b-%d-%d", i, n))
				// The check waits for its end.
				if err := d.tabs[n%2].Send(t.Context(), id, "/nosteer\n/say well", "well"); err != nil {
					t.Errorf("a message to an undamaged session: %v", err)
				}
				s.out.beside.Add(1)
				select {
				case <-tick.C:
				case <-ctx.Done():
					return
				}
			}
		})
	}
	stop := func() { cancel(); wg.Wait() }
	t.Cleanup(stop)
	return tabs, stop
}

// round damages one session. It returns the tabs that are open after it was repaired.
func (s corruptRun) round(t *testing.T, n int) []*hubtest.Tab {
	t.Helper()
	live := s.rng.IntN(2) == 0
	// The events of a session before the damage are not checked.
	h := plan.NewHistory(t, fmt.Sprintf("f12-broken-%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), n))
	d := newDesktop(t, s.f, h, fmt.Sprintf("v-%d", n), 2, func(tab int) string { return s.f.Hubs[(n+tab)%len(s.f.Hubs)].URL })
	work := wire.MessageID("work")
	if err := d.tabs[0].Send(t.Context(), work, "/nosteer\n/window w Notes | hello\n/say done", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := d.tabs[0].AwaitEnd(t.Context(), work); err != nil {
		t.Fatal(err)
	}
	if !live {
		for _, tab := range d.tabs {
			tab.Close()
		}
		s.retryUntil(t, "no owner of "+string(d.id), func() error { return s.unowned(t, d.id) })
	}
	keys := s.sessionKeys(t, d.id)
	key := keys[s.rng.IntN(len(keys))]
	backup := s.backup(t, keys)
	_, part, _ := strings.Cut(key, ":s:"+string(d.id)+":")
	what := "a wrong type"
	if s.rng.IntN(2) == 0 {
		what = "a flipped bit in " + s.corruptValue(t, key)
	} else {
		s.replaceValue(t, key)
	}
	name := fmt.Sprintf("%s: %s (live %v)", part, what, live)
	when := s.h.AddFault("%s of %s", name, d.id)
	aside := s.waitQuarantineOrUse(t, d, name, live)
	if !aside {
		if !live && mustBeDetected(part, what) {
			t.Errorf("%s: the damage is not detected", name)
		}
		s.out.well.add(s.h.Since() - when)
		return nil
	}
	s.out.aside.add(s.h.Since() - when)
	s.checkRefused(t, d, name, live)
	if live {
		return nil
	}
	s.restore(t, d.id, backup) // as an operator with a backup would
	err := s.f.Call(t, http.MethodPost, s.f.Balancer.URL()+"/api/admin/sessions/"+string(d.id)+"/release", `{"reason":"repaired"}`, nil)
	if err != nil {
		t.Errorf("%s: release: %v", name, err)
		return nil
	}
	tab := s.h.OpenTab(t, hubtest.TabConfig{Name: fmt.Sprintf("repaired-%d", n), URL: s.f.Balancer.URL(), Session: d.id})
	if err := tab.Send(t.Context(), "again", "/nosteer\n/say well", "well"); err != nil {
		t.Errorf("%s: the repaired session answers %v", name, err)
	}
	return []*hubtest.Tab{tab}
}

// mustBeDetected reports whether damage is always detected when a session is loaded and its log is
// read: other damage concerns times and numbers that are still plausible, or keys that are not read
// then.
func mustBeDetected(part, what string) bool {
	structure := strings.HasPrefix(part, "t:") || strings.HasPrefix(part, "l:") && !strings.HasPrefix(part, "l:cold")
	return structure || part == "log" || part == "meta" && (what == "a wrong type" || strings.HasSuffix(what, " card"))
}

// adminSession is a session in the admin API.
type adminSession struct {
	SessionID wire.SessionID `json:"sessionId"`
	Owner     wire.ReplicaID `json:"owner"`
	Reason    string         `json:"reason"`
}

// adminDetail is the detail of a session in the admin API.
type adminDetail struct {
	Row adminSession `json:"row"`
}

func (s corruptRun) unowned(t *testing.T, id wire.SessionID) error {
	t.Helper()
	var info adminDetail
	if err := s.f.Call(t, http.MethodGet, s.f.Balancer.URL()+"/api/admin/sessions/"+string(id), "", &info); err != nil {
		return err
	}
	if info.Row.Owner != "" {
		return fmt.Errorf("owned by %s", info.Row.Owner)
	}
	return nil
}

// waitQuarantineOrUse uses a session until it is quarantined, or everything in it works.
func (s corruptRun) waitQuarantineOrUse(t *testing.T, d *desktop, name string, live bool) (aside bool) {
	t.Helper()
	sent := make(chan error, 1)
	if live {
		go func() { sent <- d.tabs[0].Send(t.Context(), "after", "/nosteer\n/say well", "") }()
	}
	s.retryUntil(t, name+": neither set aside nor well", func() error {
		var info adminDetail
		if err := s.f.Call(t, http.MethodGet, s.f.Balancer.URL()+"/api/admin/sessions/"+string(d.id), "", &info); err != nil {
			return err
		}
		if aside = info.Row.Reason != ""; aside {
			return nil
		}
		for _, hub := range s.f.Hubs {
			if _, _, err := s.f.ReadSnapshot(t, hub.URL, d.id); err != nil {
				return s.requireCode(t, name, err)
			}
			if _, err := s.f.ReadLog(t, hub.URL, d.id); err != nil && !isCut(err) {
				return s.requireCode(t, name, err)
			}
		}
		if live && !d.tabs[0].HasEnded("after") {
			return errors.New("the message has no end")
		}
		// Damage that was detected while reading counts.
		err := s.f.Call(t, http.MethodGet, s.f.Balancer.URL()+"/api/admin/sessions/"+string(d.id), "", &info)
		aside = info.Row.Reason != ""
		return err
	})
	return aside
}

// isCut reports whether a refusal states that the log does not go back to its beginning. A single
// damaged bit may cause that, and then no wrong data is shown: tabs begin with a snapshot.
func isCut(err error) bool {
	refused, ok := errors.AsType[*hubtest.StatusError](err)
	return ok && refused.Status == http.StatusGone
}

// requireCode checks that a refusal has a code, and returns it.
func (s corruptRun) requireCode(t *testing.T, name string, err error) error {
	t.Helper()
	status, ok := errors.AsType[*hubtest.StatusError](err)
	if ok && status.Status != http.StatusConflict && status.Status != http.StatusServiceUnavailable {
		t.Errorf("%s: refused with %v, want a truncated log", name, err)
	}
	return err
}

// checkRefused checks the refusals for a quarantined session.
func (s corruptRun) checkRefused(t *testing.T, d *desktop, name string, live bool) {
	t.Helper()
	for _, hub := range s.f.Hubs {
		_, _, err := s.f.ReadSnapshot(t, hub.URL, d.id)
		status, ok := errors.AsType[*hubtest.StatusError](err)
		if !ok || status.Status != http.StatusConflict || !strings.Contains(status.Body, strconv.Itoa(int(wire.CodeSessionInvalidState))) {
			t.Errorf("%s: hub %s answers %v, want %d with its code", name, hub.Name, err, http.StatusConflict)
		}
		s.retryUntil(t, name+": not listed", func() error {
			reason, err := s.quarantineReason(t, hub.URL, d.id)
			if err == nil && reason == "" {
				err = errors.New("not in the list of quarantined sessions")
			}
			return err
		})
	}
	if !live {
		return
	}
	for _, tab := range d.tabs {
		select {
		case <-tab.Done():
			if link := tab.Client.Link(); link.Err == nil || !strings.Contains(link.Err.Error(), "409") {
				t.Errorf("%s: tab %s ends with %v, want the reason", name, tab.Name, link.Err)
			}
		case <-time.After(time.Minute):
			t.Errorf("%s: tab %s is not notified; its link is %+v", name, tab.Name, tab.Client.Link())
		}
	}
}

// quarantineReason is the reason in the list of quarantined sessions.
func (s corruptRun) quarantineReason(t *testing.T, base string, id wire.SessionID) (string, error) {
	t.Helper()
	for after := ""; ; {
		var page struct {
			Rows []adminSession `json:"rows"`
			Next string         `json:"next"`
		}
		if err := s.f.Call(t, http.MethodGet, base+"/api/admin/sessions?quarantined=true&limit=100&after="+after, "", &page); err != nil {
			return "", err
		}
		for _, i := range page.Rows {
			if i.SessionID == id {
				return i.Reason, nil
			}
		}
		if after = page.Next; after == "" {
			return "", nil
		}
	}
}

// corruptShared damages a key that belongs to no session.
func (s corruptRun) corruptShared(t *testing.T) {
	t.Helper()
	keys := s.sharedKeys(t)
	key := keys[s.rng.IntN(len(keys))]
	if strings.HasSuffix(key, ":format") {
		return // only a starting hub reads it
	}
	kept, err := s.redis.Dump(t.Context(), key).Result()
	if err != nil {
		return // it had a TTL
	}
	what := "a wrong type"
	if s.rng.IntN(2) == 0 {
		what = "a flipped bit in " + s.corruptValue(t, key)
	} else {
		s.replaceValue(t, key)
	}
	when := s.h.AddFault("%s: %s", key, what)
	for _, hub := range s.f.Hubs {
		s.retryUntil(t, fmt.Sprintf("%s: %s at hub %s", key, what, hub.Name), func() error { return s.checkUsable(t, hub.URL) })
	}
	s.out.shared.add(s.h.Since() - when)
	if strings.Contains(key, ":doc.") { // documents cannot be rebuilt
		if err := s.redis.RestoreReplace(t.Context(), key, 0, kept).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// checkUsable creates a session and checks that it is listed.
func (s corruptRun) checkUsable(t *testing.T, base string) error {
	t.Helper()
	if err := s.f.Call(t, http.MethodGet, base+"/readyz", "", nil); err != nil {
		return err
	}
	var made adminSession
	if err := s.f.Call(t, http.MethodPost, base+"/api/sessions", `{"title":"new"}`, &made); err != nil {
		return err
	}
	if err := s.f.Call(t, http.MethodGet, base+"/api/admin/replicas", "", nil); err != nil {
		return err
	}
	// Lists may be a second old. The check repeats the search and not the creation, to avoid more
	// and more sessions.
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for range 30 {
		switch found, err := s.isListed(t, base, made.SessionID); {
		case err != nil:
			return err
		case found:
			_, _, err := s.f.ReadSnapshot(t, base, made.SessionID)
			return err
		}
		<-tick.C
	}
	return errors.New("a new session is not listed")
}

// isListed reports whether the list of all sessions has one.
func (s corruptRun) isListed(t *testing.T, base string, id wire.SessionID) (bool, error) {
	t.Helper()
	var page struct {
		Rows []adminSession `json:"rows"`
	}
	err := s.f.Call(t, http.MethodGet, base+"/api/admin/sessions?limit=1&text="+string(id), "", &page)
	return len(page.Rows) == 1, err
}

// retryUntil calls try until it succeeds.
func (s corruptRun) retryUntil(t *testing.T, what string, try func() error) {
	t.Helper()
	limit, tick := time.After(90*time.Second), time.NewTicker(50*time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("%s: %v", what, err)
		case <-t.Context().Done():
			t.Fatalf("%s: %v", what, err)
		}
	}
}
