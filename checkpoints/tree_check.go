package checkpoints

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

const (
	// maxDepth bounds the folders in each other of imported checkpoints.
	maxDepth = 1_000
	// maxObjectList and maxTrees bound what is read of the objects of imported checkpoints, in bytes.
	maxObjectList = 64 << 20
	maxTrees      = 256 << 20
	// expansion is how much larger a whole state may be than what one save may add.
	expansion = 4
)

// extent is the size of a folder with all folders in it.
type extent struct {
	files, bytes int64
	depth        int
}

// extents compute the sizes of folders. A few small trees that contain each other many times can be
// more files than any disk holds.
type extents struct {
	sizes map[string]int64  // of other objects than trees
	trees map[string][]byte // contents by hash
	known map[string]extent
	limit Config
}

// checkObjects refuses objects that together are larger than a save may be, and trees that expand to more
// than a disk should hold.
func (r *repo) checkObjects(ctx context.Context) error {
	out, err := r.call(ctx, call{args: []string{"cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objectname) %(objecttype) %(objectsize)"}, maxOut: maxObjectList})
	if err != nil {
		return fmt.Errorf("check checkpoints: %w", err)
	}
	if len(out) >= maxObjectList {
		return fmt.Errorf("%w: the number of files of imported checkpoints", ErrTooLarge)
	}
	e := extents{sizes: map[string]int64{}, trees: map[string][]byte{}, known: map[string]extent{}, limit: r.s.cfg}
	left := r.s.cfg.MaxBytes
	var names strings.Builder
	for line := range strings.Lines(string(out)) {
		word := strings.Fields(line)
		if len(word) != 3 {
			return fmt.Errorf("check checkpoints: unexpected %q", line)
		}
		size, err := strconv.ParseInt(word[2], 10, 64)
		if left -= size; err != nil || left < 0 || size > r.s.cfg.FileBytes {
			return fmt.Errorf("%w: the files of imported checkpoints", ErrTooLarge)
		}
		if word[1] == "tree" {
			names.WriteString(word[0] + "\n")
		} else {
			e.sizes[word[0]] = size
		}
	}
	if out, err = r.call(ctx, call{args: []string{"cat-file", "--batch"}, stdin: []byte(names.String()), maxOut: maxTrees}); err != nil {
		return fmt.Errorf("check checkpoints: %w", err)
	}
	if err := e.readTrees(out); err != nil {
		return err
	}
	for name := range e.trees {
		if _, err := e.extentOf(name); err != nil {
			return err
		}
	}
	return nil
}

// readTrees splits the output of cat-file --batch into trees.
func (e *extents) readTrees(out []byte) error {
	for len(out) > 0 {
		line, rest, _ := bytes.Cut(out, []byte("\n"))
		word := strings.Fields(string(line))
		if len(word) != 3 {
			return fmt.Errorf("%w: the folders of imported checkpoints", ErrTooLarge)
		}
		size, err := strconv.Atoi(word[2])
		if err != nil || size+1 > len(rest) {
			return fmt.Errorf("%w: the folders of imported checkpoints", ErrTooLarge)
		}
		e.trees[word[0]], out = rest[:size], rest[size+1:]
	}
	return nil
}

// extentOf returns the extent of a tree.
func (e *extents) extentOf(name string) (extent, error) {
	if x, ok := e.known[name]; ok {
		return x, nil
	}
	x := extent{depth: 1}
	for tree := e.trees[name]; len(tree) > 0; {
		end := bytes.IndexByte(tree, 0)
		if end < 0 || end+21 > len(tree) {
			return x, fmt.Errorf("%w: a folder cannot be read", ErrTransfer)
		}
		child := hex.EncodeToString(tree[end+1 : end+21])
		isTree := bytes.HasPrefix(tree, []byte("40000 "))
		if tree = tree[end+21:]; !isTree {
			x.files++
			x.bytes += e.sizes[child]
			continue
		}
		in, err := e.extentOf(child)
		if err != nil {
			return x, err
		}
		x.files += in.files + 1
		x.bytes += in.bytes
		x.depth = max(x.depth, in.depth+1)
		// Checked here, too, so that the numbers cannot overflow.
		if err := e.checkExtent(x); err != nil {
			return x, err
		}
	}
	e.known[name] = x
	return x, e.checkExtent(x)
}

func (e *extents) checkExtent(x extent) error {
	if x.files > expansion*int64(e.limit.MaxFiles) || x.bytes > expansion*e.limit.MaxBytes || x.depth > maxDepth {
		return fmt.Errorf("%w: a state of imported checkpoints", ErrTooLarge)
	}
	return nil
}
