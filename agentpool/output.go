package agentpool

import (
	"strings"
	"time"

	"golang.org/x/time/rate"
)

const (
	// outputInterval is the minimum time between two reports of a run's text, and quickInterval that
	// while the replica has few reports to make: up to quickReports per second.
	outputInterval = 50 * time.Millisecond
	quickInterval  = 5 * time.Millisecond
	quickReports   = 400
	// maxOutput bounds the text buffered in that time.
	maxOutput = 64 << 10
)

// newQuickReports returns the limiter of the reports that the runs of a replica make at once. A
// person sees text as it comes from the model, and a replica with hundreds of streams spends its time
// on few larger reports: without the limiter each token would cost a commit.
func newQuickReports() *rate.Limiter { return rate.NewLimiter(quickReports, quickReports/8) }

// outputBuffer coalesces the text of an agent, so that many small pieces become few reports.
type outputBuffer struct {
	text     strings.Builder
	thinking strings.Builder
	last     time.Time        // time of the last report
	due      <-chan time.Time // fires when the next report is due
}

func (s *outputBuffer) full() bool { return s.text.Len()+s.thinking.Len() >= maxOutput }

// bufferOutput reports text now, or a little later together with the text that follows.
func (l *activeRun) bufferOutput(text, thinking string) {
	s := &l.output
	s.text.WriteString(text)
	s.thinking.WriteString(thinking)
	if text == "" && thinking == "" || s.due != nil {
		return
	}
	interval := outputInterval
	if l.runner.parent.quickReports.Allow() {
		interval = quickInterval
	}
	if wait := time.Until(s.last.Add(interval)); !s.last.IsZero() && wait > 0 {
		s.due = time.After(wait)
		return
	}
	l.flush()
}

// flush reports the buffered text.
func (l *activeRun) flush() {
	s := &l.output
	s.due = nil
	if s.text.Len() == 0 && s.thinking.Len() == 0 {
		return
	}
	said := Output{RunRef{l.ID}, s.text.String(), s.thinking.String()}
	s.text.Reset()
	s.thinking.Reset()
	s.last = time.Now()
	l.report(said)
}
