//go:build s3server

package s3test

import (
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	accessKey = "everdesk-test"
	secretKey = "everdesk-test-secret"
	bucket    = "desk"
	// waitLimit is for hangs: many times what the server needs to start.
	waitLimit = time.Minute
)

// Credentials returns the environment variables with which clients of the server authenticate.
func Credentials() map[string]string {
	return map[string]string{"AWS_ACCESS_KEY_ID": accessKey, "AWS_SECRET_ACCESS_KEY": secretKey}
}

// Server is a real S3 server, a process of its own that a test can kill.
type Server struct {
	addr, dir string
	process   *exec.Cmd
}

// New starts a server with an empty bucket.
func New(t *testing.T) *Server {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{addr: ln.Addr().String(), dir: t.TempDir()}
	if err := errors.Join(ln.Close(), os.MkdirAll(filepath.Join(s.dir, "root", bucket), 0o700), os.MkdirAll(filepath.Join(s.dir, "meta"), 0o700)); err != nil {
		t.Fatal(err)
	}
	s.Start(t)
	t.Cleanup(s.Kill)
	return s
}

// Start starts the server again, at the address that it had.
func (s *Server) Start(t *testing.T) {
	t.Helper()
	program := os.Getenv("VERSITYGW")
	if program == "" {
		t.Fatal("VERSITYGW is not set; run make test-s3")
	}
	s.process = exec.Command(program, //nolint:gosec,noctx // the program that make test-s3 has built; Kill ends it
		"--access", accessKey, "--secret", secretKey, "--port", s.addr, "--quiet",
		"posix", "--sidecar", filepath.Join(s.dir, "meta"), filepath.Join(s.dir, "root"))
	s.process.Stderr = os.Stderr
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Timeout: 5 * time.Second}
	for until := time.Now().Add(waitLimit); ; {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.addr+"/", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := client.Do(req)
		if err == nil {
			_ = res.Body.Close()
			return
		}
		if time.Now().After(until) {
			t.Fatalf("the server does not answer: %v", err)
		}
	}
}

// Kill ends the server as a power cut does.
func (s *Server) Kill() {
	_ = s.process.Process.Kill()
	_ = s.process.Wait() // the error says that it was killed
}

// Addr returns the host and port of the server.
func (s *Server) Addr() string { return s.addr }

// Address returns the address of a folder in the bucket, for the setting files.
func (s *Server) Address(prefix string) string {
	return "s3://" + bucket + "/" + prefix + "?endpoint=http://" + s.addr + "&region=us-east-1"
}

// Files returns the paths of the stored objects whose path contains a text.
func (s *Server) Files(t *testing.T, text string) (paths []string) {
	t.Helper()
	root := filepath.Join(s.dir, "root", bucket)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(path[len(root):], text) {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}
