package redisstore

import (
	"errors"
	"testing"

	"github.com/everdesk/everdesk/store"
)

// answer is an error as Redis sends it.
type answer string

func (a answer) Error() string { return string(a) }
func (a answer) RedisError()   {}

// TestKilledScript makes sure that a script that an operator killed is not reported as corrupt data.
func TestKilledScript(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"ERR value is not an integer or out of range script: 6e6c, on @user_script:8.":                       true,
		"ERR user_script:12: attempt to perform arithmetic on a nil value script: 6e6c, on @user_script:12.": true,
		"ERR Script killed by user with SCRIPT KILL... script: 6e6c, on @user_script:3.":                     false,
		"NOSCRIPT No matching script. Please use EVAL.":                                                      false,
	} {
		if got := failedInside(answer(text)); got != want {
			t.Errorf("%q is broken: %v, want %v", text, got, want)
		}
	}
}

// TestRefusedExec makes sure that a transaction refused as a whole is explained
// by its reason, like a single command.
func TestRefusedExec(t *testing.T) {
	t.Parallel()
	const preamble = "EXECABORT Transaction discarded because of: "
	c := &caller{runCtx: t.Context(), cfg: Config{}.withDefaults()}
	for text, want := range map[string]error{
		"OOM command not allowed when used memory > 'maxmemory'.":                          store.ErrNoSpace,
		"READONLY You can't write against a read only replica.":                            store.ErrUnavailable,
		"MISCONF Errors writing to the AOF file: No space left on device":                  store.ErrNoSpace,
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.": store.ErrUnavailable,
	} {
		for _, err := range []error{answer(text), answer(preamble + text)} {
			if got := c.contractError(t.Context(), "commit", err); !errors.Is(got, want) {
				t.Errorf("%q is %v, want %v", err, got, want)
			}
		}
	}
}
