package metrics

import (
	"time"

	"github.com/everdesk/everdesk/wire"
)

// Appended counts a commit.
func (m *Metrics) Appended(events int, took time.Duration) {
	m.events.Add(count(events))
	m.appends.add(int64(took))
}

// TookOver counts a session taken over from another replica.
func (m *Metrics) TookOver(took time.Duration) { m.takeovers.add(int64(took)) }

// Fenced counts a session whose lease was lost to another replica.
func (m *Metrics) Fenced() { m.fenced.Add(1) }

// Probed counts a round trip to the store.
func (m *Metrics) Probed(took time.Duration) {
	m.rtts.add(int64(took))
	m.rtt.Store(int64(took))
}

// Repeated counts a repeated message.
func (m *Metrics) Repeated() { m.repeated.Add(1) }

// Began counts a message whose agent has started.
func (m *Metrics) Began(waited time.Duration) { m.begins.add(int64(max(waited, 0))) }

// Answered counts a closed question.
func (m *Metrics) Answered(waited time.Duration) { m.waits.add(int64(max(waited, 0))) }

// Delivered counts events written to sockets in one batch. Replayed events have no delay.
func (m *Metrics) Delivered(events int, delay time.Duration) {
	m.deliveries.Add(count(events))
	if delay > 0 {
		m.delays.add(int64(delay))
	}
}

// Greeted counts an attached client: with the events that it had missed, or, if reason is set, with
// a snapshot.
func (m *Metrics) Greeted(reason wire.SnapshotReason, missed int) {
	if reason != "" {
		m.resumes.add(string(reason), 1)
		return
	}
	m.resumes.add(reasonPosition, 1)
	m.replays.add(int64(missed))
}

// Slow counts a tab closed for being too slow.
func (m *Metrics) Slow() { m.slow.Add(1) }

// Closed counts a closed WebSocket.
func (m *Metrics) Closed(code wire.CloseCode) { m.closes.add(codeLabel(code), 1) }

// Limited counts a refusal by a limit.
func (m *Metrics) Limited(limit string) { m.limited.add(limit, 1) }

// Failed counts a failed call of the store.
func (m *Metrics) Failed(kind string) { m.errors.add(kind, 1) }

// SessionCooled counts a session that was moved out of the store.
func (m *Metrics) SessionCooled() { m.cooled.Add(1) }

// SessionWarmed counts a session that came back.
func (m *Metrics) SessionWarmed(took time.Duration) { m.warms.add(int64(max(took, 0))) }

// ColdFailed counts a failure of one of them.
func (m *Metrics) ColdFailed(kind string) { m.coldErrors.add(kind, 1) }

// Spent counts the tokens and cost of a model call.
func (m *Metrics) Spent(input, output, cacheRead, cacheWrite int, dollars float64) {
	m.tokens.add(tokenInput, count(input))
	m.tokens.add(tokenOutput, count(output))
	m.tokens.add(tokenCacheRead, count(cacheRead))
	m.tokens.add(tokenCacheWrite, count(cacheWrite))
	if dollars > 0 {
		m.nanodollars.Add(uint64(dollars*1e9 + 0.5))
	}
}

// count converts n for a counter, which must not decrease: providers may report negative numbers.
func count(n int) uint64 { return uint64(max(n, 0)) }
