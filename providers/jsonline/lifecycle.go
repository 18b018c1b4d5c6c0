package jsonline

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// ExitError says how a process ended that was not stopped.
type ExitError struct {
	// Path is the program.
	Path string
	// Status is the exit status or the signal, as in "exit status 1".
	Status string
	// Stderr is the end of its standard error.
	Stderr string
}

func (e *ExitError) Error() string {
	text := fmt.Sprintf("%s ended: %s", e.Path, e.Status)
	if e.Stderr != "" {
		text += ": " + e.Stderr
	}
	return text
}

// Stop ends the process, gently at first, and returns when nothing of it is left. It may be called
// repeatedly and for a process that has ended.
func (p *Process) Stop() {
	p.once.Do(func() { close(p.stop) })
	<-p.done
}

// stopStep is a step of the end of a process, and how long the process has until the next step.
type stopStep struct {
	do   func(*Process)
	wait func(Config) time.Duration // negative skips the step
}

// stopSteps returns the steps that come before SIGKILL, the gentlest first.
func stopSteps() []stopStep {
	return []stopStep{
		{func(*Process) {}, func(c Config) time.Duration { return c.InputGrace }}, // closeInput has closed the input
		{(*Process).terminate, func(c Config) time.Duration { return c.TermGrace }},
	}
}

// supervise waits for the end of the process and ends everything that belongs to it.
func (p *Process) supervise(stderr *os.File) {
	var wg, readers sync.WaitGroup
	readers.Go(func() { p.tail.readAll(stderr) })
	wg.Go(p.writeLines)
	wg.Go(p.closeInput)
	var status error
	wg.Go(func() { status = p.wait() })
	p.stopInSteps()
	wg.Wait()
	p.drain(stderr, &readers)
	p.err = ErrStopped
	select {
	case <-p.stop:
	default:
		p.err = &ExitError{Path: p.cfg.Path, Status: exitStatus(status), Stderr: p.tail.String()}
	}
	close(p.done)
}

// wait waits for the process, which stopInSteps kills at the latest, and kills the rest of its group and what
// has its mark.
func (p *Process) wait() error {
	defer close(p.exited)
	defer func() {
		if p.cfg.Mark != "" {
			killMarked(p.cfg.Mark)
		}
	}()
	if awaitExit(p.cmd.Process.Pid) { // its id is not free yet
		p.reaping.Lock()
		defer p.reaping.Unlock()
		killGroup(p.cmd.Process)
	}
	return p.cmd.Wait()
}

// signal calls send unless the process has exited, because its id may belong to another one then.
func (p *Process) signal(send func(*os.Process)) {
	p.reaping.Lock()
	defer p.reaping.Unlock()
	select {
	case <-p.exited:
	default:
		send(p.cmd.Process)
	}
}

// stopInSteps waits until the process exits by itself or Stop is called. After Stop it ends the process step by step,
// at last with SIGKILL.
func (p *Process) stopInSteps() {
	select {
	case <-p.exited:
		return
	case <-p.stop:
	}
	for _, r := range stopSteps() {
		wait := r.wait(p.cfg)
		if wait < 0 {
			continue
		}
		r.do(p)
		timer := time.NewTimer(wait)
		select {
		case <-p.exited:
			timer.Stop()
			return
		case <-timer.C:
		}
	}
	p.signal(killTree)
	<-p.exited
}

func (p *Process) terminate() { p.signal(terminateGroup) }

// writeLines writes lines to the process until it exits or is to be stopped.
func (p *Process) writeLines() {
	for {
		select {
		case w := <-p.writes:
			_, err := p.in.Write(w.line)
			if err != nil {
				err = fmt.Errorf("write to %s: %w", p.cfg.Path, err)
			}
			w.done <- err
		case <-p.stop:
			return
		case <-p.exited:
			return
		}
	}
}

// closeInput closes the input when the process exits or is to be stopped. That also ends a write
// that blocks.
func (p *Process) closeInput() {
	select {
	case <-p.stop:
	case <-p.exited:
	}
	closeAll(p.in)
}

// drain waits for the rest of the output, unless the process was stopped, and closes the
// descriptors.
func (p *Process) drain(stderr *os.File, readers *sync.WaitGroup) {
	errRead := make(chan struct{})
	go func() { // ends when stderr is closed, below at the latest
		readers.Wait()
		close(errRead)
	}()
	timer := time.NewTimer(drainTimeout)
	defer timer.Stop()
	for _, read := range []<-chan struct{}{p.eof, errRead} {
		select {
		case <-read:
		case <-p.stop:
		case <-timer.C:
			timer.Reset(0)
		}
	}
	closeAll(p.out, stderr)
	<-errRead
}

// exitStatus describes how a process ended.
func exitStatus(err error) string {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "exit status 0"
	case errors.As(err, &exit):
		return exit.String()
	default:
		return err.Error()
	}
}

// tail keeps the end of a stream.
type tail struct {
	size    int
	secrets []string
	also    io.Writer // or nil

	mu   sync.Mutex
	kept []byte
	cut  bool
}

// readAll reads until the end of r.
func (t *tail) readAll(r io.Reader) {
	buf := make([]byte, 4<<10)
	for {
		n, err := r.Read(buf)
		t.mu.Lock()
		t.kept = append(t.kept, buf[:n]...)
		if over := len(t.kept) - t.size; over > 0 {
			t.kept, t.cut = append(t.kept[:0], t.kept[over:]...), true
		}
		t.mu.Unlock()
		if t.also != nil && n > 0 {
			_, _ = t.also.Write(buf[:n]) // it keeps what it can
		}
		if err != nil {
			return
		}
	}
}

// String returns the kept text as one line, without secrets.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := string(t.kept)
	for _, s := range t.secrets {
		if s == "" {
			continue
		}
		text = strings.ReplaceAll(text, s, "***")
		for n := min(len(s), len(text)) - 1; t.cut && n > 3; n-- { // a secret whose beginning was cut off
			if strings.HasPrefix(text, s[len(s)-n:]) {
				text = "***" + text[n:]
				break
			}
		}
	}
	return strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
}
