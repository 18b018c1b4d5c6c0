package agentpool

import (
	"strings"
	"time"
)

const (
	// saidEvery is the least time between two reports of what an agent says.
	saidEvery = 50 * time.Millisecond
	// maxSaid is how much is gathered in that time.
	maxSaid = 64 << 10
)

// speech gathers what an agent says, so that many small pieces become few
// reports.
type speech struct {
	text     strings.Builder
	thinking strings.Builder
	last     time.Time        // of the newest report
	due      <-chan time.Time // of the next
}

func (s *speech) full() bool { return s.text.Len()+s.thinking.Len() >= maxSaid }

// say reports what is said now, or a little later together with what follows.
func (l *activeRun) say(text, thinking string) {
	s := &l.speech
	s.text.WriteString(text)
	s.thinking.WriteString(thinking)
	if text == "" && thinking == "" || s.due != nil {
		return
	}
	if wait := time.Until(s.last.Add(saidEvery)); !s.last.IsZero() && wait > 0 {
		s.due = time.After(wait)
		return
	}
	l.flush()
}

// flush reports what was said and not reported.
func (l *activeRun) flush() {
	s := &l.speech
	s.due = nil
	if s.text.Len() == 0 && s.thinking.Len() == 0 {
		return
	}
	said := Said{Of{l.ID}, s.text.String(), s.thinking.String()}
	s.text.Reset()
	s.thinking.Reset()
	s.last = time.Now()
	l.report(said)
}
