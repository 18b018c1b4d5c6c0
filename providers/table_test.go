package providers_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/providers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cold is a provider that opens no session.
type cold struct {
	name   string
	closed atomic.Int32
	err    error
}

func (c *cold) Name() string         { return c.name }
func (c *cold) Caps() providers.Caps { return providers.Caps{} }
func (c *cold) Open(context.Context, providers.Spec) (providers.Session, error) {
	return nil, errors.ErrUnsupported
}

func (c *cold) Close() error {
	c.closed.Add(1)
	return c.err
}

// warm records the calls of Warm, and fails as long as failing is set.
type warm struct {
	cold
	mu      sync.Mutex
	began   time.Time
	at      []time.Duration
	sizes   []int
	failing error
	stuck   bool
	stopped atomic.Bool
}

func (w *warm) Warm(ctx context.Context, n int) error {
	w.mu.Lock()
	w.at = append(w.at, time.Since(w.began))
	w.sizes = append(w.sizes, n)
	err, stuck := w.failing, w.stuck
	w.mu.Unlock()
	if stuck {
		<-ctx.Done()
		w.stopped.Store(w.closed.Load() == 0)
		return context.Cause(ctx)
	}
	return err
}

// when returns the times of the Warm calls.
func (w *warm) when() []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.at)
}

func (w *warm) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failing = err
}

func TestTableFindsProviders(t *testing.T) {
	t.Parallel()
	a, b := &cold{name: "a"}, &cold{name: "b"}
	table, err := providers.NewTable(providers.TableConfig{Default: "b", Aliases: map[string]string{"other": "a", "b": "a", "gone": "c"}}, a, b)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := table.Get("a"); !ok || got != providers.Provider(a) {
		t.Errorf("a is %v, want %v", got, a)
	}
	if got, ok := table.Get("c"); ok {
		t.Errorf("c is %v, want none", got)
	}
	for name, want := range map[string]providers.Provider{"other": a, "b": b} {
		if got, ok := table.Get(name); !ok || got != want {
			t.Errorf("%s is %v, want %s", name, got, want.Name())
		}
	}
	if got, ok := table.Get("gone"); ok {
		t.Errorf("an alias of nothing is %v", got)
	}
	if table.Default() != providers.Provider(b) {
		t.Errorf("default is %v, want %v", table.Default(), b)
	}
	if got := table.Names(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("names are %v, want [a b]", got)
	}
	for range 2 {
		if err := table.Close(); err != nil {
			t.Error(err)
		}
	}
	if a.closed.Load() != 1 || b.closed.Load() != 1 {
		t.Errorf("providers were closed %d and %d times, want once each", a.closed.Load(), b.closed.Load())
	}
}

func TestTableRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cfg providers.TableConfig
		all []providers.Provider
	}{
		"no provider":         {},
		"two of one name":     {all: []providers.Provider{&cold{name: "a"}, &cold{name: "a"}}},
		"one without a name":  {all: []providers.Provider{&cold{}}},
		"an unknown default":  {cfg: providers.TableConfig{Default: "x"}, all: []providers.Provider{&cold{name: "a"}}},
		"an unknown warm one": {cfg: providers.TableConfig{Warm: []string{"x"}}, all: []providers.Provider{&cold{name: "a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if table, err := providers.NewTable(c.cfg, c.all...); err == nil {
				t.Errorf("got a table of %v, want an error", table.Names())
			}
		})
	}
}

func TestTableReportsCloseErrors(t *testing.T) {
	t.Parallel()
	bad, good := &cold{name: "bad", err: errors.New("stays open")}, &cold{name: "good"}
	table, err := providers.NewTable(providers.TableConfig{}, bad, good)
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Close(); !errors.Is(err, bad.err) || !strings.Contains(err.Error(), "bad") {
		t.Errorf("close: %v, want %v of bad", err, bad.err)
	}
	if good.closed.Load() != 1 {
		t.Errorf("the other provider was closed %d times, want once", good.closed.Load())
	}
}

func TestTableKeepsWarm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := &warm{cold: cold{name: "a"}, began: time.Now()}, &warm{cold: cold{name: "b"}, began: time.Now()}
		table, err := providers.NewTable(providers.TableConfig{Size: 3, Every: time.Minute}, a, &cold{name: "c"}, b)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(150 * time.Second)
		if err := table.Close(); err != nil {
			t.Error(err)
		}
		if want := []time.Duration{0, time.Minute, 2 * time.Minute}; !slices.Equal(a.at, want) || !slices.Equal(a.sizes, []int{3, 3, 3}) {
			t.Errorf("it was warmed at %v for %v sessions, want %v for 3", a.at, a.sizes, want)
		}
		if len(b.at) > 0 {
			t.Errorf("a provider without warming was warmed at %v, want never", b.at)
		}
	})
}

func TestTableRetriesWarming(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		w := &warm{cold: cold{name: "w"}, began: time.Now(), failing: errors.New("no such program")}
		table, err := providers.NewTable(providers.TableConfig{
			Size: 1, Retry: 10 * time.Second, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		}, w)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Second)
		if want := []time.Duration{0, 10 * time.Second, 30 * time.Second, 70 * time.Second, 130 * time.Second, 190 * time.Second}; !slices.Equal(w.when(), want) {
			t.Errorf("it was tried at %v, want %v", w.when(), want)
		}
		if err := table.WarmErrors()["w"]; !errors.Is(err, w.failing) {
			t.Errorf("warm errors are %v, want %v", err, w.failing)
		}
		w.fail(nil)
		time.Sleep(time.Minute)
		if got := table.WarmErrors(); len(got) > 0 {
			t.Errorf("warm errors are %v, want none", got)
		}
		if err := table.Close(); err != nil {
			t.Error(err)
		}
		if strings.Count(log.String(), "no such program") != 1 || strings.Count(log.String(), "ready again") != 1 {
			t.Errorf("the log has the error and the recovery, want each once:\n%s", log.String())
		}
	})
}

func TestTableStopsWarmingBeforeItCloses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &warm{cold: cold{name: "w"}, began: time.Now(), stuck: true}
		table, err := providers.NewTable(providers.TableConfig{Size: 1}, w)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := table.Close(); err != nil {
			t.Error(err)
		}
		if !w.stopped.Load() {
			t.Error("the provider was closed while it was being warmed, want the warming stopped first")
		}
		if len(table.WarmErrors()) > 0 {
			t.Errorf("closing is reported as a warm error: %v, want none", table.WarmErrors())
		}
	})
}

func TestFailure(t *testing.T) {
	t.Parallel()
	cause := errors.New("slow down")
	for class, passing := range map[providers.Class]bool{
		providers.Auth: false, providers.Rate: true, providers.Overloaded: true, providers.Transport: true,
		providers.ContextLength: false, providers.Refused: false, providers.Invalid: false,
	} {
		f := &providers.Failure{Class: class, Err: cause}
		if f.Passing() != passing || !errors.Is(f, cause) || f.Error() != string(class)+": slow down" {
			t.Errorf("%v: passing is %v, want %v, the cause and its class in the text", f, f.Passing(), passing)
		}
	}
}

func TestUsageAdds(t *testing.T) {
	t.Parallel()
	u := providers.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, USD: 0.5}
	if got, want := u.Add(u), (providers.Usage{Input: 2, Output: 4, CacheRead: 6, CacheWrite: 8, USD: 1}); got != want {
		t.Errorf("sum is %+v, want %+v", got, want)
	}
}
