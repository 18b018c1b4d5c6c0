package session

import (
	"errors"

	"github.com/everdesk/everdesk/checkpoints"
)

// publicReason returns why checkpoints failed, as a sentence without paths of the host.
func publicReason(err error) string {
	for is, text := range map[error]string{
		checkpoints.ErrTooLarge:    "the folder has too many or too large files for checkpoints.",
		checkpoints.ErrBusy:        "other checkpoints of the same folder took too long.",
		checkpoints.ErrTooSlow:     "git did not finish in time.",
		checkpoints.ErrNoSpace:     "the disk is full.",
		checkpoints.ErrProtected:   "the folder cannot have checkpoints.",
		checkpoints.ErrUnknown:     "the checkpoint does not exist any more.",
		checkpoints.ErrBlocked:     "a repository or a device is where a file should be.",
		checkpoints.ErrUnavailable: "checkpoints are not available on this hub.",
	} {
		if errors.Is(err, is) {
			return text
		}
	}
	return "git failed; the log of the hub has the reason."
}
