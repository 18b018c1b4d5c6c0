package acp

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/everdesk/everdesk/providers/jsonrpc"
)

// workDir is the working directory of an agent: the only files that it reads and writes through the hub.
type workDir struct {
	path string
	root *os.Root // refuses symbolic links that lead out of it
}

// maxFile bounds a file that the hub reads for an agent, or shows to users before a change, in bytes.
const maxFile = 8 << 20

// codeNotFound is the error for a file that does not exist. Its text is that of the libraries of the protocol.
const codeNotFound = -32002

// Refusals of files that the agent may not touch through the hub.
var (
	errOutside  = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the file is not in the working directory"}
	errNoFile   = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "it is not a file"}
	errTooLarge = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("the file has more than %d bytes", maxFile)}
)

// inside returns the path of a file relative to the working directory. Whether symbolic links lead
// out of that is checked when the file is opened.
func (d workDir) inside(path string) (string, bool) {
	dirs := []string{d.path}
	if target, err := filepath.EvalSymlinks(d.path); err == nil {
		dirs = append(dirs, target)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(d.path, path)
	}
	for _, dir := range dirs {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			return rel, true
		}
	}
	return "", false
}

// relative returns a path below the working directory without that, and others unchanged.
func (d workDir) relative(path string) string {
	if rel, ok := d.inside(path); ok {
		return rel
	}
	return path
}

// readLines reads a file, or some lines of it, as the answer to a request; see section.
func (d workDir) readLines(path string, line, limit int) (any, error) {
	rel, ok := d.inside(path)
	if !ok {
		return nil, errOutside
	}
	text, err := d.read(rel)
	if err != nil {
		return nil, fileError(err)
	}
	return map[string]any{"content": section(text, line, limit)}, nil
}

// open opens a regular file. It refuses everything else without waiting: a pipe waits for its other end, in
// its open call, too.
func (d workDir) open(rel string, flag int) (*os.File, error) {
	f, err := d.root.OpenFile(rel, flag|syscall.O_NONBLOCK, 0o600)
	if errors.Is(err, syscall.ENXIO) || errors.Is(err, syscall.EISDIR) {
		return nil, errNoFile
	}
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close() // nothing was written
		return nil, errNoFile
	}
	return f, nil
}

// read reads a whole file.
func (d workDir) read(rel string) (string, error) {
	f, err := d.open(rel, os.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // it was only read
	raw, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return "", err
	case len(raw) > maxFile:
		return "", errTooLarge
	}
	return string(raw), nil
}

// section returns the lines from a line on, which counts from 1, at most limit ones; 0 means all.
func section(text string, line, limit int) string {
	if line <= 1 && limit <= 0 {
		return text
	}
	all := strings.SplitAfter(text, "\n")
	all = all[min(max(line-1, 0), len(all)):]
	if limit > 0 {
		all = all[:min(limit, len(all))]
	}
	return strings.Join(all, "")
}

// content returns the content of a file for the users; empty if there is none. A file that cannot be shown to
// them is not changed either.
func (d workDir) content(rel string) (string, error) {
	text, err := d.read(rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fileError(err)
	}
	return text, nil
}

// write writes a file and makes the folders that it needs.
func (d workDir) write(rel, content string) error {
	if err := d.root.MkdirAll(filepath.Dir(rel), 0o700); err != nil {
		return fileError(err)
	}
	f, err := d.open(rel, os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return fileError(err)
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteString(content)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fileError(err)
	}
	return nil
}

// fileError returns an error of a file without the place of the working directory.
func fileError(err error) error {
	if refusal, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return refusal
	}
	p, ok := errors.AsType[*os.PathError](err)
	if ok && errors.Is(err, fs.ErrNotExist) {
		return &jsonrpc.Error{Code: codeNotFound, Message: "Resource not found: " + p.Path}
	}
	if ok {
		err = fmt.Errorf("%s %s: %w", p.Op, p.Path, p.Err)
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: err.Error()}
}
