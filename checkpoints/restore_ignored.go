package checkpoints

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const ignoreFile = ".gitignore"

// withIgnored returns the tree that a restore of target leaves in a worktree that has the tree now:
// the target, and those present files that the rules of the target ignore. The target could not have
// them, so that they are missing in it does not mean that they did not exist. It matters only where
// rules changed.
func (r *repo) withIgnored(ctx context.Context, now, target string) (string, error) {
	if !r.w.Ignore {
		return target, nil
	}
	out, err := r.git(ctx, nil, "diff-tree", "-r", "-z", "--no-renames", "--no-abbrev", now, target)
	if err != nil {
		return "", fmt.Errorf("compare checkpoints: %w", err)
	}
	deleted, added, folders, rules := map[string]string{}, map[string]bool{}, map[string]bool{}, false
	fields := strings.Split(string(out), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		raw, path := strings.Fields(fields[i]), fields[i+1]
		if len(raw) != 5 {
			return "", fmt.Errorf("compare checkpoints: unexpected %q", fields[i])
		}
		rules = rules || path == ignoreFile || strings.HasSuffix(path, "/"+ignoreFile)
		switch raw[4] {
		case "D":
			deleted[path] = raw[0][1:] + " " + raw[2] // mode and blob
		case "A":
			added[path] = true
			for folder := parent(path); folder != ""; folder = parent(folder) {
				folders[folder] = true
			}
		}
	}
	if !rules || len(deleted) == 0 {
		return target, nil
	}
	ignored, err := r.ignoredBy(ctx, target, deleted)
	if err != nil {
		return "", err
	}
	var entries bytes.Buffer
	for _, path := range ignored {
		if !folders[path] && !below(path, added) { // not in the way of a file of the target
			fmt.Fprintf(&entries, "%s\t%s\x00", deleted[path], path)
		}
	}
	if entries.Len() == 0 {
		return target, nil
	}
	return r.extendTree(ctx, target, entries.Bytes())
}

// below reports whether a path lies below one of a set, which is a file.
func below(path string, files map[string]bool) bool {
	for path = parent(path); path != ""; path = parent(path) {
		if files[path] {
			return true
		}
	}
	return false
}

// ignoredBy returns the paths that the rules of a tree ignore. Git reads rules from files, so they
// are written to a folder that has nothing else.
func (r *repo) ignoredBy(ctx context.Context, tree string, paths map[string]string) (ignored []string, err error) {
	scratch, err := os.MkdirTemp(r.dir, privateIndex)
	if err != nil {
		return nil, fmt.Errorf("create folder for rules: %w", noSpace(err))
	}
	defer func() { _ = os.RemoveAll(scratch) }() // the next operation removes it otherwise
	out, err := r.git(ctx, nil, "ls-tree", "-r", "-z", "--full-tree", tree)
	if err != nil {
		return nil, fmt.Errorf("list files: %w", err)
	}
	for line := range strings.SplitSeq(string(out), "\x00") {
		entry, path, _ := strings.Cut(line, "\t")
		f := strings.Fields(entry)
		if len(f) != 3 || path != ignoreFile && !strings.HasSuffix(path, "/"+ignoreFile) || f[0] == "120000" {
			continue
		}
		text, err := r.git(ctx, nil, "cat-file", "blob", f[2])
		if err != nil {
			return nil, fmt.Errorf("read rules: %w", err)
		}
		to := filepath.Join(scratch, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return nil, fmt.Errorf("write rules: %w", noSpace(err))
		}
		if err := os.WriteFile(to, text, 0o600); err != nil {
			return nil, fmt.Errorf("write rules: %w", noSpace(err))
		}
	}
	var names bytes.Buffer
	for path := range paths {
		names.WriteString("./" + path + "\x00") // so that no name begins with a colon
	}
	out, err = r.call(ctx, call{args: []string{"check-ignore", "--no-index", "-z", "--stdin"}, stdin: names.Bytes(), tree: scratch, globs: true})
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return nil, nil // none
	}
	if err != nil {
		return nil, fmt.Errorf("apply rules: %w", err)
	}
	for path := range strings.SplitSeq(string(out), "\x00") {
		if path, ok := strings.CutPrefix(path, "./"); ok {
			ignored = append(ignored, path)
		}
	}
	return ignored, nil
}

// extendTree returns a tree with more entries, in the format of git update-index --index-info.
func (r *repo) extendTree(ctx context.Context, tree string, entries []byte) (string, error) {
	other := *r
	other.index = r.index + "-extended"
	defer func() { _ = os.Remove(other.index) }() // the next operation removes it otherwise
	if _, err := other.git(ctx, nil, "read-tree", tree); err != nil {
		return "", fmt.Errorf("extend tree: %w", err)
	}
	if _, err := other.git(ctx, entries, "update-index", "-z", "--index-info"); err != nil {
		return "", fmt.Errorf("extend tree: %w", err)
	}
	out, err := other.git(ctx, nil, "write-tree")
	if err != nil {
		return "", fmt.Errorf("extend tree: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
