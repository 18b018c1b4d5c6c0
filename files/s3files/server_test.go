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
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/files/filestest"
	"github.com/everdesk/everdesk/files/s3files"
	"github.com/everdesk/everdesk/files/s3files/s3test"
)

// waitLimit is for hangs: many times what the server needs to start.
const waitLimit = time.Minute

func TestMain(m *testing.M) {
	for name, value := range s3test.Credentials() {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

func open(t *testing.T, s *s3test.Server, prefix string) *s3files.Backend {
	t.Helper()
	cfg, err := s3files.Parse(s.Address(prefix))
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
	s := s3test.New(t)
	var n atomic.Int64 // the tests of the contract run in parallel
	filestest.Run(t, func(t *testing.T) files.Backend {
		t.Helper()
		return open(t, s, fmt.Sprintf("test-%d", n.Add(1)))
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
	s := s3test.New(t)
	one, two := files.New(open(t, s, "r"), files.Config{}), files.New(open(t, s, "r"), files.Config{})
	content := bytes.Repeat([]byte("0123456789abcdef"), 3<<20/16)
	const piece = 1 << 20
	u, err := one.StartUpload(t.Context(), "ses-1", files.NewUpload{Path: "big.bin", Size: int64(len(content))}, files.Condition{Absent: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := one.Append(t.Context(), "ses-1", u.ID, 0, bytes.NewReader(content[:piece]), piece); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	cut := &killingReader{from: bytes.NewReader(content[piece : 2*piece]), after: piece / 2, kill: s.Kill}
	if got, err := one.Append(ctx, "ses-1", u.ID, piece, cut, piece); err == nil {
		t.Fatalf("the piece during which the server died: got %+v, want an error", got)
	}
	s.Start(t)
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
	s := s3test.New(t)
	one, two := files.New(open(t, s, "r"), files.Config{}), files.New(open(t, s, "r"), files.Config{})
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
