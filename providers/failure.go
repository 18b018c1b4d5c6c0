package providers

import (
	"errors"
	"fmt"
	"time"
)

// What a session answers at the wrong time.
var (
	// ErrBusy means that a turn runs.
	ErrBusy = errors.New("a turn runs already")
	// ErrIdle means that no turn runs.
	ErrIdle = errors.New("no turn runs")
	// ErrNoSteer means that the running turn takes no further messages.
	ErrNoSteer = errors.New("the running turn takes no further messages")
	// ErrClosed means that the session or its provider has ended.
	ErrClosed = errors.New("the conversation is closed")
)

// ErrSilent is why a [Failure] came of a backend that said nothing for as long as
// it may: who waited that long is not to wait once more.
var ErrSilent = errors.New("the model server is silent")

// Class is a kind of trouble.
type Class string

// The kinds of trouble.
const (
	Auth          Class = "auth"           // the key is wrong or missing
	Rate          Class = "rate"           // too many requests
	Overloaded    Class = "overloaded"     // the backend has too much to do
	Transport     Class = "transport"      // it cannot be reached, or broke off
	ContextLength Class = "context_length" // the conversation is too long
	Refused       Class = "refused"        // the model will not
	Invalid       Class = "invalid"        // the request is wrong
)

// Failure is why a turn failed.
type Failure struct { //nolint:errname // the trouble of a turn, which is told and seldom returned
	Class Class
	// RetryAfter is when it is worth trying again, if the backend said so.
	RetryAfter time.Duration
	Err        error
}

func (f *Failure) Error() string { return fmt.Sprintf("%s: %v", f.Class, f.Err) }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Passing reports whether the same may succeed a little later.
func (f *Failure) Passing() bool {
	return f.Class == Rate || f.Class == Overloaded || f.Class == Transport && !errors.Is(f.Err, ErrSilent)
}
