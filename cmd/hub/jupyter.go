package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/everdesk/everdesk/kernels"
)

// jupyterConfig says which Jupyter server executes the code of notebooks.
type jupyterConfig struct {
	// mode is auto or off. url, unless empty, is a server that runs elsewhere.
	mode, url, token string
}

// jupyter is the Jupyter server of a hub, which implements [session.Kernels]. A server of the hub's own starts when a
// kernel is needed.
type jupyter struct {
	cfg  jupyterConfig
	dir  string // of the server's own files
	root string // of the folders of sessions; empty if their files are in a bucket
	log  *slog.Logger

	lock   chan struct{} // holds a token while the following are free
	client *kernels.Client
	server *kernels.Server
}

// newJupyter returns the Jupyter server, or why there is none.
func newJupyter(cfg config, log *slog.Logger) (*jupyter, error) {
	j := &jupyter{cfg: cfg.agents.jupyter, log: log, lock: make(chan struct{}, 1)}
	j.lock <- struct{}{}
	if j.cfg.url != "" {
		c, err := kernels.New(kernels.Config{URL: j.cfg.url, Token: j.cfg.token})
		if err != nil {
			return nil, fmt.Errorf("--jupyter-url: %w", err)
		}
		j.client = c
		return j, nil
	}
	if j.cfg.mode != "auto" {
		return nil, errNoJupyter
	}
	if _, err := kernels.FindServer(); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoJupyter, err)
	}
	var err error
	if j.dir, err = filepath.Abs(filepath.Join(cfg.agents.folder, "jupyter")); err != nil {
		return nil, fmt.Errorf("folder of the Jupyter server: %w", err)
	}
	if cfg.filesBucket == nil {
		if j.root, err = filepath.Abs(cfg.filesFolder()); err != nil {
			return nil, fmt.Errorf("folder of files: %w", err)
		}
	}
	return j, nil
}

// errNoJupyter is why notebooks cannot run code.
var errNoJupyter = errors.New("its operator has to start it with --jupyter auto or --jupyter-url")

// kernelVariables are the variables of the hub's environment that kernels get.
func kernelVariables() []string { return []string{"PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER"} }

// use returns the client of the server, and starts the server if that is necessary.
func (j *jupyter) use(ctx context.Context) (*kernels.Client, error) {
	if j.cfg.url != "" {
		return j.client, nil
	}
	select {
	case <-j.lock:
	case <-ctx.Done():
		return nil, fmt.Errorf("start the Jupyter server: %w", ctx.Err())
	}
	defer func() { j.lock <- struct{}{} }()
	if j.server != nil {
		select {
		case <-j.server.Done():
			j.log.WarnContext(ctx, "Jupyter server ended", "err", j.server.Err())
			j.stop()
		default:
			return j.client, nil
		}
	}
	var env []string
	for _, name := range kernelVariables() {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	s, err := kernels.StartServer(ctx, kernels.ServerConfig{Dir: j.dir, Root: cmp.Or(j.root, filepath.Join(j.dir, "work")), Env: env})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", kernels.ErrUnavailable, err)
	}
	c, err := kernels.New(kernels.Config{URL: s.URL, Token: s.Token})
	if err != nil {
		s.Stop()
		return nil, fmt.Errorf("start Jupyter: %w", err)
	}
	j.server, j.client = s, c
	j.log.InfoContext(ctx, "Jupyter server started", "url", s.URL)
	return c, nil
}

// stop ends the server. The caller has the lock.
func (j *jupyter) stop() {
	if j.client != nil {
		j.client.Close()
	}
	if j.server != nil {
		j.server.Stop()
	}
	j.server, j.client = nil, nil
}

// Close ends the server, if the hub has started one.
func (j *jupyter) Close() {
	<-j.lock
	defer func() { j.lock <- struct{}{} }()
	j.stop()
}

// running returns the client of the server if it runs.
func (j *jupyter) running(ctx context.Context) (*kernels.Client, bool) {
	select {
	case <-j.lock:
	case <-ctx.Done():
		return nil, false
	}
	defer func() { j.lock <- struct{}{} }()
	return j.client, j.client != nil
}

// cullEvery is how often idle kernels are looked for.
const cullEvery = time.Minute

// Run ends idle kernels until ctx ends.
func (j *jupyter) Run(ctx context.Context) {
	t := time.NewTicker(cullEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-t.C:
			c, ok := j.running(ctx)
			if !ok {
				continue
			}
			if n, err := c.Cull(ctx, now); err != nil {
				j.log.DebugContext(ctx, "looking for idle kernels failed", "err", err)
			} else if n > 0 {
				j.log.InfoContext(ctx, "idle kernels ended", "kernels", n)
			}
		}
	}
}

// Open implements [session.Kernels].
func (j *jupyter) Open(ctx context.Context, n kernels.Notebook) (kernels.Kernel, error) {
	c, err := j.use(ctx)
	if err != nil {
		return kernels.Kernel{}, err
	}
	if j.root != "" { // else the kernel would start in the folder of all sessions
		if err := os.MkdirAll(filepath.Join(j.root, n.Session), 0o700); err != nil {
			return kernels.Kernel{}, fmt.Errorf("folder of the session: %w", err)
		}
	}
	return c.Open(ctx, n) //nolint:wrapcheck // it says what failed
}

// Kernel implements [session.Kernels].
func (j *jupyter) Kernel(ctx context.Context, id string) (kernels.Kernel, error) {
	c, err := j.use(ctx)
	if err != nil {
		return kernels.Kernel{}, err
	}
	return c.Kernel(ctx, id) //nolint:wrapcheck // as above
}

// Connect implements [session.Kernels].
func (j *jupyter) Connect(ctx context.Context, kernel, client string, receive func(kernels.Message)) (*kernels.Conn, error) {
	c, err := j.use(ctx)
	if err != nil {
		return nil, err
	}
	return c.Connect(ctx, kernel, client, receive) //nolint:wrapcheck // as above
}

// Interrupt implements [session.Kernels].
func (j *jupyter) Interrupt(ctx context.Context, id string) error {
	c, err := j.use(ctx)
	if err != nil {
		return err
	}
	return c.Interrupt(ctx, id) //nolint:wrapcheck // as above
}

// Restart implements [session.Kernels].
func (j *jupyter) Restart(ctx context.Context, id string) error {
	c, err := j.use(ctx)
	if err != nil {
		return err
	}
	return c.Restart(ctx, id) //nolint:wrapcheck // as above
}

// Remove implements [session.Kernels].
func (j *jupyter) Remove(ctx context.Context, n kernels.Notebook) error {
	c, ok := j.running(ctx)
	if !ok {
		return nil // there are no kernels
	}
	return c.Remove(ctx, n) //nolint:wrapcheck // as above
}
