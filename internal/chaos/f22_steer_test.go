package chaos_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/wire"
)

// steerResults are the measurements of clusters whose owners are killed repeatedly while messages
// join their turns.
type steerResults struct {
	rounds           sample // one for every kill
	messages, joined atomic.Int64
	// effects are the ids in the window: of messages that completed, of all others, and those that were
	// written more than once.
	completedEffects, otherEffects, duplicateEffects atomic.Int64

	mu   sync.Mutex     // guards ends
	ends map[string]int // messages by outcome and reason
}

// endFigures returns the numbers of messages by outcome.
func (s *steerResults) endFigures() (figures []hubtest.Figure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, how := range slices.Sorted(maps.Keys(s.ends)) {
		figures = append(figures, hubtest.Figure{Name: how, Value: strconv.Itoa(s.ends[how])})
	}
	return figures
}

// F22: messages join a turn that is cut off repeatedly, until it is given up, and join the next
// one. Each message writes its id into a window, once if it completes and at most once if it does
// not, and has one end under its own id.
func TestF22Steer(t *testing.T) {
	t.Parallel()
	began := time.Now()
	shards := plan.Rounds(1, 6)
	s := steerResults{ends: map[string]int{}}
	runShards(t, shards, func(t *testing.T, shard uint64) {
		t.Helper()
		rng := plan.Rand(1000 + shard)
		redis := redistest.Standalone(t)
		f := hubtest.Start(t, hubtest.Options{
			Program: program, Hubs: 3, Store: redis.URL(), Args: append([]string{"--lease", "2s"}, workArgs...),
		})
		rounds := plan.Rounds(3, (300+shards-1)/shards)
		for part := 0; rounds > 0 && !t.Failed(); part++ {
			n := min(rounds, 10)
			rounds -= n
			h := plan.NewHistory(t, fmt.Sprintf("f22-%d-%d", shard, part))
			newSteeredSession(t, f, h, rng, &s).runEpisode(t, n)
		}
	}, func() {
		requireSamples(t, "kills", &s.rounds)
		if plan.Full && s.joined.Load() == 0 {
			t.Error("no message joined a turn")
		}
		plan.Add(t, hubtest.Result{
			Fault: "F22", What: "kill -9 of the owner again and again while messages join its turns", Rounds: s.rounds.count(),
			Violations: s.rounds.violations, Seconds: time.Since(began).Seconds(), Figures: append([]hubtest.Figure{
				{Name: "messages", Value: strconv.FormatInt(s.messages.Load(), 10)},
				{Name: "joined a turn", Value: strconv.FormatInt(s.joined.Load(), 10)},
				{Name: "effects of those that completed", Value: strconv.FormatInt(s.completedEffects.Load(), 10), Wanted: "one each"},
				{Name: "effects of others", Value: strconv.FormatInt(s.otherEffects.Load(), 10), Wanted: "at most one each"},
				{Name: "duplicate effects", Value: strconv.FormatInt(s.duplicateEffects.Load(), 10), Wanted: "0"},
			}, s.endFigures()...),
		})
	})
}

// steeredSession is a session whose turns are steered.
type steeredSession struct {
	*desktop
	rng *rand.Rand
	out *steerResults
	wg  sync.WaitGroup
	mu  sync.Mutex
	// ids are all messages, and refused those that were not accepted.
	ids     []wire.MessageID
	refused map[wire.MessageID]bool
}

// steeredWindow is the window that the messages write to.
const steeredWindow = "names"

func newSteeredSession(t *testing.T, f *hubtest.Cluster, h *hubtest.History, rng *rand.Rand, out *steerResults) *steeredSession {
	t.Helper()
	s := &steeredSession{rng: rng, out: out, refused: map[wire.MessageID]bool{}}
	s.desktop = newDesktop(t, f, h, "s", 2, func(int) string { return f.Balancer.URL() })
	if err := s.tabs[0].Send(t.Context(), "open", "/window "+steeredWindow+" Names | -", ""); err != nil {
		t.Fatal(err)
	}
	if o, err := s.tabs[0].AwaitEnd(t.Context(), "open"); err != nil || o != wire.OutcomeCompleted {
		t.Fatalf("the window is opened with %q (%v), want %q", o, err, wire.OutcomeCompleted)
	}
	return s
}

// sendJoining sends a message that writes its id, before, after or between other directives, and
// does not wait for the answer.
func (s *steeredSession) sendJoining(t *testing.T) {
	t.Helper()
	id := wire.MessageID(fmt.Sprintf("n%d", len(s.ids)))
	s.ids = append(s.ids, id)
	write := fmt.Sprintf(`/call window:update {"windowId":%q,"operation":"append","content":" %s;"}`, steeredWindow, id)
	text := []string{
		write,
		write + "\n/stream 40 20",
		"/sleep 150ms\n" + write + "\n/say done",
		"/stream 20 20\n" + write + "\n/sleep 300ms",
	}[s.rng.IntN(4)]
	tab := s.tabs[s.rng.IntN(len(s.tabs))]
	s.wg.Go(func() {
		err := tab.Send(t.Context(), id, text, "")
		if _, refused := errors.AsType[*client.RefusedError](err); refused {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.refused[id] = true
		} else if err != nil {
			t.Errorf("send %s in %s: %v", id, s.id, err)
		}
	})
}

// runEpisode kills the owner several times, mostly before the turn that was cut off can end, and
// checks all messages.
func (s *steeredSession) runEpisode(t *testing.T, kills int) {
	t.Helper()
	var when time.Duration // of the last kill, and the epoch before it
	var epoch uint64
	for range kills {
		if !s.isBusy() {
			s.sendJoining(t)
		}
		if err := s.tabs[0].WaitUntil(t.Context(), func() bool {
			_, ok := s.delayOf(when, epoch, func(e hubtest.Entry) bool { return e.Event.Text != "" || e.Event.IsEnd() })
			return ok
		}); err != nil {
			t.Fatalf("no turn of %s continues after epoch %d: %v", s.id, epoch, err)
		}
		if s.rng.IntN(3) > 0 { // else no message joins the turn before it is cut off again
			for range 1 + s.rng.IntN(3) {
				s.sendJoining(t)
				waitFor(t.Context(), time.Duration(s.rng.IntN(60))*time.Millisecond)
			}
			waitFor(t.Context(), time.Duration(s.rng.IntN(300))*time.Millisecond)
		}
		owner := s.owner()
		if owner == nil || !owner.Alive() {
			t.Fatalf("%s is owned by %q, which is not running", s.id, s.tabs[0].Client.State().Owner)
		}
		epoch = s.epoch()
		when = s.h.AddFault("kill %s", owner.ID())
		owner.Kill(t)
		s.out.rounds.add(0)
		owner.Start(t)
		s.waitEpoch(t, s.tabs[0], epoch)
		s.wg.Wait()
	}
	s.out.rounds.addViolations(s.checkEffects(t) + s.f.Finish(t, s.h, s.tabs, hubtest.Rules{}))
	s.countEnds()
	for _, tab := range s.tabs {
		tab.Close()
	}
}

// isBusy reports whether a turn of the main agent runs.
func (s *steeredSession) isBusy() bool {
	return slices.ContainsFunc(s.tabs[0].Client.State().Agents, func(a wire.AgentState) bool {
		return strings.HasPrefix(string(a.Role), "main-")
	})
}

// checkEffects waits for the end of all messages and counts those that wrote their id too often or
// not at all.
func (s *steeredSession) checkEffects(t *testing.T) (violations int) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Minute, fmt.Errorf("the turns of %s do not end", s.id))
	defer cancel()
	outcomes := map[wire.MessageID]wire.Outcome{}
	for _, id := range s.ids {
		if s.refused[id] {
			continue
		}
		o, err := s.tabs[0].AwaitEnd(ctx, id)
		if err != nil {
			t.Errorf("%s in %s has no end: %v", id, s.id, err)
			return 1
		}
		outcomes[id] = o
	}
	written := ""
	for _, w := range s.tabs[0].Client.State().Windows {
		if content, ok := w.Content.(wire.MarkdownContent); ok && w.WindowID == steeredWindow {
			written = content.Data
		}
	}
	for _, id := range s.ids {
		n, o := strings.Count(written, " "+string(id)+";"), outcomes[id]
		completed := o == wire.OutcomeCompleted
		if n > 1 || completed && n != 1 || s.refused[id] && n > 0 {
			t.Errorf("%s in %s ended as %q (refused: %v): got its id written %d times, want once if completed, never if refused, else at most once", id, s.id, o, s.refused[id], n)
			violations++
		}
		s.out.messages.Add(1)
		if effects := int64(min(n, 1)); completed {
			s.out.completedEffects.Add(effects)
		} else {
			s.out.otherEffects.Add(effects)
		}
		s.out.duplicateEffects.Add(int64(max(n-1, 0)))
	}
	for _, e := range s.h.Entries() {
		if e.Kind == hubtest.KindEvent && e.Source == s.tabs[0].Name && e.Event.How == wire.TakenSteered {
			s.out.joined.Add(1)
		}
	}
	return violations
}

// countEnds counts the messages by outcome and reason, from the log.
func (s *steeredSession) countEnds() {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	for _, e := range s.h.Entries() {
		if e.Kind != hubtest.KindLog || e.Session != s.id || !e.Event.IsEnd() || !slices.Contains(s.ids, e.Event.Message) {
			continue
		}
		how := cmp.Or(string(e.Event.Outcome), "rejected")
		if e.Event.Reason != "" {
			how += ": " + e.Event.Reason
		}
		s.out.ends[how]++
	}
}
