package agentpool_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

func steering(run string, message wire.MessageID) agentpool.Steering {
	return agentpool.Steering{Run: run, Message: message, Text: "also " + string(message)}
}

func TestSteer(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{}, func(r *rig) {
		t := r.t
		r.provider.runTurn = func(p *turn) (providers.Outcome, error) {
			for range 2 {
				p.emitText("x")
				p.emitTaken(<-p.steers)
				p.emitText("y")
			}
			<-p.steers // but does not accept it
			return providers.Completed, nil
		}
		r.Start(mainRun("1"))
		for _, m := range []wire.MessageID{"a", "b", "c"} {
			r.Steer(steering("1", m))
		}
		time.Sleep(time.Second)
		synctest.Wait()
		r.expect(t, "1 began", `1 output "x" ""`, "1 accepted a", `1 output "yx" ""`, "1 accepted b", `1 output "y" ""`, "1 refused c", "1 completed")
		_, sent, _ := r.provider.received()
		if len(sent) != 4 || sent[1].Mode != providers.Steer || sent[1].Text != "also a" || sent[3].ID != "c" {
			t.Errorf(`sent messages are %+v, want 4, the second steering with "also a", the last one c`, sent)
		}
		r.Steer(steering("1", "late"))
		synctest.Wait()
		if last := r.lines()[8]; last != "1 refused late" {
			t.Errorf("report of a message after the end: %s, want refused", last)
		}
	})
}

// A message that the backend refuses is reported as refused at once; other messages continue.
func TestSteerRefused(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{}, func(r *rig) {
		t := r.t
		r.provider.onSend = func(_ context.Context, m providers.Message) error {
			switch m.ID {
			case "a":
				return errFake
			case "b":
				panic("steer")
			}
			return nil
		}
		r.provider.runTurn = func(p *turn) (providers.Outcome, error) {
			p.emitTaken(<-p.steers)
			return providers.Completed, nil
		}
		r.Start(mainRun("1"))
		synctest.Wait()
		for _, m := range []wire.MessageID{"a", "b", "c"} {
			r.Steer(steering("1", m))
		}
		synctest.Wait()
		r.expect(t, "1 began", "1 refused a", "1 refused b", "1 accepted c", "1 completed")
	})
}

// Messages for a run without a turn wait for it, or are refused when the run ends.
func TestSteerBeforeTheTurn(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{Agents: 1}, func(r *rig) {
		t := r.t
		s := r.TryReserve()
		r.provider.runTurn = func(p *turn) (providers.Outcome, error) {
			p.emitTaken(<-p.steers)
			return providers.Completed, nil
		}
		r.Start(ephemeralRun("1"))
		r.Start(ephemeralRun("2"))
		r.Steer(steering("1", "a"))
		r.Steer(steering("2", "b"))
		r.Steer(steering("2", "c"))
		synctest.Wait()
		r.expect(t)
		r.Interrupt("2", "enough")
		synctest.Wait()
		r.expect(t, "2 refused b", "2 refused c", "2 interrupted enough")
		r.Cancel(s)
		synctest.Wait()
		r.expect(t, "2 refused b", "2 refused c", "2 interrupted enough", "1 began", "1 accepted a", "1 completed")
	})
}

// The number of messages for one turn is bounded.
func TestSteersAreBounded(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{}, func(r *rig) {
		t := r.t
		r.provider.runTurn = hang
		r.Start(mainRun("1"))
		synctest.Wait()
		for i := range 65 {
			r.Steer(steering("1", wire.MessageID(strconv.Itoa(i))))
		}
		synctest.Wait()
		r.expect(t, "1 began", "1 refused 64")
		r.Close()
	})
}
