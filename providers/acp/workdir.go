package acp

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/everdesk/everdesk/providers/jsonrpc"
)

// workDir is the working directory of an agent: the only files that it reads and writes through the hub.
type workDir struct {
	path string
	root *os.Root // refuses symbolic links that lead out of it
}

// maxFile bounds a file that an agent reads through the hub, in bytes.
const maxFile = 8 << 20

// errOutside refuses a file that the agent may not touch through the hub.
var errOutside = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the file is not in the working directory"}

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
	f, err := d.root.Open(rel)
	if err != nil {
		return nil, fileError(err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "it is not a file"}
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, fileError(err)
	case len(raw) > maxFile:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("the file has more than %d bytes", maxFile)}
	}
	return map[string]any{"content": section(string(raw), line, limit)}, nil
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

// content returns the content of a file for the users; empty if it cannot be read.
func (d workDir) content(rel string) string {
	raw, err := d.root.ReadFile(rel)
	if err != nil {
		return ""
	}
	return string(raw)
}

// write writes a file and makes the folders that it needs.
func (d workDir) write(rel, content string) error {
	err := d.root.MkdirAll(filepath.Dir(rel), 0o700)
	if err == nil {
		err = d.root.WriteFile(rel, []byte(content), 0o600)
	}
	if err != nil {
		return fileError(err)
	}
	return nil
}

// fileError returns an error of a file without the place of the working directory.
func fileError(err error) error {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		err = fmt.Errorf("%s %s: %w", p.Op, p.Path, p.Err)
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: err.Error()}
}
