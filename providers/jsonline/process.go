package jsonline

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Errors of a process.
var (
	// ErrLineTooLong means that a line of output exceeded [Config.MaxLine] and was skipped.
	ErrLineTooLong = errors.New("the line is too long")
	// ErrStopped means that the process was stopped, or is being stopped.
	ErrStopped = errors.New("the process is stopped")
)

// Defaults of [Config].
const (
	defaultMaxLine    = 64 << 20
	defaultStderrTail = 8 << 10
	defaultInputGrace = 2 * time.Second
	defaultTermGrace  = 3 * time.Second
)

// drainTimeout bounds the wait for the rest of the output after the process has exited, because a
// descendant may hold the descriptor open.
const drainTimeout = 2 * time.Second

// Config describes the program to run.
type Config struct {
	// Path is the program: an absolute path, or a name to look up in the hub's PATH.
	Path string
	Args []string
	// Dir is the working directory. It must be absolute.
	Dir string
	// Env is the whole environment; nothing is inherited.
	Env []string
	// Mark, unless empty, is a variable of [NewMark] that is added to Env. On Linux all processes that
	// inherited it are killed when the process has exited, also those with groups of their own.
	Mark string
	// Secrets are values of Env that must not occur in arguments and are removed from error
	// messages.
	Secrets []string
	// MaxLine bounds a line of output in bytes, default 64 MiB.
	MaxLine int
	// StderrTail bounds the kept end of standard error in bytes, default 8 KiB.
	StderrTail int
	// Stderr, unless nil, gets all of standard error as it is, with the secrets. It must not block.
	Stderr io.Writer
	// InputGrace is how long the process has to exit after its input was closed, default 2 s;
	// TermGrace is the time after SIGTERM, default 3 s. A negative InputGrace skips that rung.
	InputGrace time.Duration
	TermGrace  time.Duration
}

// Process is a running program.
type Process struct {
	cfg  Config
	cmd  *exec.Cmd
	in   *os.File
	out  *os.File
	read *bufio.Reader
	tail *tail

	writes chan write
	stop   chan struct{} // closed by the first Stop
	exited chan struct{} // closed when the process was waited for
	eof    chan struct{} // closed when Next has returned the last line
	done   chan struct{} // closed when nothing is left
	err    error         // set before done is closed
	once   sync.Once
	atEOF  sync.Once
	// reaping is held while the process is signalled or waited for.
	reaping sync.Mutex
}

// write is a line on its way to the process.
type write struct {
	line []byte
	done chan error // has room for one
}

// Start starts a program.
func Start(cfg Config) (*Process, error) {
	cfg.MaxLine = cmp.Or(cfg.MaxLine, defaultMaxLine)
	cfg.StderrTail = cmp.Or(cfg.StderrTail, defaultStderrTail)
	cfg.InputGrace = cmp.Or(cfg.InputGrace, defaultInputGrace)
	cfg.TermGrace = cmp.Or(cfg.TermGrace, defaultTermGrace)
	if err := checkArguments(cfg); err != nil {
		return nil, err
	}
	p := &Process{
		cfg: cfg, tail: &tail{size: cfg.StderrTail, secrets: cfg.Secrets, also: cfg.Stderr},
		writes: make(chan write), stop: make(chan struct{}), exited: make(chan struct{}), eof: make(chan struct{}), done: make(chan struct{}),
	}
	p.cmd = exec.Command(cfg.Path, cfg.Args...) //nolint:gosec,noctx // the operator configures the program; Stop ends it
	p.cmd.Dir, p.cmd.Env = cfg.Dir, append([]string{}, cfg.Env...)
	if cfg.Mark != "" {
		p.cmd.Env = append(p.cmd.Env, cfg.Mark)
	}
	setGroup(p.cmd)
	stderr, err := p.startWithPipes()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", cfg.Path, err)
	}
	p.read = bufio.NewReaderSize(p.out, 64<<10)
	go p.supervise(stderr)
	return p, nil
}

// markVariable is the variable by which descendants of a process are found.
const markVariable = "EVERDESK_PROCESS"

// NewMark returns a variable with a value that no other process has.
func NewMark() string { return markVariable + "=" + rand.Text() }

// checkArguments reports a secret in the arguments.
func checkArguments(cfg Config) error {
	for _, secret := range cfg.Secrets {
		for _, arg := range append([]string{cfg.Path, cfg.Dir}, cfg.Args...) {
			if secret != "" && strings.Contains(arg, secret) {
				return fmt.Errorf("start %s: an argument contains a secret", cfg.Path)
			}
		}
	}
	return nil
}

// startWithPipes starts the command and returns the read end of its standard error.
func (p *Process) startWithPipes() (stderr *os.File, err error) {
	var all []*os.File
	pipe := func() (r, w *os.File) {
		if err != nil {
			return nil, nil
		}
		if r, w, err = os.Pipe(); err == nil {
			all = append(all, r, w)
		}
		return r, w
	}
	childIn, in := pipe()
	out, childOut := pipe()
	stderr, childErr := pipe()
	if err == nil {
		p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = childIn, childOut, childErr
		err = p.cmd.Start()
	}
	if err != nil {
		closeAll(all...)
		return nil, err
	}
	closeAll(childIn, childOut, childErr)
	p.in, p.out = in, out
	return stderr, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close() // pipes; nothing is buffered
	}
}

// Done returns a channel that is closed when the process has ended and nothing of it is left.
func (p *Process) Done() <-chan struct{} { return p.done }

// PID returns the id of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Err returns why the process ended, nil before that: an [*ExitError], or [ErrStopped] if it ended
// because of Stop.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// Next returns the next line of output that is not blank, without its end. The error is io.EOF at
// the end of output, and [ErrLineTooLong] for a line that was skipped.
func (p *Process) Next() ([]byte, error) {
	for {
		line, err := p.nextLine()
		if len(line) > 0 || errors.Is(err, ErrLineTooLong) {
			return line, err
		}
		if err != nil {
			p.atEOF.Do(func() { close(p.eof) })
			return nil, io.EOF // also when the descriptor was closed
		}
	}
}

// nextLine returns a line without surrounding white space. With an error other than
// ErrLineTooLong it is the last one.
func (p *Process) nextLine() ([]byte, error) {
	var line []byte
	size := 0
	for {
		piece, err := p.read.ReadSlice('\n')
		size += len(piece)
		if size <= p.cfg.MaxLine {
			line = append(line, piece...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if size > p.cfg.MaxLine && err == nil {
			return nil, fmt.Errorf("read from %s: %w: %d bytes, more than %d", p.cfg.Path, ErrLineTooLong, size, p.cfg.MaxLine)
		}
		return trimSpace(line), err
	}
}

// trimSpace removes white space of JSON on both sides.
func trimSpace(line []byte) []byte {
	space := func(b byte) bool { return b == ' ' || b == '\t' || b == '\r' || b == '\n' }
	for len(line) > 0 && space(line[len(line)-1]) {
		line = line[:len(line)-1]
	}
	for len(line) > 0 && space(line[0]) {
		line = line[1:]
	}
	return line
}

// Write sends a line, to which it adds the end. Lines of concurrent calls do not mix. If the
// context ends while the line is being written, Write returns, and the line may still arrive.
func (p *Process) Write(ctx context.Context, line []byte) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	whole := make([]byte, 0, len(line)+1)
	w := write{append(append(whole, line...), '\n'), make(chan error, 1)}
	select {
	case p.writes <- w:
	case <-p.stop:
		return ErrStopped
	case <-p.exited:
		return p.exitedError()
	case <-ctx.Done():
		return fmt.Errorf("write to %s: %w", p.cfg.Path, context.Cause(ctx))
	}
	select {
	case err := <-w.done:
		return err
	case <-p.exited:
		return p.exitedError()
	case <-ctx.Done():
		return fmt.Errorf("write to %s: %w", p.cfg.Path, context.Cause(ctx))
	}
}

// exitedError waits for the end of a process that has exited and returns its error.
func (p *Process) exitedError() error {
	<-p.done
	return p.err
}
