package checkpoints

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// withFixed returns a tree with the entries of target, in which the fixed names of the worktree are those of the tree now.
func (r *repo) withFixed(ctx context.Context, now, target string) (string, error) {
	if len(r.w.Fixed) == 0 {
		return target, nil
	}
	kept, _, err := r.splitFixed(ctx, now)
	if err != nil {
		return "", err
	}
	dropped, others, err := r.splitFixed(ctx, target)
	if err != nil {
		return "", err
	}
	if kept == dropped {
		return target, nil
	}
	out, err := r.git(ctx, []byte(others+kept), "mktree", "-z")
	if err != nil {
		return "", fmt.Errorf("keep fixed names: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// splitFixed returns the entries of a tree that have fixed names, and its others, in the format of git mktree -z.
func (r *repo) splitFixed(ctx context.Context, tree string) (fixed, others string, err error) {
	out, err := r.git(ctx, nil, "ls-tree", "-z", "--full-tree", tree)
	if err != nil {
		return "", "", fmt.Errorf("list files: %w", err)
	}
	var mine, rest strings.Builder
	for entry := range strings.SplitAfterSeq(string(out), "\x00") {
		_, name, _ := strings.Cut(strings.TrimSuffix(entry, "\x00"), "\t")
		if slices.ContainsFunc(r.w.Fixed, func(s string) bool { return strings.EqualFold(s, name) }) {
			mine.WriteString(entry)
		} else {
			rest.WriteString(entry)
		}
	}
	return mine.String(), rest.String(), nil
}
