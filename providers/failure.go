package providers

import (
	"errors"
	"fmt"
	"time"
)

// Errors of a session that is in the wrong state.
var (
	// ErrBusy means that a turn is running.
	ErrBusy = errors.New("a turn is already running")
	// ErrIdle means that no turn is running.
	ErrIdle = errors.New("no turn is running")
	// ErrNoSteer means that the running turn accepts no further messages.
	ErrNoSteer = errors.New("the running turn accepts no further messages")
	// ErrClosed means that the session or its provider is closed.
	ErrClosed = errors.New("the conversation is closed")
)

// ErrSilent is the cause of a [Failure] after the backend sent nothing for its idle timeout.
// Such a failure is not retried, because another attempt would wait as long again.
var ErrSilent = errors.New("the model server is silent")

// Class classifies failures.
type Class string

// Classes of failures.
const (
	Auth          Class = "auth"           // the API key is wrong or missing
	Rate          Class = "rate"           // too many requests
	Overloaded    Class = "overloaded"     // the backend is overloaded
	Transport     Class = "transport"      // the backend is unreachable or the connection broke
	ContextLength Class = "context_length" // the conversation is too long
	Refused       Class = "refused"        // the model refuses to answer
	Invalid       Class = "invalid"        // the request is invalid
)

// Failure is the reason why a turn failed.
type Failure struct { //nolint:errname // the failure of a turn, which is reported in events and seldom returned
	Class Class
	// RetryAfter is the delay after which a retry is worthwhile, if the backend named one.
	RetryAfter time.Duration
	Err        error
}

func (f *Failure) Error() string { return fmt.Sprintf("%s: %v", f.Class, f.Err) }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Passing reports whether a retry a little later may succeed.
func (f *Failure) Passing() bool {
	return f.Class == Rate || f.Class == Overloaded || f.Class == Transport && !errors.Is(f.Err, ErrSilent)
}
