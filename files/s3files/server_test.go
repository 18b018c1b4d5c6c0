//go:build s3server

// These tests need an S3 server: make test-s3 builds versitygw from the Go proxy and runs them.

package s3files_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/files/filestest"
	"github.com/everdesk/everdesk/files/s3files"
)

const (
	accessKey = "everdesk-test"
	secretKey = "everdesk-test-secret"
	bucket    = "desk"
	// waitLimit is for hangs: many times what the server needs to start.
	waitLimit = time.Minute
)

func TestMain(m *testing.M) {
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": accessKey, "AWS_SECRET_ACCESS_KEY": secretKey} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// server is a real S3 server, a process of its own that a test can kill.
type server struct {
	addr, dir string
	process   *exec.Cmd
}

// newServer starts a server with an empty bucket.
func newServer(t *testing.T) *server {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{addr: ln.Addr().String(), dir: t.TempDir()}
	if err := errors.Join(ln.Close(), os.MkdirAll(filepath.Join(s.dir, "root", bucket), 0o700), os.MkdirAll(filepath.Join(s.dir, "meta"), 0o700)); err != nil {
		t.Fatal(err)
	}
	s.start(t)
	t.Cleanup(s.kill)
	return s
}

func (s *server) start(t *testing.T) {
	t.Helper()
	program := os.Getenv("VERSITYGW")
	if program == "" {
		t.Fatal("VERSITYGW is not set; run make test-s3")
	}
	s.process = exec.Command(program, "--access", accessKey, "--secret", secretKey, "--port", s.addr, "--quiet",
		"posix", "--sidecar", filepath.Join(s.dir, "meta"), filepath.Join(s.dir, "root"))
	s.process.Stderr = os.Stderr
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Timeout: 5 * time.Second}
	for until := time.Now().Add(waitLimit); ; {
		res, err := client.Get("http://" + s.addr + "/")
		if err == nil {
			_ = res.Body.Close()
			return
		}
		if time.Now().After(until) {
			t.Fatalf("the server does not answer: %v", err)
		}
	}
}

// kill ends the server as a power cut does.
func (s *server) kill() {
	_ = s.process.Process.Kill()
	_ = s.process.Wait() // the error says that it was killed
}

func (s *server) open(t *testing.T, prefix string) *s3files.Backend {
	t.Helper()
	cfg, err := s3files.Parse("s3://" + bucket + "/" + prefix + "?endpoint=http://" + s.addr + "&region=us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	b, err := s3files.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestS3IsABackend(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	n := 0
	filestest.Run(t, func(t *testing.T) files.Backend {
		t.Helper()
		n++
		return s.open(t, fmt.Sprintf("test-%d", n))
	})
}

// killingReader kills the server after some bytes were read.
type killingReader struct {
	from  io.Reader
	after int
	kill  func()
}

func (r *killingReader) Read(p []byte) (int, error) {
	if r.after <= 0 && r.kill != nil {
		r.kill()
		r.kill = nil
	}
	n, err := r.from.Read(p[:min(len(p), 64<<10)])
	r.after -= n
	return n, err
}

// An upload continues after the server died in the middle of a piece: on another replica, with the pieces that were
// acknowledged. Readers never see a part of the file.
func TestServerDiesInAnUpload(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	one, two := files.New(s.open(t, "r"), files.Config{}), files.New(s.open(t, "r"), files.Config{})
	content := bytes.Repeat([]byte("0123456789abcdef"), 3<<20/16)
	const piece = 1 << 20
	u, err := one.StartUpload(t.Context(), "ses-1", "big.bin", int64(len(content)), files.Condition{Absent: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := one.Append(t.Context(), "ses-1", u.ID, 0, bytes.NewReader(content[:piece]), piece); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	cut := &killingReader{from: bytes.NewReader(content[piece : 2*piece]), after: piece / 2, kill: s.kill}
	if got, err := one.Append(ctx, "ses-1", u.ID, piece, cut, piece); err == nil {
		t.Fatalf("the piece during which the server died: got %+v, want an error", got)
	}
	s.start(t)
	state, err := two.Upload(t.Context(), "ses-1", u.ID)
	if err != nil || state.Offset != piece {
		t.Fatalf("the upload after the death: got %+v, %v, want %d bytes", state, err, piece)
	}
	if _, _, err := two.Open(t.Context(), "ses-1", "big.bin"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the unfinished file: got error %v, want %v", err, fs.ErrNotExist)
	}
	for at := int64(piece); at < int64(len(content)); at += piece {
		if state, err = two.Append(t.Context(), "ses-1", u.ID, at, bytes.NewReader(content[at:at+piece]), piece); err != nil {
			t.Fatalf("piece at %d: %v", at, err)
		}
	}
	if state.Done == nil {
		t.Fatalf("the last piece: got %+v, want the file", state)
	}
	f, _, err := one.Open(t.Context(), "ses-1", "big.bin")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, content) {
		t.Errorf("the file: got %d bytes, error %v, want the %d that were sent", len(got), err, len(content))
	}
}

// Two replicas see the same files, and a change of one is not lost by the other.
func TestReplicasShareFiles(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	one, two := files.New(s.open(t, "r"), files.Config{}), files.New(s.open(t, "r"), files.Config{})
	first, err := one.Save(t.Context(), "ses-1", "dir/a.md", strings.NewReader("one"), 3)
	if err != nil {
		t.Fatal(err)
	}
	f, seen, err := two.Open(t.Context(), "ses-1", "dir/a.md")
	if err != nil || seen.ETag != first.ETag {
		t.Fatalf("the file on the other replica: got %+v, %v, want ETag %s", seen, err, first.ETag)
	}
	f.Close()
	if _, err := two.SaveIf(t.Context(), "ses-1", "dir/a.md", strings.NewReader("two"), 3, files.Condition{ETag: seen.ETag}); err != nil {
		t.Fatal(err)
	}
	if _, err := one.SaveIf(t.Context(), "ses-1", "dir/a.md", strings.NewReader("six"), 3, files.Condition{ETag: first.ETag}); !errors.Is(err, files.ErrChanged) {
		t.Errorf("replacing the changed file: got error %v, want %v", err, files.ErrChanged)
	}
	gone, err := one.Trash(t.Context(), "ses-1", "dir")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := two.Restore(t.Context(), "ses-1", gone.ID); err != nil {
		t.Errorf("undoing the deletion on the other replica: %v", err)
	}
	all, err := one.List(t.Context(), "ses-1", "")
	if err != nil || len(all) != 1 || all[0].Path != "dir" || !all[0].Folder {
		t.Errorf("list: got %+v, %v, want the folder dir", all, err)
	}
	if err := two.RemoveAll(t.Context(), "ses-1"); err != nil {
		t.Fatal(err)
	}
	if all, err := one.ListAll(t.Context(), "ses-1", ""); err != nil || len(all) != 0 {
		t.Errorf("files after the session was deleted: got %+v, %v, want none", all, err)
	}
}
