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
func (l *activeRun) steer(s Steering) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended || len(l.steers) >= maxSteers {
		return false
	}
	l.steers = append(l.steers, &steer{Steering: s})
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return true
}

// nextSteer returns the oldest message not yet sent to the backend, or nil, and marks it as
// sent.
func (l *activeRun) nextSteer() *steer {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.steers, func(s *steer) bool { return !s.sent })
	if i < 0 {
		return nil
	}
	l.steers[i].sent = true
	return l.steers[i]
}

// sentSteer returns the sent message with that id if it is not accepted yet, else nil.
func (l *activeRun) sentSteer(id string) *steer {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.steers, func(s *steer) bool { return s.sent && string(s.Message) == id })
	if i < 0 {
		return nil
	}
	return l.steers[i]
}

// sentSteers returns those of the messages that are sent and not accepted yet.
func (l *activeRun) sentSteers(ids []string) (out []wire.MessageID) {
	for _, id := range ids {
		if s := l.sentSteer(id); s != nil {
			out = append(out, s.Message)
		}
	}
	return out
}

// answerSteer reports what became of a message, once.
func (l *activeRun) answerSteer(s *steer, took bool) {
	l.mu.Lock()
	i := slices.Index(l.steers, s)
	if i >= 0 {
		l.steers = slices.Delete(l.steers, i, i+1)
	}
	l.mu.Unlock()
	switch {
	case i < 0:
	case took:
		l.report(SteerAccepted{RunRef{l.ID}, s.Message})
	default:
		l.flush()
		l.report(SteerRefused{RunRef: RunRef{l.ID}, Message: s.Message})
	}
}
