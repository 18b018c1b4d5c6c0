package agentpool

import (
	"slices"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// steer is a message on its way into a turn.
type steer struct {
	Steering
	sent bool
}

func (s *steer) message() providers.Message {
	return providers.Message{ID: string(s.Message), Text: s.Text, Images: s.Images, Mode: providers.Steer}
}

// steer adds a message for the turn, unless the run is over or has too many.
// Anybody may call it.
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

// nextSteer is the oldest message that the backend does not have.
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

// steered is the message of that id that waits to be taken.
func (l *activeRun) steered(id string) *steer {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.steers, func(s *steer) bool { return s.sent && string(s.Message) == id })
	if i < 0 {
		return nil
	}
	return l.steers[i]
}

// among are the messages of those ids that wait to be taken.
func (l *activeRun) among(ids []string) (out []wire.MessageID) {
	for _, id := range ids {
		if s := l.steered(id); s != nil {
			out = append(out, s.Message)
		}
	}
	return out
}

// answer says what became of a message, unless that was said.
func (l *activeRun) answer(s *steer, took bool) {
	l.mu.Lock()
	i := slices.Index(l.steers, s)
	if i >= 0 {
		l.steers = slices.Delete(l.steers, i, i+1)
	}
	l.mu.Unlock()
	switch {
	case i < 0:
	case took:
		l.report(SteerAccepted{Of{l.ID}, s.Message})
	default:
		l.flush()
		l.report(SteerRefused{Of: Of{l.ID}, Message: s.Message})
	}
}
