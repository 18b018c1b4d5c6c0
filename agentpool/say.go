package agentpool

import (
	"strings"
	"time"
)

const (
	// outputInterval is the minimum time between two reports of text.
	saidEvery = 50 * time.Millisecond
	// maxOutput bounds the text buffered in that time.
	maxSaid = 64 << 10
)

// outputBuffer coalesces the text of an agent, so that many small pieces become few reports.
type speech struct {
	text     strings.Builder
	thinking strings.Builder
	last     time.Time // time of the last report
	due      <-chan time.Time // fires when the next report is due
}

func (s *speech) full() bool { return s.text.Len()+s.thinking.Len() >= maxSaid }

// bufferOutput reports text now, or a little later together with the text that follows.
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

// flush reports the buffered text.
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
