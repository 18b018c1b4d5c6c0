package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// WorkerArg is the first argument with which a program is started as a worker. Its main function then
// calls [Work] with the other arguments and nothing else.
const WorkerArg = "pdf-worker"

// Bounds of a call.
const (
	// MaxBytes bounds a file.
	MaxBytes = 64 << 20
	// MaxTextPages and MaxPictures bound the pages of one call.
	MaxTextPages = 20
	MaxPictures  = 3
	// maxText bounds the text of one call, and maxPicture a picture, in bytes.
	maxText    = 4 << 20
	maxPicture = 5 << 20
	// side is the longer side of a picture in pixels: text of 8 points stays legible.
	side = 1400
	// timeout bounds a process, and maxCPU its processor time.
	timeout = 60 * time.Second
	maxCPU  = 20 * time.Second
	// maxCalls is how many processes run at once.
	maxCalls = 2
)

// Errors of files and calls.
var (
	// ErrMissing means that the programs are not installed.
	ErrMissing = errors.New("PDF files cannot be read: the hub needs the programs pdfinfo, pdftotext and pdftoppm (package poppler-utils)")
	// ErrEncrypted means that the file needs a password.
	ErrEncrypted = errors.New("the PDF file is encrypted and needs a password")
	// ErrDamaged means that the file is truncated or no PDF.
	ErrDamaged = errors.New("the PDF file is damaged or incomplete")
	// ErrTooComplex means that reading the file takes too much time or memory.
	ErrTooComplex = errors.New("the PDF file takes too much time or memory to read")
	// ErrTooLarge means that the file or one of its pages is too large.
	ErrTooLarge = errors.New("the PDF file or a page of it is too large")
)

// Config describes how programs are started.
type Config struct {
	// Path is the program that is the worker.
	Path string
	// Env is the environment of the worker, usually empty.
	Env []string
}

// Reader reads PDF files.
type Reader struct {
	cfg   Config
	calls chan struct{} // has an element for each process
}

// New returns a reader.
func New(cfg Config) *Reader { return &Reader{cfg, make(chan struct{}, maxCalls)} }

// Pages returns the number of pages of a file.
func (r *Reader) Pages(ctx context.Context, f *os.File) (int, error) {
	out, err := r.run(ctx, f, 64<<10, "pdfinfo", "-")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(out)) {
		value, ok := strings.CutPrefix(line, "Pages:")
		if !ok {
			continue
		}
		if n, err := strconv.Atoi(strings.TrimSpace(value)); err == nil && n > 0 {
			return n, nil
		}
	}
	return 0, ErrDamaged
}

// Text returns the text of pages, the first of which is 1. It reads at most [MaxTextPages].
func (r *Reader) Text(ctx context.Context, f *os.File, first, last int) ([]string, error) {
	last = min(last, first+MaxTextPages-1)
	out, err := r.run(ctx, f, maxText, "pdftotext", "-q", "-enc", "UTF-8", "-layout", "-f", strconv.Itoa(first), "-l", strconv.Itoa(last), "-", "-")
	if err != nil {
		return nil, err
	}
	pages := strings.Split(strings.TrimSuffix(strings.ToValidUTF8(string(out), "\uFFFD"), "\f"), "\f")
	for i, p := range pages {
		pages[i] = strings.TrimRight(p, " \r\n")
	}
	return pages[:min(len(pages), last-first+1)], nil
}

// Picture returns a page as JPEG.
func (r *Reader) Picture(ctx context.Context, f *os.File, page int) ([]byte, error) {
	n := strconv.Itoa(page)
	out, err := r.run(ctx, f, maxPicture, "pdftoppm", "-q", "-jpeg", "-singlefile", "-scale-to", strconv.Itoa(side), "-f", n, "-l", n, "-")
	if err == nil && len(out) == 0 {
		err = ErrDamaged
	}
	return out, err
}

// run executes a program of poppler with the file as its input and returns at most limit bytes of
// output.
func (r *Reader) run(ctx context.Context, f *os.File, limit int, program string, args ...string) ([]byte, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, ErrMissing
	}
	if info, err := f.Stat(); err != nil {
		return nil, fmt.Errorf("read a PDF file: %w", err)
	} else if info.Size() > MaxBytes {
		return nil, fmt.Errorf("%w: %d bytes, at most %d can be read", ErrTooLarge, info.Size(), MaxBytes)
	}
	select {
	case r.calls <- struct{}{}:
		defer func() { <-r.calls }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read a PDF file: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(limited, r.cfg.Path, append([]string{WorkerArg, path}, args...)...) //nolint:gosec // the hub's own program
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.WaitDelay = append([]string{"LC_ALL=C.UTF-8"}, r.cfg.Env...), "/", f, time.Second
	out, stderr := &boundedBuffer{left: limit, over: cancel}, &boundedBuffer{left: 4 << 10}
	cmd.Stdout, cmd.Stderr = out, stderr
	endWithHub(cmd)
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case out.full:
		return nil, ErrTooLarge
	case limited.Err() != nil:
		return nil, ErrTooComplex
	case err != nil:
		return nil, failure(err, stderr.String())
	}
	return out.Bytes(), nil
}

// failure returns the error for a program that failed.
func failure(err error, stderr string) error {
	exit, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case !ok:
		return fmt.Errorf("start a program for PDF files: %w", err)
	case strings.Contains(stderr, "password"):
		return ErrEncrypted
	case strings.Contains(strings.ToLower(stderr), "memory") || strings.Contains(stderr, "bad_alloc") || wasKilled(exit):
		return ErrTooComplex
	}
	return ErrDamaged
}

// boundedBuffer keeps the beginning of what is written, and calls over when there is more.
type boundedBuffer struct {
	bytes.Buffer
	left int
	full bool
	over func()
}

// Write implements [io.Writer]. It takes everything, so that the writer does not block.
func (b *boundedBuffer) Write(p []byte) (int, error) {
	keep := p[:min(len(p), b.left)]
	b.left -= len(keep)
	if len(keep) < len(p) && !b.full {
		b.full = true
		if b.over != nil {
			b.over()
		}
	}
	_, _ = b.Buffer.Write(keep) // never fails
	return len(p), nil
}

// ReadFrom hides that of [bytes.Buffer], which has no bound.
func (b *boundedBuffer) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{b}, r)
}
