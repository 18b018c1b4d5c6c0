package checkpoints

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// Change is a file that differs between two states.
type Change struct {
	Path string `json:"path"`
	// Kind is "added", "changed", "deleted", or "type" for a file that became a link, or a link that
	// became a file.
	Kind string `json:"kind"`
	// Mode says that it became executable, or is not any more.
	Mode bool `json:"mode,omitempty"`
	// Added and Removed count lines. Binary files have none.
	Added   int  `json:"added"`
	Removed int  `json:"removed"`
	Binary  bool `json:"binary,omitempty"`
}

// Now is the hash that stands for the present state of the worktree.
const Now = ""

// Compare lists the files that differ between two checkpoints, or between one and [Now].
func (s *Store) Compare(ctx context.Context, w Worktree, session, from, to string) ([]Change, error) {
	out, err := s.diff(ctx, w, session, from, to, 0, "--raw", "--numstat", "-z")
	if err != nil {
		return nil, err
	}
	return parseChanges(string(out))
}

// Patch returns the difference of one file in the format of git, or of all files if path is empty,
// at most max bytes. It reports whether that is all.
func (s *Store) Patch(ctx context.Context, w Worktree, session, from, to, path string, limit int) (text string, whole bool, err error) {
	args := []string{"--patch", "--no-color", "--no-ext-diff", "--no-textconv", "--full-index"}
	if path != "" {
		args = append(args, "--", path)
	}
	out, err := s.diff(ctx, w, session, from, to, limit+1, args...)
	if err != nil {
		return "", false, err
	}
	if len(out) > limit {
		return strings.ToValidUTF8(string(out[:limit]), ""), false, nil
	}
	return strings.ToValidUTF8(string(out), "\uFFFD"), true, nil
}

// diff runs git's comparison of two states.
func (s *Store) diff(ctx context.Context, w Worktree, session, from, to string, limit int, args ...string) ([]byte, error) {
	ctx, r, err := s.open(ctx, w)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %q", ErrUnknown, from)
	}
	if err != nil {
		return nil, err
	}
	defer r.close()
	a, err := r.treeOf(ctx, session, from)
	if err != nil {
		return nil, err
	}
	b, err := r.treeOf(ctx, session, to)
	if err != nil {
		return nil, err
	}
	all := []string{"diff-tree", "-r", "--no-renames", "--no-commit-id", a, b}
	// Paths come last, after the trees.
	at := len(args)
	for i, arg := range args {
		if arg == "--" {
			at = i
			break
		}
	}
	all = append(append(append(all[:4:4], args[:at]...), all[4:]...), args[at:]...)
	out, err := r.call(ctx, call{args: all, maxOut: limit})
	if err != nil {
		return nil, fmt.Errorf("compare checkpoints: %w", err)
	}
	return out, nil
}

// treeOf returns the files of a checkpoint, or those of now.
func (r *repo) treeOf(ctx context.Context, session, hash string) (string, error) {
	if hash != Now {
		c, err := r.find(ctx, session, hash)
		return c.Files, err
	}
	tree, _, err := r.stage(ctx)
	return tree, err
}

// parseChanges reads the output of diff-tree --raw --numstat -z: first the raw records, then the
// numbers of lines, in the same order.
func parseChanges(out string) ([]Change, error) {
	var all []Change
	index := map[string]int{}
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	for i := 0; i < len(fields); i++ {
		switch f := fields[i]; {
		case f == "":
		case f[0] == ':':
			if i++; i == len(fields) {
				return nil, fmt.Errorf("compare checkpoints: unexpected end of %q", f)
			}
			c, err := parseRaw(f, fields[i])
			if err != nil {
				return nil, err
			}
			index[c.Path] = len(all)
			all = append(all, c)
		default:
			parts := strings.SplitN(f, "\t", 3)
			if len(parts) < 3 {
				return nil, fmt.Errorf("compare checkpoints: unexpected %q", f)
			}
			at, known := index[parts[2]]
			if !known {
				continue
			}
			if parts[0] == "-" {
				all[at].Binary = true
				continue
			}
			all[at].Added, _ = strconv.Atoi(parts[0]) // git writes numbers
			all[at].Removed, _ = strconv.Atoi(parts[1])
		}
	}
	return all, nil
}

// parseRaw reads one record, as in ":100644 100755 HASH HASH M".
func parseRaw(raw, path string) (Change, error) {
	f := strings.Fields(raw)
	if len(f) != 5 {
		return Change{}, fmt.Errorf("compare checkpoints: unexpected %q", raw)
	}
	c := Change{Path: path}
	switch f[4][0] {
	case 'A':
		c.Kind = "added"
	case 'D':
		c.Kind = "deleted"
	case 'T':
		c.Kind = "type"
	default:
		c.Kind = "changed"
		c.Mode = f[0] != ":"+f[1]
	}
	return c, nil
}
