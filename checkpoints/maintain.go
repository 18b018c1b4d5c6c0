package checkpoints

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// maintain removes the oldest checkpoints of a session beyond the limit, a tenth more than needed so
// that it is rarely needed, and packs the repository from time to time.
func (r *repo) maintain(ctx context.Context, session string, newest int) error {
	all, err := r.list(ctx, session)
	if err != nil {
		return err
	}
	removed := 0
	if over := len(all) - r.s.cfg.Limit; over > 0 {
		removed = min(over+r.s.cfg.Limit/10, len(all)-1)
		if err := r.deleteRefs(ctx, all[:removed], session); err != nil {
			return err
		}
	}
	if removed == 0 && newest%r.s.cfg.PackEvery != 0 {
		return nil
	}
	return r.pack(ctx)
}

func (r *repo) deleteRefs(ctx context.Context, which []Checkpoint, session string) error {
	var orders bytes.Buffer
	for _, c := range which {
		fmt.Fprintf(&orders, "delete %s %s\n", refOf(session, c.Number), c.Hash)
	}
	if _, err := r.git(ctx, orders.Bytes(), "update-ref", "--no-deref", "--stdin"); err != nil {
		return fmt.Errorf("remove old checkpoints: %w", err)
	}
	return nil
}

// pack stores everything that refs need in one pack and removes the rest. No operation can be about
// to use the rest: this one has the lock.
func (r *repo) pack(ctx context.Context) error {
	if err := r.copyIndex(); err != nil { // what it names must stay
		return err
	}
	for _, args := range [][]string{
		{"pack-refs", "--all"},
		{"repack", "-a", "-d", "-q"},
		{"prune", "--expire=now"},
	} {
		if _, err := r.git(ctx, nil, args...); err != nil {
			return fmt.Errorf("pack repository: %w", err)
		}
	}
	return nil
}

// RemoveSession removes the checkpoints of a session in a worktree that others share.
func (s *Store) RemoveSession(ctx context.Context, w Worktree, session string) error {
	ctx, r, err := s.open(ctx, w)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer r.close()
	all, err := r.list(ctx, session)
	if err != nil || len(all) == 0 {
		return err
	}
	if err := r.deleteRefs(ctx, all, session); err != nil {
		return err
	}
	if err := r.pack(ctx); !errors.Is(err, ErrNoSpace) {
		return err
	}
	return nil // they are removed; the next time that the repository is packed gives their space back
}
