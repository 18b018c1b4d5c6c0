package checkpoints

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"
)

// Note says what a checkpoint is for.
type Note struct {
	// Reason is why it was saved, such as "message" or "restore".
	Reason string `json:"reason,omitempty"`
	// Message, Monitor and TS name the message of the conversation that it belongs to.
	Message string `json:"message,omitempty"`
	Monitor string `json:"monitor,omitempty"`
	TS      int64  `json:"ts,omitempty"`
	// Op identifies the operation. One that is repeated because its result is unknown recognises what
	// it did before.
	Op string `json:"op,omitempty"`
	// Workspace is the name of the workspace that was saved with the files of a session, and
	// WorkspaceHash its checkpoint. Both are empty if there was none.
	Workspace     string `json:"workspace,omitempty"`
	WorkspaceHash string `json:"workspaceHash,omitempty"`
}

// Checkpoint is one stored state of a worktree.
type Checkpoint struct {
	// Hash identifies it: the commit.
	Hash string `json:"hash"`
	// Number counts the checkpoints of a session in a worktree, from 1.
	Number int `json:"number"`
	// Time is when it was saved.
	Time time.Time `json:"time"`
	Note
	// Files is the tree of the files. Checkpoints with the same files have the same one.
	Files string `json:"files"`
	// Windows is the hash of the stored windows, or empty.
	Windows string `json:"windows,omitempty"`
}

// record is what the message of a commit holds.
type record struct {
	Note
	Time    time.Time `json:"time"`
	Files   string    `json:"files"`
	Windows string    `json:"windows,omitempty"`
}

const refPrefix = "refs/checkpoints/"

func refOf(session string, number int) string {
	return fmt.Sprintf("%s%s/%010d", refPrefix, session, number)
}

func checkSession(session string) error {
	if !validName.MatchString(session) || strings.Contains(session, "..") || strings.HasSuffix(session, lockSuffix) || strings.HasSuffix(session, ".") {
		return fmt.Errorf("%w: invalid session %q", ErrUnknown, session)
	}
	return nil
}

// List returns the checkpoints of a session in a worktree, the oldest first.
func (s *Store) List(ctx context.Context, w Worktree, session string) ([]Checkpoint, error) {
	ctx, r, err := s.open(ctx, w)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer r.close()
	return r.list(ctx, session)
}

func (r *repo) list(ctx context.Context, session string) ([]Checkpoint, error) {
	if err := checkSession(session); err != nil {
		return nil, err
	}
	out, err := r.git(ctx, nil, "for-each-ref", "--sort=refname", "--format=%(refname) %(objectname) %(contents:subject)", refPrefix+session+"/")
	if err != nil {
		return nil, fmt.Errorf("list checkpoints: %w", err)
	}
	var all []Checkpoint
	for line := range strings.Lines(string(out)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		var rec record
		if len(fields) < 3 || json.Unmarshal([]byte(fields[2]), &rec) != nil {
			continue // a ref of another program
		}
		number, err := strconv.Atoi(fields[0][strings.LastIndexByte(fields[0], '/')+1:])
		if err != nil {
			continue
		}
		all = append(all, Checkpoint{Hash: fields[1], Number: number, Time: rec.Time, Note: rec.Note, Files: rec.Files, Windows: rec.Windows})
	}
	return all, nil
}

// minHash is the shortest beginning of a hash that names a checkpoint.
const minHash = 7

// find returns the checkpoint of a session with this hash, or a beginning of it that is unique.
func (r *repo) find(ctx context.Context, session, hash string) (Checkpoint, error) {
	all, err := r.list(ctx, session)
	if err != nil {
		return Checkpoint{}, err
	}
	return Find(all, hash)
}

// Find returns the checkpoint with this hash, or a beginning of it that is unique. The error is
// [ErrUnknown].
func Find(all []Checkpoint, hash string) (Checkpoint, error) {
	var found []Checkpoint
	for _, c := range all {
		if c.Hash == hash {
			return c, nil
		}
		if len(hash) >= minHash && strings.HasPrefix(c.Hash, hash) {
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		return Checkpoint{}, fmt.Errorf("%w: %q", ErrUnknown, hash)
	}
	return found[0], nil
}

// Windows returns what the checkpoint holds of the session's desktop, as it was given to Save.
func (s *Store) Windows(ctx context.Context, w Worktree, session, hash string) ([]byte, error) {
	ctx, r, err := s.open(ctx, w)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %q", ErrUnknown, hash)
	}
	if err != nil {
		return nil, err
	}
	defer r.close()
	c, err := r.find(ctx, session, hash)
	if err != nil || c.Windows == "" {
		return nil, err
	}
	out, err := r.git(ctx, nil, "cat-file", "blob", c.Windows)
	if err != nil {
		return nil, fmt.Errorf("read windows: %w", err)
	}
	return out, nil
}
