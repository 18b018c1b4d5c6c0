package supervise

import (
	"testing"
	"time"
)

func TestAHubThatDiesAgainAndAgainIsStartedLessOften(t *testing.T) {
	t.Parallel()
	var b backoff
	for n, c := range []struct{ lived, want time.Duration }{
		{time.Hour, 0},
		{time.Millisecond, firstWait},
		{time.Millisecond, 2 * firstWait},
		{settled, 0},
		{time.Millisecond, firstWait},
	} {
		if got := b.next(c.lived); got != c.want {
			t.Errorf("start %d: got a wait of %v after a life of %v, want %v", n, got, c.lived, c.want)
		}
	}
	for range 20 {
		if got := b.next(0); got > maxDelay {
			t.Fatalf("got a wait of %v, want at most %v", got, maxDelay)
		}
	}
	if got := b.next(0); got != maxDelay {
		t.Errorf("got a wait of %v in the end, want %v", got, maxDelay)
	}
}
