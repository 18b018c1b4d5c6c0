package ws

import (
	"strconv"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// refusal is the reason why a client or a message is refused. It becomes a problem document before
// the connection is upgraded and an error event after.
type refusal struct {
	code       wire.Code
	detail     string // empty means the default text of code
	retryAfter time.Duration
}

// Error implements error.
func (r *refusal) Error() string { return r.code.String() + ": " + r.detail }

func (r *refusal) notice() wire.ErrorNotice {
	n := r.code.Notice(r.detail)
	n.RetryAfterMS = int((r.retryAfter + time.Millisecond - 1) / time.Millisecond)
	return n
}

// closeCode returns the close code and reason for a connection that is closed because of r.
func (r *refusal) closeCode() (wire.CloseCode, string) {
	info := r.code.Info()
	switch info.Close {
	case 0:
		return wire.CloseInternal, info.Name
	case wire.CloseRateLimited:
		return info.Close, retryReason(r.retryAfter)
	default:
		return info.Close, info.Name
	}
}

// retryReason returns the reason of a close with 4429, in whole seconds.
func retryReason(wait time.Duration) string { return "retry_after=" + retrySeconds(wait) }

func retrySeconds(wait time.Duration) string {
	return strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10)
}
