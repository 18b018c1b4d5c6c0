package chaos_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/internal/redistest"
)

// checkTimeout bounds the search for a linearization of one history.
const checkTimeout = 10 * time.Second

// Clients that submit to a session and read it, through any hubs, see one log to which messages are
// appended one after the other, each once, while hubs are killed and frozen.
func TestLinearizable(t *testing.T) {
	t.Parallel()
	began := time.Now()
	const together = 40 // histories
	waves := plan.Rounds(1, 25)
	redis := redistest.Standalone(t)
	f := hubtest.Start(t, hubtest.Options{Program: program, Hubs: 3, Store: redis.URL(), Args: []string{"--short-lease"}})
	var sum trialResults
	for wave := range waves {
		var wg sync.WaitGroup
		histories := make([]*trial, together)
		for i := range histories {
			histories[i] = newTrial(t, f, uint64(wave*together+i))
		}
		for _, s := range histories {
			wg.Go(s.run)
		}
		wg.Go(func() { breakHub(t, f, plan.Rand(1<<32+uint64(wave))) })
		wg.Wait()
		for i, s := range histories {
			sum.checkTrial(t, s, fmt.Sprintf("linear-%d-%d", plan.Seed, wave*together+i))
		}
	}
	if plan.Full && (sum.lost == 0 || sum.again == 0 || sum.open == 0) {
		t.Errorf("%d answers were lost, %d operations left open and %d messages sent again: want some of each, else the test proves little", sum.lost, sum.open, sum.again)
	}
	plan.Add(t, hubtest.Result{
		Fault: "L", What: "submit and read are linearizable while hubs are killed and frozen", Rounds: sum.histories, Violations: sum.illegal,
		Seconds: time.Since(began).Seconds(),
		Figures: []hubtest.Figure{
			{Name: "operations", Value: strconv.Itoa(sum.operations)},
			{Name: "answers lost", Value: strconv.Itoa(sum.lost)},
			{Name: "left open", Value: strconv.Itoa(sum.open)},
			{Name: "sent again by other clients", Value: strconv.Itoa(sum.again)},
			{Name: "not decided", Value: strconv.Itoa(sum.unknown), Wanted: "0"},
			{Name: "longest search", Value: sum.longest.Round(time.Millisecond).String(), Wanted: "< 10s"},
		},
	})
}

// breakHub kills or freezes one hub while clients use the other hubs.
func breakHub(t *testing.T, f *hubtest.Cluster, rng *rand.Rand) {
	t.Helper()
	h := f.Hubs[rng.IntN(len(f.Hubs))]
	waitFor(t.Context(), time.Duration(rng.IntN(100))*time.Millisecond)
	if rng.IntN(3) > 0 {
		h.Kill(t)
		waitFor(t.Context(), time.Duration(rng.IntN(1000))*time.Millisecond)
		h.Start(t)
		return
	}
	h.Stop(t)
	waitFor(t.Context(), time.Duration(1000+rng.IntN(5000))*time.Millisecond)
	h.Continue(t)
}

// trialResults are the results of all histories.
type trialResults struct {
	histories, illegal, unknown, operations, lost, again, open int
	longest                                                    time.Duration
}

// checkTrial searches for a linearization.
func (c *trialResults) checkTrial(t *testing.T, s *trial, name string) {
	t.Helper()
	if s.err != nil {
		t.Fatalf("session %s: %v", s.session, s.err)
	}
	c.histories++
	c.operations += len(s.ops)
	c.lost += s.lost
	c.again += s.again
	c.open += s.open
	began := time.Now()
	verdict, info := porcupine.CheckOperationsVerbose(logModel(), s.ops, checkTimeout)
	c.longest = max(c.longest, time.Since(began))
	switch verdict {
	case porcupine.Ok:
		return
	case porcupine.Unknown:
		c.unknown++
	case porcupine.Illegal:
		c.illegal++
	}
	picture := filepath.Join(plan.Folder, name+".html")
	err := errors.Join(os.MkdirAll(plan.Folder, 0o750), porcupine.VisualizePath(logModel(), info, picture))
	t.Errorf("session %s: got %s, want linearizable; seed %d, see %s (%v)", s.session, verdict, plan.Seed, picture, err)
	for _, op := range s.ops {
		t.Logf("%d: %v to %v: %s", op.ClientId, time.Duration(op.Call), time.Duration(op.Return), logModel().DescribeOperation(op.Input, op.Output))
	}
}

// The checker rejects histories that are not linearizable.
func TestLogModel(t *testing.T) {
	t.Parallel()
	const never = 1 << 62
	do := func(call, back int64, in operation, out answer) porcupine.Operation {
		return porcupine.Operation{Call: call, Return: back, Input: in, Output: out}
	}
	one, two := logEntry{"m1", "1-1"}, logEntry{"m2", "1-2"}
	for _, test := range []struct {
		name string
		want porcupine.CheckResult
		ops  []porcupine.Operation
	}{
		{"in order", porcupine.Ok, []porcupine.Operation{
			do(0, 1, operation{submit: "m1"}, answer{at: "1-1"}),
			do(2, 3, operation{}, answer{marks: []logEntry{one}}),
			do(4, 5, operation{submit: "m1"}, answer{at: "1-1"}),
			do(6, 7, operation{submit: "m2"}, answer{at: "1-2"}),
			do(8, 9, operation{after: "m1"}, answer{marks: []logEntry{two}}),
		}},
		{"lost, and there", porcupine.Ok, []porcupine.Operation{
			do(0, never, operation{submit: "m1"}, answer{lost: true}),
			do(2, 3, operation{}, answer{marks: []logEntry{one}}),
			do(4, 5, operation{submit: "m1"}, answer{at: "1-1"}),
		}},
		{"lost, and not there", porcupine.Ok, []porcupine.Operation{
			do(0, never, operation{submit: "m1"}, answer{lost: true}),
			do(2, 3, operation{}, answer{}),
		}},
		{"lost, and there late", porcupine.Ok, []porcupine.Operation{
			do(0, never, operation{submit: "m1"}, answer{lost: true}),
			do(2, 3, operation{submit: "m2"}, answer{at: "1-2"}),
			do(4, 5, operation{}, answer{marks: []logEntry{two, {"m1", "2-1"}}}),
		}},
		{"answered and not there", porcupine.Illegal, []porcupine.Operation{
			do(0, 1, operation{submit: "m1"}, answer{at: "1-1"}),
			do(2, 3, operation{}, answer{}),
		}},
		{"present, then missing", porcupine.Illegal, []porcupine.Operation{
			do(0, never, operation{submit: "m1"}, answer{lost: true}),
			do(2, 3, operation{}, answer{marks: []logEntry{one}}),
			do(4, 5, operation{}, answer{}),
		}},
		{"twice", porcupine.Illegal, []porcupine.Operation{
			do(0, 1, operation{submit: "m1"}, answer{at: "1-1"}),
			do(2, 3, operation{}, answer{marks: []logEntry{one, {"m1", "1-2"}}}),
		}},
		{"again, elsewhere", porcupine.Illegal, []porcupine.Operation{
			do(0, 1, operation{submit: "m1"}, answer{at: "1-1"}),
			do(2, 3, operation{submit: "m1"}, answer{at: "1-2"}),
		}},
		{"before what came first", porcupine.Illegal, []porcupine.Operation{
			do(0, 1, operation{submit: "m2"}, answer{at: "1-2"}),
			do(2, 3, operation{submit: "m1"}, answer{at: "1-1"}),
		}},
		{"in another order", porcupine.Illegal, []porcupine.Operation{
			do(0, 3, operation{submit: "m1"}, answer{at: "1-1"}),
			do(0, 3, operation{submit: "m2"}, answer{at: "1-2"}),
			do(4, 5, operation{}, answer{marks: []logEntry{two, one}}),
		}},
		{"moved", porcupine.Illegal, []porcupine.Operation{
			do(0, never, operation{submit: "m1"}, answer{lost: true}),
			do(2, 3, operation{}, answer{marks: []logEntry{one}}),
			do(4, 5, operation{}, answer{marks: []logEntry{{"m1", "2-1"}}}),
		}},
		{"from nowhere", porcupine.Illegal, []porcupine.Operation{do(0, 1, operation{}, answer{marks: []logEntry{one}})}},
	} {
		if got := porcupine.CheckOperationsTimeout(logModel(), test.ops, checkTimeout); got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
}
