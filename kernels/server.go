package kernels

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/everdesk/everdesk/providers/jsonline"
)

// ServerConfig describes a Jupyter server to start.
type ServerConfig struct {
	// Path is the program; empty to look for jupyter-server.
	Path string
	// Dir is the folder for the files of the server itself, and Root the one in which kernels start.
	Dir, Root string
	// Env has the variables of the hub's environment that kernels get. Nothing else is inherited.
	Env []string
}

// Server is a Jupyter server on loopback that ends with the hub.
type Server struct {
	URL, Token string
	process    *jsonline.Process
	drained    chan struct{}
}

// startTimeout bounds the start of a server.
const startTimeout = 60 * time.Second

// FindServer returns the path of the Jupyter server of this machine, or why there is none.
func FindServer() (string, error) {
	for _, name := range []string{"/usr/bin/jupyter-server", "jupyter-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("jupyter-server is not installed; on Debian: apt-get install jupyter-server python3-ipykernel")
}

// StartServer starts a server and waits until it answers.
func StartServer(ctx context.Context, cfg ServerConfig) (*Server, error) {
	if cfg.Path == "" {
		var err error
		if cfg.Path, err = FindServer(); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
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

func startServer(ctx context.Context, cfg ServerConfig) (*Server, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{cfg.Dir, cfg.Root} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("folder of the Jupyter server: %w", err)
		}
	}
	s := &Server{URL: "http://127.0.0.1:" + strconv.Itoa(port), Token: rand.Text(), drained: make(chan struct{})}
	env := append([]string{
		"JUPYTER_TOKEN=" + s.Token, // arguments are visible to all users of the machine
		"JUPYTER_RUNTIME_DIR=" + filepath.Join(cfg.Dir, "runtime"), "JUPYTER_CONFIG_DIR=" + filepath.Join(cfg.Dir, "config"),
		"JUPYTER_DATA_DIR=" + filepath.Join(cfg.Dir, "data"), "IPYTHONDIR=" + filepath.Join(cfg.Dir, "ipython"),
		"MPLCONFIGDIR=" + filepath.Join(cfg.Dir, "matplotlib"), "PYTHONUNBUFFERED=1",
	}, cfg.Env...)
	s.process, err = jsonline.Start(jsonline.Config{
		Path: cfg.Path, Dir: cfg.Root, Env: env, Secrets: []string{s.Token}, InputGrace: -1, TermGrace: 5 * time.Second,
		Args: []string{
			"--allow-root", "--no-browser", "--ip=127.0.0.1", "--port=" + strconv.Itoa(port), "--ServerApp.port_retries=0", "--ServerApp.root_dir=" + cfg.Root,
			// The defaults drop output: more than 1 MB/s is replaced by a notice.
			"--ServerApp.iopub_data_rate_limit=0", "--ServerApp.iopub_msg_rate_limit=0",
			"--ServerApp.terminals_enabled=False", "--ServerApp.allow_remote_access=False",
		},
	})
	if err != nil {
		return nil, fmt.Errorf("start the Jupyter server: %w", err)
	}
	go s.drain()
	if err := s.await(ctx); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
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

// drain reads what the server prints, which is nothing of interest.
func (s *Server) drain() {
	defer close(s.drained)
	for {
		if _, err := s.process.Next(); err != nil && !errors.Is(err, jsonline.ErrLineTooLong) {
			return
		}
	}
}

// await waits until the server accepts the token.
func (s *Server) await(ctx context.Context) error {
	c, err := New(Config{URL: s.URL, Token: s.Token})
	if err != nil {
		return err
	}
	defer c.Close()
	retry := time.NewTicker(100 * time.Millisecond)
	defer retry.Stop()
	for {
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
		case <-s.process.Done():
			return fmt.Errorf("the Jupyter server ended: %w", s.process.Err())
		case <-ctx.Done():
			return fmt.Errorf("%w in time: %w", ErrUnavailable, err)
		case <-retry.C:
		}
	}
}

// Done is closed when the server has ended, and Err says why.
func (s *Server) Done() <-chan struct{} { return s.process.Done() }

// Err returns why the server ended.
func (s *Server) Err() error {
	if err := s.process.Err(); err != nil {
		return fmt.Errorf("the Jupyter server ended: %w", err)
	}
	return nil
}

// Stop ends the server and its kernels.
func (s *Server) Stop() {
	s.process.Stop()
	<-s.drained
}
