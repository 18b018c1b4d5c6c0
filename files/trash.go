package files

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everdesk/everdesk/wire"
)

const (
	// trashTTL is how long a deletion can be undone.
	trashTTL = 24 * time.Hour
	// trashEntries bounds the deletions of a session that can be undone.
	trashEntries = 100
)

// Trashed is a deleted file or folder that can be restored.
type Trashed struct {
	ID string
	// Path is where it was.
	Path    string
	Folder  bool
	Size    int64
	Deleted time.Time
}

// trashID returns the id of a deletion: its time, a random part, and how many parts the path has, so
// that the first segments of the objects below the id show what was deleted.
func trashID(at time.Time, path string) string {
	return fmt.Sprintf("%012x-%s-%d", at.UnixMilli(), strings.ToLower(rand.Text()[:10]), strings.Count(path, "/")+1)
}

// parseTrashID returns the time of a deletion and the number of parts of its path.
func parseTrashID(id string) (at time.Time, parts int, ok bool) {
	fields := strings.Split(id, "-")
	if len(fields) != 3 || CheckName(id) != nil || strings.Contains(id, "/") {
		return time.Time{}, 0, false
	}
	ms, err := strconv.ParseInt(fields[0], 16, 64)
	parts, perr := strconv.Atoi(fields[2])
	return time.UnixMilli(ms), parts, err == nil && perr == nil && parts > 0 && parts <= maxDepth
}

// Trash deletes a file or folder so that it can be restored for a day.
func (s *Store) Trash(ctx context.Context, session wire.SessionID, name string) (Trashed, error) {
	if err := CheckName(name); err != nil {
		return Trashed{}, err
	}
	now := time.Now()
	id := trashID(now, name)
	e, err := s.backend.Move(ctx, Key{session, AreaFiles, name}, Key{session, AreaTrash, id + "/" + name})
	if err != nil {
		return Trashed{}, err
	}
	s.changed(ctx, session, Change{Entry: Entry{Path: name, Folder: e.Folder}, Removed: true})
	_, err = s.Trashed(ctx, session) // removes what is too old or too much
	return Trashed{ID: id, Path: name, Folder: e.Folder, Size: e.Size, Deleted: now}, err
}

// Trashed returns what can be restored, the newest first, and removes for good what is older than a
// day or exceeds the space of a session.
func (s *Store) Trashed(ctx context.Context, session wire.SessionID) ([]Trashed, error) {
	all, err := s.backend.List(ctx, Key{session, AreaTrash, ""})
	if err != nil {
		return nil, err
	}
	var found []Trashed
	for _, e := range all {
		id, rest, below := strings.Cut(e.Path, "/")
		at, parts, ok := parseTrashID(id)
		if !ok || !below {
			continue
		}
		if len(found) == 0 || found[len(found)-1].ID != id {
			found = append(found, Trashed{ID: id, Deleted: at})
		}
		t := &found[len(found)-1]
		t.Size += e.Size
		segments := strings.Split(rest, "/")
		if len(segments) >= parts {
			t.Path = strings.Join(segments[:parts], "/")
			t.Folder = t.Folder || e.Folder || len(segments) > parts
		}
	}
	slices.SortStableFunc(found, func(a, b Trashed) int { return cmp.Compare(b.ID, a.ID) })
	kept, bytes := found[:0], int64(0)
	for _, t := range found {
		// The newest deletion can always be undone, however large it is. A deletion that was interrupted has no path.
		bytes += t.Size
		fits := len(kept) == 0 || len(kept) < trashEntries && bytes <= s.cfg.SessionBytes
		switch {
		case !fits || time.Since(t.Deleted) >= trashTTL:
			_ = s.backend.Remove(ctx, Key{session, AreaTrash, t.ID}) // the next call tries again
		case t.Path != "":
			kept = append(kept, t)
		}
	}
	return kept, nil
}

// Restore undoes a deletion. If there is something at the old path, the file gets another name.
func (s *Store) Restore(ctx context.Context, session wire.SessionID, id string) (Entry, error) {
	all, err := s.Trashed(ctx, session)
	if err != nil {
		return Entry{}, err
	}
	i := slices.IndexFunc(all, func(t Trashed) bool { return t.ID == id })
	if i < 0 {
		return Entry{}, fmt.Errorf("%w: no deletion %q can be undone", fs.ErrNotExist, id)
	}
	t := all[i]
	used, err := s.usageWithout(ctx, session, "")
	if err != nil {
		return Entry{}, err
	}
	// What a program wrote beyond the limits never has room, but comes back.
	if err := s.checkRoom(used, t.Size); err != nil && t.Size <= s.cfg.SessionBytes {
		return Entry{}, err
	}
	from := Key{session, AreaTrash, id + "/" + t.Path}
	for n := 1; ; n++ {
		to := numbered(t.Path, n)
		if err := CheckNewName(to); err != nil {
			return Entry{}, err
		}
		e, err := s.backend.Move(ctx, from, Key{session, AreaFiles, to})
		if errors.Is(err, ErrExists) && n < 100 {
			continue
		}
		if err == nil {
			s.changed(ctx, session, Change{Entry: e})
		}
		return e, err
	}
}

// numbered returns the nth name to try for a file: itself, then "name (2).ext" and so on.
func numbered(name string, n int) string {
	if n == 1 {
		return name
	}
	dot := strings.LastIndexByte(name, '.')
	if dot <= strings.LastIndexByte(name, '/')+1 {
		dot = len(name)
	}
	return fmt.Sprintf("%s (%d)%s", name[:dot], n, name[dot:])
}

// EmptyTrash removes for good what was deleted.
func (s *Store) EmptyTrash(ctx context.Context, session wire.SessionID) error {
	all, err := s.Trashed(ctx, session)
	for _, t := range all {
		if rerr := s.backend.Remove(ctx, Key{session, AreaTrash, t.ID}); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}
	return err
}
