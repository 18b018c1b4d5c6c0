package kernels

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// An answer to a ping comes after everything that was sent before it. While much arrives, its absence ends nothing.
func TestAConnectionWithoutAnswersEndsWhenNothingArrives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var c Conn
		began := time.Now()
		const busy = 5 * time.Minute
		var sender sync.WaitGroup
		defer sender.Wait()
		sender.Go(func() {
			for time.Since(began) < busy {
				time.Sleep(time.Second)
				c.arrived.Add(1)
			}
		})
		noAnswer := func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		if !c.watch(ctx, noAnswer) {
			t.Error("the connection works, want that it failed")
		}
		if took := time.Since(began); took < busy || took > busy+2*(pingEvery+writeTimeout) {
			t.Errorf("it failed after %v, want soon after the last bytes, which came after %v", took, busy)
		}
	})
}

func TestAConnectionThatAnswersGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var c Conn
		if c.watch(ctx, func(context.Context) error { return nil }) {
			t.Error("a connection whose pings are answered failed, want that it goes on")
		}
	})
}
