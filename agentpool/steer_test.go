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
		r.puppet.play = func(p *turn) (providers.Outcome, error) {
			for range 2 {
				p.say("x")
				p.take(<-p.steers)
				p.say("y")
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
		r.wants(t, "1 began", `1 said "x" ""`, "1 took a", `1 said "yx" ""`, "1 took b", `1 said "y" ""`, "1 spurned c", "1 completed")
		_, sent, _ := r.puppet.look()
		if len(sent) != 4 || sent[1].Mode != providers.Steer || sent[1].Text != "also a" || sent[3].ID != "c" {
			t.Errorf("sent %+v", sent)
		}
		r.Steer(steering("1", "late"))
		synctest.Wait()
		if last := r.lines()[8]; last != "1 spurned late" {
			t.Errorf("a message that came too late: %s", last)
		}
	})
}

// A message that the backend refuses is reported as refused at once; the others continue.
func TestSteerRefused(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{}, func(r *rig) {
		t := r.t
		r.puppet.sending = func(_ context.Context, m providers.Message) error {
			switch m.ID {
			case "a":
				return errPuppet
			case "b":
				panic("steer")
			}
			return nil
		}
		r.puppet.play = func(p *turn) (providers.Outcome, error) {
			p.take(<-p.steers)
			return providers.Completed, nil
		}
		r.Start(mainRun("1"))
		synctest.Wait()
		for _, m := range []wire.MessageID{"a", "b", "c"} {
			r.Steer(steering("1", m))
		}
		synctest.Wait()
		r.wants(t, "1 began", "1 spurned a", "1 spurned b", "1 took c", "1 completed")
	})
}

// Messages for a run without a turn wait for it, or are refused when the run ends.
func TestSteerBeforeTheTurn(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{Agents: 1}, func(r *rig) {
		t := r.t
		s := r.TryReserve()
		r.puppet.play = func(p *turn) (providers.Outcome, error) {
			p.take(<-p.steers)
			return providers.Completed, nil
		}
		r.Start(ephemeralRun("1"))
		r.Start(ephemeralRun("2"))
		r.Steer(steering("1", "a"))
		r.Steer(steering("2", "b"))
		r.Steer(steering("2", "c"))
		synctest.Wait()
		r.wants(t)
		r.Interrupt("2", "enough")
		synctest.Wait()
		r.wants(t, "2 spurned b", "2 spurned c", "2 interrupted enough")
		r.Cancel(s)
		synctest.Wait()
		r.wants(t, "2 spurned b", "2 spurned c", "2 interrupted enough", "1 began", "1 took a", "1 completed")
	})
}

// The number of messages for one turn is bounded.
func TestSteersAreBounded(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{}, func(r *rig) {
		t := r.t
		r.puppet.play = hang
		r.Start(mainRun("1"))
		synctest.Wait()
		for i := range 65 {
			r.Steer(steering("1", wire.MessageID(strconv.Itoa(i))))
		}
		synctest.Wait()
		r.wants(t, "1 began", "1 spurned 64")
		r.Close()
	})
}
