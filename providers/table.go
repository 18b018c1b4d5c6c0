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

// Warmer is a provider that takes a while to open a session, for example because a process has
// to start, and can prepare sessions.
type Warmer interface {
	// Warm returns when that many sessions, besides the open ones, can be opened without
	// waiting. It is called periodically and returns quickly if nothing has changed. The
	// context ends when the provider is about to be closed.
	Warm(ctx context.Context, sessions int) error
}

// TableConfig holds the settings of a [Table].
type TableConfig struct {
	// Default is the default provider; the first one unless set.
	Default string
	// Aliases are further names of providers. A provider of that name counts before its alias.
	Aliases map[string]string
	// Warm lists the providers to keep ready, if they are [Warmer]s; the default one unless
	// set.
	Warm []string
	// Size is the number of prepared sessions of each; 0 means none.
	Size int
	// Every is the interval of Warm calls; default 10 s. After a failure Warm is retried after
	// Retry, default 1 s, which doubles with each failure up to a minute.
	Every time.Duration
	Retry time.Duration
	// Logger defaults to a logger that discards everything.
	Logger *slog.Logger
}

// maxRetry bounds the wait before Warm is retried.
const maxRetry = time.Minute

// Table holds the providers of a hub and keeps some of them ready.
//
// It owns its providers and one goroutine for each that it keeps ready. Close ends both.
type Table struct {
	cfg    TableConfig
	byName map[string]Provider
	names  []string
	cancel context.CancelFunc
	wg     sync.WaitGroup
	close  func() error

	mu         sync.Mutex
	warmErrors map[string]error
}

// NewTable returns a table of providers, which it owns from then on. If it returns an error it
// owns none.
func NewTable(cfg TableConfig, all ...Provider) (*Table, error) {
	t := &Table{byName: map[string]Provider{}, warmErrors: map[string]error{}}
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

// Get returns the provider of that name or alias.
func (t *Table) Get(name string) (Provider, bool) {
	p, ok := t.byName[name]
	if !ok {
		p, ok = t.byName[t.cfg.Aliases[name]]
	}
	return p, ok
}

// Default returns the default provider.
func (t *Table) Default() Provider { return t.byName[t.cfg.Default] }

// Names returns the names of all providers, in the order of NewTable's arguments.
func (t *Table) Names() []string { return slices.Clone(t.names) }

// WarmErrors returns, by name, the last error of providers that cannot be kept ready. It is
// empty if there are none.
func (t *Table) WarmErrors() map[string]error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.warmErrors)
}

// Close closes all providers. Calling it again returns the same error.
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

// keepWarm calls Warm for one provider until the context ends.
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

// report records the result of Warm and logs when it changes.
func (t *Table) report(name string, err error) {
	t.mu.Lock()
	before := t.warmErrors[name]
	if err != nil {
		t.warmErrors[name] = err
	} else {
		delete(t.warmErrors, name)
	}
	t.mu.Unlock()
	switch {
	case err != nil && before == nil:
		t.cfg.Logger.Warn("provider cannot be kept ready, retrying", "provider", name, "error", err)
	case err == nil && before != nil:
		t.cfg.Logger.Info("provider ready again", "provider", name)
	}
}
