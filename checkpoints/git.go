package checkpoints

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// call is one run of git.
type call struct {
	args  []string
	stdin []byte
	// in and out replace stdin and the returned output, if they are not nil. The call is not repeated.
	in  io.Reader
	out io.Writer
	// repo, index and tree are paths, if the call needs them.
	repo, index, tree string
	// held is inherited by git, so that it holds the lock of the repository while it runs.
	held *os.File
	// globs lets names on the standard input be patterns; check-ignore knows no other way.
	globs bool
	// maxOut bounds the output, if it is not zero; the rest is dropped.
	maxOut int
}

// settings holds for every call. The configuration of the repository itself has nothing that
// matters.
func settings() []string {
	return []string{
		"-c", "core.hooksPath=" + os.DevNull,
		"-c", "core.fsmonitor=false",
		"-c", "core.untrackedCache=false",
		"-c", "core.attributesFile=" + os.DevNull,
		"-c", "core.excludesFile=" + os.DevNull,
		"-c", "core.autocrlf=false",
		"-c", "core.safecrlf=false",
		"-c", "core.symlinks=true",
		"-c", "core.fileMode=true",
		"-c", "core.ignoreCase=false",
		"-c", "core.precomposeUnicode=false",
		"-c", "core.protectHFS=true",
		"-c", "core.quotePath=false",
		"-c", "core.logAllRefUpdates=false",
		"-c", "core.sparseCheckout=false",
		"-c", "core.splitIndex=false",
		"-c", "core.bigFileThreshold=16m",
		// An acknowledged checkpoint survives a power cut.
		"-c", "core.fsync=objects,reference",
		"-c", "core.fsyncMethod=batch",
		"-c", "commit.gpgSign=false",
		"-c", "gc.auto=0",
		"-c", "maintenance.auto=false",
		"-c", "index.threads=1",
		"-c", "pack.threads=1",
		"-c", "pack.windowMemory=64m",
		"-c", "diff.external=",
		"-c", "submodule.recurse=false",
		"-c", "protocol.allow=never",
	}
}

// environment is all that git gets: no variable of the hub's own environment except where programs
// and temporary files are.
func (c *call) environment() []string {
	env := []string{
		"LC_ALL=C", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1",
		"GIT_AUTHOR_NAME=Everdesk", "GIT_AUTHOR_EMAIL=checkpoints@localhost",
		"GIT_COMMITTER_NAME=Everdesk", "GIT_COMMITTER_EMAIL=checkpoints@localhost",
	}
	for _, name := range []string{"PATH", "TMPDIR", "SYSTEMROOT", "TEMP", "TMP"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	if !c.globs {
		env = append(env, "GIT_LITERAL_PATHSPECS=1")
	}
	for name, v := range map[string]string{"GIT_DIR": c.repo, "GIT_INDEX_FILE": c.index, "GIT_WORK_TREE": c.tree} {
		if v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// gitError is a failed run of git.
type gitError struct {
	command string
	text    string // what git wrote to its standard error, shortened
	err     error
}

func (e *gitError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("git %s: %v: %s", e.command, e.err, e.text))
}
func (e *gitError) Unwrap() error { return e.err }

// gitWrote reports whether git itself wrote a text. Only texts of git that are checked by a test are
// looked for.
func gitWrote(err error, text string) bool {
	var g *gitError
	return errors.As(err, &g) && strings.Contains(g.text, text)
}

// killDelay is the time that git has for closing its output after it was killed.
const killDelay = 5 * time.Second

// run starts git and returns its output.
func (s *Store) run(ctx context.Context, c call) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	cmd := exec.CommandContext(ctx, s.git, append(settings(), c.args...)...) //nolint:gosec // git with arguments of this package
	cmd.Env = c.environment()
	cmd.Dir = s.cfg.Dir
	if c.tree != "" {
		cmd.Dir = c.tree
	}
	cmd.Stdin = bytes.NewReader(c.stdin)
	cmd.WaitDelay = killDelay
	detachGit(cmd, c.held)
	out, text := &boundedBuffer{limit: c.maxOut}, &boundedBuffer{limit: 4 << 10}
	cmd.Stdout, cmd.Stderr = out, text
	if c.in != nil {
		cmd.Stdin = c.in
	}
	if c.out != nil {
		cmd.Stdout = c.out
	}
	err := cmd.Run()
	if err == nil {
		return out.Bytes(), nil
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("git %s: %w", c.args[0], context.Cause(ctx))
	}
	failed := &gitError{command: c.args[0], text: strings.TrimSpace(text.String()), err: err}
	if isFull(failed.text) {
		return nil, fmt.Errorf("%w: %w", ErrNoSpace, failed)
	}
	return nil, failed
}

// isFull reports whether git failed because of a full disk, a quota or a limit of file sizes.
func isFull(text string) bool {
	for _, t := range []string{"No space left on device", "Out of diskspace", "Disk quota exceeded", "File too large"} {
		if strings.Contains(text, t) {
			return true
		}
	}
	return false
}

// boundedBuffer drops what exceeds its limit, unless that is zero.
type boundedBuffer struct {
	bytes.Buffer
	limit int
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	take := p
	if b.limit > 0 {
		take = p[:min(len(p), max(0, b.limit-b.Len()))]
	}
	b.Buffer.Write(take)
	return len(p), nil
}
