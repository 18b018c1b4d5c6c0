package kernels

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ServerConfig describes a Jupyter server of hubs.
type ServerConfig struct {
	// Path is the program; empty to look for jupyter-server.
	Path string
	// Dir is the folder for the files of the server itself, and Root the one in which kernels start. Hubs with the
	// same Dir use the same server.
	Dir, Root string
	// Env has the variables of the hub's environment that kernels get. Nothing else is inherited.
	Env []string
	// AloneFor is how long the server stays if no hub uses it. Default: 1 h.
	AloneFor time.Duration
}

// Server is a Jupyter server on loopback. It goes on when the hub that started it is killed, and the next hub with the
// same folder finds it.
type Server struct {
	URL, Token string
	dir        string
	record     record
	users      *os.File // locked while this hub uses the server
	once       sync.Once
}

const (
	// startTimeout bounds the start of a server.
	startTimeout = 60 * time.Second
	// stopTimeout bounds the wait for a hub that is starting the server which this one is about to end.
	stopTimeout = 5 * time.Second
	// maxLog is the size in bytes above which [TidyLog] empties the log of the server.
	maxLog = 1 << 20
)

// watch makes a server end that no hub uses.
//
//go:embed watch.py
var watch string

// FindServer returns the path of the Jupyter server of this machine, or why there is none.
func FindServer() (string, error) {
	if err := supported(); err != nil {
		return "", err
	}
	for _, name := range []string{"/usr/bin/jupyter-server", "jupyter-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("jupyter-server is not installed; on Debian: apt-get install jupyter-server python3-ipykernel")
}

// UseServer returns the server of a folder, which another hub may have started. If there is none it starts one, and
// waits until it answers.
func UseServer(ctx context.Context, cfg ServerConfig) (*Server, error) {
	if cfg.Path == "" {
		var err error
		if cfg.Path, err = FindServer(); err != nil {
			return nil, err
		}
	}
	for _, dir := range []string{cfg.Dir, cfg.Root} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("folder of the Jupyter server: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	lock, err := openLocked(ctx, cfg.Dir, recordLock, true)
	if err != nil {
		return nil, err
	}
	defer closeFile(lock)
	if s, err := adopt(ctx, cfg); s != nil || err != nil {
		return s, err
	}
	var failed error
	for range 3 { // another program may take the port first
		s, err := startServer(ctx, cfg)
		if err == nil || ctx.Err() != nil {
			return s, err
		}
		failed = err
	}
	return nil, failed
}

// FindRunning returns the server of a folder if it runs, or nil.
func FindRunning(ctx context.Context, cfg ServerConfig) (*Server, error) {
	if r, ok := readRecord(cfg.Dir); !ok || !r.alive() {
		return nil, nil //nolint:nilnil // there is none, which is no error
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	lock, err := openLocked(ctx, cfg.Dir, recordLock, true)
	if err != nil {
		return nil, err
	}
	defer closeFile(lock)
	return adopt(ctx, cfg)
}

// adopt returns the recorded server if it is ours and answers, or nil. A server of ours that cannot be used ends,
// unless another hub uses it. The caller has the lock of the record.
func adopt(ctx context.Context, cfg ServerConfig) (*Server, error) {
	r, ok := readRecord(cfg.Dir)
	if !ok || !r.alive() { // whatever has the port or the id of the process now is not ours
		return nil, nil //nolint:nilnil // there is none, which is no error
	}
	err := errors.New("it starts kernels in another folder")
	if r.Root == cfg.Root {
		waiting, cancel := context.WithTimeout(ctx, startTimeout/2) // a hub that was killed may just have started it
		err = r.await(waiting)
		cancel()
	}
	if err == nil {
		return r.use(ctx, cfg.Dir)
	}
	if ctx.Err() != nil || !unused(ctx, cfg.Dir) {
		return nil, fmt.Errorf("%w: another hub uses it: %w", ErrUnavailable, err)
	}
	r.end()
	return nil, nil //nolint:nilnil // as above
}

// use returns the server of a record, which must be alive.
func (r record) use(ctx context.Context, dir string) (*Server, error) {
	users, err := openLocked(ctx, dir, usersLock, false)
	if err != nil {
		return nil, err
	}
	return &Server{URL: r.url(), Token: r.Token, dir: dir, record: r, users: users}, nil
}

// startServer starts a server. The caller has the lock of the record.
func startServer(ctx context.Context, cfg ServerConfig) (*Server, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	config := filepath.Join(cfg.Dir, "config")
	if err := os.MkdirAll(config, 0o700); err != nil {
		return nil, fmt.Errorf("folder of the Jupyter server: %w", err)
	}
	users, err := json.Marshal(filepath.Join(cfg.Dir, usersLock)) // Python reads it, too
	if err != nil {
		return nil, fmt.Errorf("settings of the Jupyter server: %w", err)
	}
	r := record{Port: port, Token: rand.Text(), Root: cfg.Root}
	// All users of the machine see arguments, and kernels inherit the environment.
	settings := fmt.Sprintf("c.ServerApp.token = %q\n%s\n_everdesk_watch(%s, %f)\n", r.Token, watch, users, cmp.Or(cfg.AloneFor, time.Hour).Seconds())
	if err := os.WriteFile(filepath.Join(config, "jupyter_server_config.py"), []byte(settings), 0o600); err != nil {
		return nil, fmt.Errorf("settings of the Jupyter server: %w", err)
	}
	s, err := r.use(ctx, cfg.Dir) // before it starts, so that it is never alone
	if err != nil {
		return nil, err
	}
	if err := s.start(ctx, cfg); err != nil {
		s.record.end()
		s.Release()
		return nil, err
	}
	return s, nil
}

// start starts the process, records it and waits until it answers.
func (s *Server) start(ctx context.Context, cfg ServerConfig) error {
	printed, err := os.OpenFile(filepath.Join(s.dir, logFile), os.O_CREATE|os.O_TRUNC|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("log of the Jupyter server: %w", err)
	}
	defer closeFile(printed)
	cmd := exec.CommandContext(context.WithoutCancel(ctx), cfg.Path, //nolint:gosec // the operator's program
		"--allow-root", "--no-browser", "--ip=127.0.0.1", "--port="+strconv.Itoa(s.record.Port), "--ServerApp.port_retries=0", "--ServerApp.root_dir="+cfg.Root,
		// The defaults drop output: more than 1 MB/s is replaced by a notice.
		"--ServerApp.iopub_data_rate_limit=0", "--ServerApp.iopub_msg_rate_limit=0",
		"--ServerApp.terminals_enabled=False", "--ServerApp.allow_remote_access=False", "--log-level=WARN",
	)
	cmd.Dir, cmd.Stdout, cmd.Stderr = cfg.Root, printed, printed
	cmd.Env = append([]string{
		"JUPYTER_RUNTIME_DIR=" + filepath.Join(s.dir, "runtime"), "JUPYTER_CONFIG_DIR=" + filepath.Join(s.dir, "config"),
		"JUPYTER_DATA_DIR=" + filepath.Join(s.dir, "data"), "IPYTHONDIR=" + filepath.Join(s.dir, "ipython"),
		"MPLCONFIGDIR=" + filepath.Join(s.dir, "matplotlib"), "PYTHONUNBUFFERED=1",
	}, cfg.Env...)
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the Jupyter server: %w", err)
	}
	s.record.PID = cmd.Process.Pid
	s.record.Start, _ = processStart(s.record.PID) // if it has ended already, the next look says so
	if err := s.record.write(s.dir); err != nil {
		return err
	}
	if err := s.record.await(ctx); err != nil {
		return fmt.Errorf("%w: %s", err, s.printed())
	}
	return nil
}

// freePort returns a port of loopback that is free now.
func freePort(ctx context.Context) (int, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("port of the Jupyter server: %w", err)
	}
	if err := l.Close(); err != nil {
		return 0, fmt.Errorf("port of the Jupyter server: %w", err)
	}
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return 0, errors.New("port of the Jupyter server: no TCP address")
	}
	return addr.Port, nil
}

// await waits until the server accepts the token.
func (r record) await(ctx context.Context) error {
	c, err := New(Config{URL: r.url(), Token: r.Token})
	if err != nil {
		return err
	}
	defer c.Close()
	retry := time.NewTicker(100 * time.Millisecond)
	defer retry.Stop()
	for {
		if !r.alive() {
			return errors.New("the Jupyter server ended")
		}
		specs, err := c.Specs(ctx)
		switch {
		case err == nil && len(specs.Kernels) == 0:
			return errors.New("the Jupyter server has no kernels; on Debian: apt-get install python3-ipykernel")
		case err == nil:
			return nil
		case errors.Is(err, ErrRefused): // another server has the port
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w in time: %w", ErrUnavailable, err)
		case <-retry.C:
		}
	}
}

// printed returns the end of what the server has printed, in one line and without its token.
func (s *Server) printed() string {
	f, err := os.Open(filepath.Join(s.dir, logFile))
	if err != nil {
		return ""
	}
	defer closeFile(f)
	const most = 2 << 10
	if info, err := f.Stat(); err == nil && info.Size() > most {
		_, _ = f.Seek(-most, io.SeekEnd) // else the beginning is as good
	}
	text, _ := io.ReadAll(io.LimitReader(f, most)) // some of it is better than none
	return strings.Join(strings.Fields(strings.ToValidUTF8(strings.ReplaceAll(string(text), s.Token, "***"), "")), " ")
}

// TidyLog bounds the log of the server of a folder. Call it now and then.
func TidyLog(dir string) error {
	name := filepath.Join(dir, logFile)
	if info, err := os.Stat(name); err != nil || info.Size() <= maxLog {
		return nil //nolint:nilerr // without a log there is nothing to do
	}
	if err := os.Truncate(name, 0); err != nil { // the server appends
		return fmt.Errorf("log of the Jupyter server: %w", err)
	}
	return nil
}

// Alive reports whether the server runs.
func (s *Server) Alive() bool { return s.record.alive() }

// Release ends the use of the server by this hub, and leaves it to others.
func (s *Server) Release() {
	s.once.Do(func() { closeFile(s.users) })
}

// Stop ends the use of the server by this hub. If no other hub uses it, the server and its kernels end.
func (s *Server) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	lock, err := openLocked(ctx, s.dir, recordLock, true)
	s.Release()
	if err != nil {
		return // another hub is about to use the server, or the folder is gone and the server ends by itself
	}
	defer closeFile(lock)
	if r, ok := readRecord(s.dir); ok && r == s.record && unused(ctx, s.dir) {
		r.end()
		_ = os.Remove(filepath.Join(s.dir, recordFile)) // a record of a process that has ended does no harm
	}
}
