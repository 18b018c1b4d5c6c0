package pdf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/everdesk/everdesk/internal/worker"
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
	limited, cancel := context.WithTimeoutCause(ctx, timeout, worker.ErrTimeout)
	defer cancel()
	out, err := worker.Command{
		Path: r.cfg.Path, Arg: WorkerArg, More: append([]string{path}, args...), Env: append([]string{"LC_ALL=C.UTF-8"}, r.cfg.Env...), MaxOutput: limit,
	}.RunReader(limited, f)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return out, failure(err)
}

// failure returns the error for a program that failed.
func failure(err error) error {
	ended, _ := errors.AsType[*worker.EndedError](err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, worker.ErrOutput):
		return ErrTooLarge
	case ended == nil && errors.Is(err, worker.ErrEnded):
		return fmt.Errorf("start a program for PDF files: %w", err)
	case ended == nil: // a limit
		return ErrTooComplex
	case strings.Contains(ended.Stderr, "password"):
		return ErrEncrypted
	case strings.Contains(ended.Stderr, "bad_alloc") || ended.Code < 0:
		return ErrTooComplex
	}
	return ErrDamaged
}

// Bounds of a worker.
const (
	// maxData bounds the memory that a worker maps.
	maxData = 512 << 20
	// maxFile bounds the files that a worker writes, which are caches of fonts.
	maxFile = 16 << 20
)

// Work limits this process and then replaces it by the program in args, with its arguments. It
// returns the exit code of a worker that cannot do so.
func Work(args []string) int {
	if len(args) == 0 {
		return worker.ExitFailure
	}
	err := worker.Limits{Memory: maxData, CPU: maxCPU, FileBytes: maxFile}.Apply()
	if err == nil {
		err = worker.Become(args)
	}
	fmt.Fprintln(os.Stderr, err)
	return worker.ExitFailure
}
