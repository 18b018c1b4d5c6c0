package providers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// Warmer is a provider that takes a while to open a session, because a process
// has to start for example, and can do that ahead.
type Warmer interface {
	// Warm returns when that many sessions can be opened without waiting, those
	// already open not counted. It is called again from time to time, and has
	// nothing to do then if nothing has changed. The context ends when the
	// provider is about to be closed.
	Warm(ctx context.Context, sessions int) error
}

// TableConfig says how a [Table] keeps its providers.
type TableConfig struct {
	// Default is the provider for who does not choose; the first unless set.
	Default string
	// Warm are the providers to be kept warm, as far as they are [Warmer]s; the
	// default one unless set.
	Warm []string
	// Size is how many sessions of each are kept ready. With 0 none are.
	Size int
	// Every is how often it is looked after, 10 s unless set. A provider that
	// could not be warmed is tried again after Retry, 1 s unless set, and then
	// after twice as long each time, up to a minute.
	Every time.Duration
	Retry time.Duration
	// Logger defaults to silence.
	Logger *slog.Logger
}

// maxRetry is the longest wait before a provider is warmed again.
const maxRetry = time.Minute

// Table is the providers there are, and keeps some of them warm.
//
// Ownership: a Table owns its providers and one goroutine for each that it keeps
// warm. Close ends both.
type Table struct {
	cfg    TableConfig
	byName map[string]Provider
	names  []string
	cancel context.CancelFunc
	wg     sync.WaitGroup
	close  func() error

	mu      sync.Mutex
	trouble map[string]error
}

// NewTable makes a table of providers, which it owns from then on. If it returns
// an error it owns none.
func NewTable(cfg TableConfig, all ...Provider) (*Table, error) {
	t := &Table{byName: map[string]Provider{}, trouble: map[string]error{}}
	for _, p := range all {
		if _, twice := t.byName[p.Name()]; twice || p.Name() == "" {
			return nil, fmt.Errorf("table of providers: the name %q is taken twice or empty", p.Name())
		}
		t.byName[p.Name()] = p
		t.names = append(t.names, p.Name())
	}
	if len(all) == 0 {
		return nil, errors.New("table of providers: there is none")
	}
	cfg.Default = cmp.Or(cfg.Default, t.names[0])
	if len(cfg.Warm) == 0 {
		cfg.Warm = []string{cfg.Default}
	}
	for _, name := range append([]string{cfg.Default}, cfg.Warm...) {
		if t.byName[name] == nil {
			return nil, fmt.Errorf("table of providers: there is no %q, only %q", name, t.names)
		}
	}
	cfg.Every = cmp.Or(cfg.Every, 10*time.Second)
	cfg.Retry = cmp.Or(cfg.Retry, time.Second)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	t.cfg = cfg
	t.close = sync.OnceValue(t.closeAll)
	ctx, cancel := context.WithCancel(context.Background())
	t.cancel = cancel
	for n, name := range cfg.Warm {
		w, ok := t.byName[name].(Warmer)
		if ok && cfg.Size > 0 && !slices.Contains(cfg.Warm[:n], name) {
			t.wg.Go(func() { t.keepWarm(ctx, name, w) })
		}
	}
	return t, nil
}

// Get is the provider of that name.
func (t *Table) Get(name string) (Provider, bool) {
	p, ok := t.byName[name]
	return p, ok
}

// Default is the provider for who does not choose.
func (t *Table) Default() Provider { return t.byName[t.cfg.Default] }

// Names are those of all providers, in the order they were given in.
func (t *Table) Names() []string { return slices.Clone(t.names) }

// Trouble is why providers are not warm that should be, by name. It is empty when
// all is well.
func (t *Table) Trouble() map[string]error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.trouble)
}

// Close closes all providers. Closing again is no error of its own.
func (t *Table) Close() error { return t.close() }

func (t *Table) closeAll() error {
	t.cancel()
	t.wg.Wait()
	var errs []error
	for _, name := range t.names {
		if err := t.byName[name].Close(); err != nil {
			errs = append(errs, fmt.Errorf("close provider %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// keepWarm looks after one provider until the context ends.
func (t *Table) keepWarm(ctx context.Context, name string, w Warmer) {
	retry := t.cfg.Retry
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		err := w.Warm(ctx, t.cfg.Size)
		if ctx.Err() != nil {
			return
		}
		t.report(name, err)
		if err != nil {
			timer.Reset(retry)
			retry = min(2*retry, maxRetry)
			continue
		}
		retry = t.cfg.Retry
		timer.Reset(t.cfg.Every)
	}
}

// report keeps what came of warming, and tells when it changed.
func (t *Table) report(name string, err error) {
	t.mu.Lock()
	before := t.trouble[name]
	if err != nil {
		t.trouble[name] = err
	} else {
		delete(t.trouble, name)
	}
	t.mu.Unlock()
	switch {
	case err != nil && before == nil:
		t.cfg.Logger.Warn("a provider cannot be kept ready", "provider", name, "error", err)
	case err == nil && before != nil:
		t.cfg.Logger.Info("a provider is ready again", "provider", name)
	}
}
