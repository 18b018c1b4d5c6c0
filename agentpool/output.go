package agentpool

import (
	"strings"
	"time"

	"golang.org/x/time/rate"
)

const (
	// outputInterval is the minimum time between two reports of a run's text. While all runs of the
	// replica together make fewer than quickReports per second, it is quickInterval.
	outputInterval = 50 * time.Millisecond
	quickInterval  = 5 * time.Millisecond
	quickReports   = 400
	// maxOutput bounds the buffered text of a run. While it is reached, the backend blocks.
	maxOutput = 64 << 10
)

// newQuickReports returns the rate limiter of the reports after quickInterval, for all runs of a
// replica. With few streams people see text as the model sends it. With hundreds of streams the
// replica makes fewer and larger reports, because every report costs a commit.
func newQuickReports() *rate.Limiter { return rate.NewLimiter(quickReports, quickReports/8) }

// outputBuffer coalesces the text of an agent, so that many small pieces become few reports.
type outputBuffer struct {
	text     strings.Builder
	thinking strings.Builder
	last     time.Time        // time of the last report
	due      <-chan time.Time // fires when the next report is due; nil if none is scheduled
}

func (b *outputBuffer) full() bool { return b.text.Len()+b.thinking.Len() >= maxOutput }

// bufferOutput adds text to the buffer. It reports the buffer at once if the last report is long
// enough ago; otherwise it schedules the report, which then contains the text that follows, too.
func (ar *activeRun) bufferOutput(text, thinking string) {
	b := &ar.output
	b.text.WriteString(text)
	b.thinking.WriteString(thinking)
	if text == "" && thinking == "" || b.due != nil {
		return
	}
	interval := outputInterval
	if ar.runner.parent.quickReports.Allow() {
		interval = quickInterval
	}
	if wait := time.Until(b.last.Add(interval)); !b.last.IsZero() && wait > 0 {
		b.due = time.After(wait)
		return
	}
	ar.flush()
}

// flush reports the buffered text.
func (ar *activeRun) flush() {
	b := &ar.output
	b.due = nil
	if b.text.Len() == 0 && b.thinking.Len() == 0 {
		return
	}
	output := Output{RunRef{ar.ID}, b.text.String(), b.thinking.String()}
	b.text.Reset()
	b.thinking.Reset()
	b.last = time.Now()
	ar.report(output)
}
