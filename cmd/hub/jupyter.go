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
// kernel is needed. It goes on when the hub is killed, and the next hub with the same folder finds it.
type jupyter struct {
	cfg  jupyterConfig
	dir  string // of the server's own files
	root string // of the folders of sessions; empty if their files are in a bucket
	log  *slog.Logger

	lock   chan struct{} // holds a token while the following are free
	client *kernels.Client
	server *kernels.Server
}

// newJupyter returns the Jupyter server, or why there is none. find looks for the installed one.
func newJupyter(cfg config, log *slog.Logger, find func() (path string, err error)) (*jupyter, error) {
	j := &jupyter{cfg: cfg.agents.jupyter, log: log, lock: make(chan struct{}, 1)}
	j.lock <- struct{}{}
	var err error
	if cfg.filesBucket == nil {
		if j.root, err = filepath.Abs(cfg.filesFolder()); err != nil {
			return nil, fmt.Errorf("folder of files: %w", err)
		}
	}
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
	if _, err := find(); err != nil {
		return nil, noServerError{err}
	}
	if j.dir, err = filepath.Abs(filepath.Join(cfg.agents.folder, "jupyter")); err != nil {
		return nil, fmt.Errorf("folder of the Jupyter server: %w", err)
	}
	return j, nil
}

// errNoJupyter is why notebooks cannot run code.
var errNoJupyter = errors.New("its operator has to start it with --jupyter auto or --jupyter-url")

// noServerError is errNoJupyter of a hub whose operator wants notebooks to run code.
type noServerError struct{ reason error }

func (e noServerError) Error() string { return e.reason.Error() }

// Is reports that notebooks cannot run code.
func (e noServerError) Is(target error) bool { return target == errNoJupyter }

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
	if j.alive(ctx) {
		return j.client, nil
	}
	s, err := kernels.UseServer(ctx, j.serverConfig())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", kernels.ErrUnavailable, err)
	}
	return j.useServer(ctx, s)
}

// alive reports whether the hub uses a server that runs. It drops one that has ended. The caller has the lock.
func (j *jupyter) alive(ctx context.Context) bool {
	if j.server == nil || j.server.Alive() {
		return j.server != nil
	}
	j.log.WarnContext(ctx, "Jupyter server ended", "url", j.server.URL)
	j.server.Release()
	j.client.Close()
	j.server, j.client = nil, nil
	return false
}

// useServer uses a server from now on. The caller has the lock.
func (j *jupyter) useServer(ctx context.Context, s *kernels.Server) (*kernels.Client, error) {
	c, err := kernels.New(kernels.Config{URL: s.URL, Token: s.Token})
	if err != nil {
		s.Stop()
		return nil, fmt.Errorf("use the Jupyter server: %w", err)
	}
	j.server, j.client = s, c
	j.log.InfoContext(ctx, "using a Jupyter server of its own", "url", s.URL)
	return c, nil
}

// serverConfig describes the hub's own server.
func (j *jupyter) serverConfig() kernels.ServerConfig {
	cfg := kernels.ServerConfig{Dir: j.dir, Root: cmp.Or(j.root, filepath.Join(j.dir, "work"))}
	for _, name := range kernelVariables() {
		if value, ok := os.LookupEnv(name); ok {
			cfg.Env = append(cfg.Env, name+"="+value)
		}
	}
	return cfg
}

// Close ends the hub's own server, unless another hub uses it.
func (j *jupyter) Close() {
	<-j.lock
	defer func() { j.lock <- struct{}{} }()
	if j.client != nil {
		j.client.Close()
	}
	if j.server != nil {
		j.server.Stop()
	}
	j.server, j.client = nil, nil
}

// running returns the client of the server if it runs, or nil. An earlier hub may have started it.
func (j *jupyter) running(ctx context.Context) (*kernels.Client, error) {
	if j.cfg.url != "" {
		return j.client, nil
	}
	select {
	case <-j.lock:
	case <-ctx.Done():
		return nil, fmt.Errorf("find the Jupyter server: %w", ctx.Err())
	}
	defer func() { j.lock <- struct{}{} }()
	if j.alive(ctx) {
		return j.client, nil
	}
	s, err := kernels.FindRunning(ctx, j.serverConfig())
	if s == nil || err != nil {
		return nil, err //nolint:wrapcheck // it says what failed
	}
	return j.useServer(ctx, s)
}

// cullEvery is how often idle kernels are looked for.
const cullEvery = time.Minute

// Run looks for a server that an earlier hub has left, and ends idle kernels until ctx ends. It calls ended each time
// the server has been reached, or there is none: kernels may have ended since the last call.
func (j *jupyter) Run(ctx context.Context, ended func(context.Context)) {
	t := time.NewTicker(cullEvery)
	defer t.Stop()
	for {
		n, err := j.endIdleKernels(ctx)
		switch {
		case err != nil:
			j.log.DebugContext(ctx, "looking for idle kernels failed", "err", err)
		case n > 0:
			j.log.InfoContext(ctx, "idle kernels ended", "kernels", n)
			fallthrough
		default:
			ended(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// endIdleKernels ends idle kernels and returns their number.
func (j *jupyter) endIdleKernels(ctx context.Context) (int, error) {
	c, err := j.running(ctx)
	if c == nil || err != nil {
		return 0, err
	}
	if j.cfg.url == "" {
		if err := kernels.TidyLog(j.dir); err != nil {
			return 0, err //nolint:wrapcheck // it says what failed
		}
	}
	return c.Cull(ctx, time.Now()) //nolint:wrapcheck // as above
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
	k, err := c.Open(ctx, n)
	if err != nil {
		return k, err //nolint:wrapcheck // it says what failed
	}
	k.NoFiles = !j.sharesFiles(ctx, c, n.Session)
	return k, nil
}

// sharesFiles reports whether kernels see the files of a session: a server elsewhere may have another disk.
func (j *jupyter) sharesFiles(ctx context.Context, c *kernels.Client, session string) bool {
	if j.root == "" || j.cfg.url == "" {
		return j.root != ""
	}
	has, err := c.HasFolder(ctx, session)
	if err != nil {
		j.log.WarnContext(ctx, "looking for the files of a session on the Jupyter server failed", "session", session, "err", err)
	}
	return has
}

// Kernel implements [session.Kernels]. It starts no server: without one there is no kernel.
func (j *jupyter) Kernel(ctx context.Context, id string) (kernels.Kernel, error) {
	c, err := j.running(ctx)
	if err != nil {
		return kernels.Kernel{}, err
	}
	if c == nil {
		return kernels.Kernel{}, fmt.Errorf("kernel %q: %w", id, kernels.ErrGone)
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
	c, err := j.running(ctx)
	if c == nil || err != nil {
		return err // without a server there are no kernels
	}
	return c.Remove(ctx, n) //nolint:wrapcheck // as above
}
