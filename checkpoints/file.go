package checkpoints

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// File is a file of a checkpoint.
type File struct {
	// Hash identifies the content.
	Hash    string
	Content []byte
}

// File returns a file of a checkpoint. The error is [ErrUnknown] if the checkpoint has no file with this path, which has
// slashes, and [ErrTooLarge] if the file is larger than limit bytes. Links are no files.
func (s *Store) File(ctx context.Context, w Worktree, session, hash, path string, limit int64) (File, error) {
	ctx, r, err := s.open(ctx, w)
	if errors.Is(err, fs.ErrNotExist) {
		return File{}, fmt.Errorf("%w: %q", ErrUnknown, hash)
	}
	if err != nil {
		return File{}, err
	}
	defer r.close()
	c, err := r.find(ctx, session, hash)
	if err != nil {
		return File{}, err
	}
	unknown := fmt.Errorf("%w: it has no file %q", ErrUnknown, path)
	if !fs.ValidPath(path) || strings.ContainsRune(path, 0) {
		return File{}, unknown
	}
	out, err := r.git(ctx, nil, "ls-tree", "-z", "-l", "--full-tree", c.Files, "--", path)
	if err != nil {
		return File{}, fmt.Errorf("find a file of a checkpoint: %w", err)
	}
	about, name, _ := strings.Cut(strings.TrimSuffix(string(out), "\x00"), "\t")
	field := strings.Fields(about) // mode, type, hash, size
	if name != path || len(field) != 4 || !strings.HasPrefix(field[0], "100") {
		return File{}, unknown
	}
	if size, err := strconv.ParseInt(field[3], 10, 64); err != nil || size > limit {
		return File{}, fmt.Errorf("%w: the file has %s bytes", ErrTooLarge, field[3])
	}
	content, err := r.git(ctx, nil, "cat-file", "blob", field[2])
	if err != nil {
		return File{}, fmt.Errorf("read a file of a checkpoint: %w", err)
	}
	return File{Hash: field[2], Content: content}, nil
}
