package agentpool_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/providers"
)

// Text that comes slowly is reported at once.
func TestOutputIsNotDelayed(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{}, func(r *rig) {
		t := r.t
		var said []time.Time
		r.provider.runTurn = func(p *turn) (providers.Outcome, error) {
			for range 100 {
				time.Sleep(20 * time.Millisecond)
				said = append(said, time.Now())
				p.emitText("x")
			}
			return providers.Completed, nil
		}
		r.Start(ephemeralRun("1"))
		time.Sleep(5 * time.Second)
		synctest.Wait()
		var reported []time.Time
		for i, report := range r.recorded() {
			if _, is := report.(agentpool.Output); is {
				reported = append(reported, r.at[i])
			}
		}
		if !slices.Equal(reported, said) {
			t.Errorf("text was reported at %v, want %v", reported, said)
		}
	})
}

// Many streams together are reported in larger pieces: each every twentieth of a second, and a few
// hundred reports more.
func TestOutputOfManyStreamsIsCoalesced(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{Agents: 100}, func(r *rig) {
		const runs, pieces = 40, 100
		r.provider.runTurn = func(p *turn) (providers.Outcome, error) {
			for range pieces {
				p.emitText("x")
				time.Sleep(10 * time.Millisecond)
			}
			return providers.Completed, nil
		}
		for n := range runs {
			r.Start(ephemeralRun(strconv.Itoa(n)))
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		text, reports := 0, 0
		for _, report := range r.recorded() {
			if s, is := report.(agentpool.Output); is {
				reports++
				text += len(s.Text)
			}
		}
		if text != runs*pieces {
			r.t.Errorf("%d characters were reported, want %d", text, runs*pieces)
		}
		if most := runs*22 + 500; reports > most {
			r.t.Errorf("%d reports in a second, want at most %d", reports, most)
		}
	})
}

// Text that comes fast is reported every five milliseconds, the first piece at once, and nothing is
// lost or reordered.
func TestOutputIsCoalesced(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{}, func(r *rig) {
		t := r.t
		const pieces = 1000
		r.provider.runTurn = func(p *turn) (providers.Outcome, error) {
			for i := range pieces {
				if i%2 == 0 {
					p.emitText("x")
				} else {
					p.emitThinking("y")
				}
				time.Sleep(time.Millisecond)
			}
			p.emitText("end")
			return providers.Completed, nil
		}
		r.Start(ephemeralRun("1"))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		var text, thinking strings.Builder
		reports := 0
		for _, report := range r.recorded() {
			if s, is := report.(agentpool.Output); is {
				reports++
				text.WriteString(s.Text)
				thinking.WriteString(s.Thinking)
			}
		}
		if text.String() != strings.Repeat("x", pieces/2)+"end" || thinking.String() != strings.Repeat("y", pieces/2) {
			t.Errorf("text is %q, thinking %q; want all of both", text.String(), thinking.String())
		}
		if reports > 205 || reports < 195 {
			t.Errorf("%d reports in a second, want 195 to 205", reports)
		}
		if first := r.lines()[1]; first != `1 output "x" ""` {
			t.Errorf("the first report is %s, want the first piece", first)
		}
		if gap := r.at[1].Sub(r.at[0]); gap != 0 {
			t.Errorf("the first piece was delayed by %v, want no delay", gap)
		}
	})
}

// A backend that emits more text than can be reported is blocked.
func TestOutputIsBounded(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{}, func(r *rig) {
		t := r.t
		piece := strings.Repeat("z", 1<<10)
		r.provider.runTurn = func(p *turn) (providers.Outcome, error) {
			for range 1000 {
				p.emitText(piece)
			}
			return providers.Completed, nil
		}
		r.Start(ephemeralRun("1"))
		time.Sleep(time.Minute)
		synctest.Wait()
		total := 0
		for _, report := range r.recorded() {
			if s, is := report.(agentpool.Output); is {
				total += len(s.Text)
				if len(s.Text) > 65<<10 {
					t.Errorf("a report has %d bytes, want fewer", len(s.Text))
				}
			}
		}
		if total != 1000<<10 {
			t.Errorf("%d bytes were reported, want all", total)
		}
	})
}

// The buffered text is bounded also while a provider session opens: a backend that writes more blocks.
func TestOutputWhileOpeningIsBounded(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{}, func(r *rig) {
		const pieces, size, most = 40, 32 << 10, 96 << 10 // the bound of 64 KiB, and the piece that reaches it
		r.provider.onOpen = func(_ context.Context, spec providers.Spec) error {
			for range pieces {
				spec.OnEvent(providers.Event{Kind: providers.EventText, Text: strings.Repeat("x", size)})
			}
			return nil
		}
		r.Start(ephemeralRun("1"))
		time.Sleep(time.Minute)
		synctest.Wait()
		total := 0
		for _, report := range r.recorded() {
			if o, is := report.(agentpool.Output); is {
				total += len(o.Text)
				if len(o.Text) > most {
					r.t.Errorf("a report has %d bytes, want at most %d", len(o.Text), most)
				}
			}
		}
		if total < pieces*size {
			r.t.Errorf("%d bytes were reported, want at least %d", total, pieces*size)
		}
	})
}
