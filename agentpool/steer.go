package agentpool

import (
	"slices"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// steer is a message waiting to be accepted by a turn.
type steer struct {
	Steering
	sent bool
}

func (s *steer) message() providers.Message {
	return providers.Message{ID: string(s.Message), Text: s.Text, Images: s.Images, Mode: providers.Steer}
}

// steer adds a message for the turn, unless the run is over or maxSteers is reached. It is safe
// for concurrent use.
func (ar *activeRun) steer(s Steering) bool {
	ar.mu.Lock()
	defer ar.mu.Unlock()
	if ar.ended || len(ar.steers) >= maxSteers {
		return false
	}
	ar.steers = append(ar.steers, &steer{Steering: s})
	select {
	case ar.wake <- struct{}{}:
	default:
	}
	return true
}

// nextSteer returns the oldest message not yet sent to the backend, or nil, and marks it as
// sent.
func (ar *activeRun) nextSteer() *steer {
	ar.mu.Lock()
	defer ar.mu.Unlock()
	i := slices.IndexFunc(ar.steers, func(s *steer) bool { return !s.sent })
	if i < 0 {
		return nil
	}
	ar.steers[i].sent = true
	return ar.steers[i]
}

// sentSteer returns the sent message with that id if it is not accepted yet, else nil.
func (ar *activeRun) sentSteer(id string) *steer {
	ar.mu.Lock()
	defer ar.mu.Unlock()
	i := slices.IndexFunc(ar.steers, func(s *steer) bool { return s.sent && string(s.Message) == id })
	if i < 0 {
		return nil
	}
	return ar.steers[i]
}

// sentSteers returns those of the messages that are sent and not accepted yet.
func (ar *activeRun) sentSteers(ids []string) (out []wire.MessageID) {
	for _, id := range ids {
		if s := ar.sentSteer(id); s != nil {
			out = append(out, s.Message)
		}
	}
	return out
}

// answerSteer reports what became of a message, once.
func (ar *activeRun) answerSteer(s *steer, took bool) {
	ar.mu.Lock()
	i := slices.Index(ar.steers, s)
	if i >= 0 {
		ar.steers = slices.Delete(ar.steers, i, i+1)
	}
	ar.mu.Unlock()
	switch {
	case i < 0:
	case took:
		ar.report(SteerAccepted{RunRef{ar.ID}, s.Message})
	default:
		ar.flush()
		ar.report(SteerRefused{RunRef: RunRef{ar.ID}, Message: s.Message})
	}
}
