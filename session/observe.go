package session

import (
	"time"
)

// Observer receives counts and durations of owning sessions, for metrics. Sessions call it from
// their goroutines: it must not block.
type Observer interface {
	// Appended is called after every commit.
	Appended(events int, took time.Duration)
	// TookOver is called when a session with users or work was taken over from another replica.
	// took is the time since it had no owner, as far as this replica knew.
	TookOver(took time.Duration)
	// Fenced is called when a session that this replica owned turned out to be owned by another
	// one.
	Fenced()
	// Probed is called after a successful probe of the store.
	Probed(took time.Duration)
}

// MessageObserver receives the events of messages and questions. Like an [Observer] it must not
// block.
type MessageObserver interface {
	// Repeated is called for a message that was sent again.
	Repeated()
	// Began is called when the run of a message begins.
	Began(waited time.Duration)
	// Answered is called when a question is answered or closed in another way.
	Answered(waited time.Duration)
	// Limited is called when an answer is refused by the rate limit.
	Limited(limit string)
}

// limitAnswers is the name of the limit of answers for the observer.
const limitAnswers = "answers"

// noopObserver discards everything.
type noopObserver struct{}

func (noopObserver) Appended(int, time.Duration) {}
func (noopObserver) TookOver(time.Duration)      {}
func (noopObserver) Fenced()                     {}
func (noopObserver) Probed(time.Duration)        {}
func (noopObserver) Repeated()                   {}
func (noopObserver) Began(time.Duration)         {}
func (noopObserver) Answered(time.Duration)      {}
func (noopObserver) Limited(string)              {}
