package workspaces

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// ErrNotAllowed means that a folder cannot be the workspace of a session: it does not exist, is no
// folder, or is not in an allowed one.
var ErrNotAllowed = errors.New("folder is no allowed workspace")

const (
	// collection holds the choices by session.
	collection = "workspaces"
	// maxListed bounds the folders of [Store.Folders].
	maxListed = 200
	// MaxPath bounds a path, in bytes.
	MaxPath = 4096
)

// Documents is the part of the store of a hub that a [Store] uses.
type Documents interface {
	// Get returns a document with its version, or [store.ErrNotFound].
	Get(ctx context.Context, collection, name string) (store.Document, error)
	// Put writes a document if the stored version is d.Version (0: none), else the error is
	// [store.ErrConflict]. It returns the new version.
	Put(ctx context.Context, d store.Document) (version uint64, err error)
	// Remove deletes a document if the stored version is the given one; else, and if there is no such
	// document, the error is [store.ErrConflict].
	Remove(ctx context.Context, collection, name string, version uint64) error
}

// Store keeps the choices. The zero value allows none.
type Store struct {
	docs    Documents
	allowed []string // resolved
}

// New returns a store that allows these folders, which must exist.
func New(docs Documents, allowed []string) (*Store, error) {
	s := &Store{docs: docs}
	for _, path := range allowed {
		resolved, err := resolve(path)
		if err != nil {
			return nil, fmt.Errorf("workspace folder %s: %w", path, err)
		}
		if !slices.Contains(s.allowed, resolved) {
			s.allowed = append(s.allowed, resolved)
		}
	}
	return s, nil
}

// resolve returns the absolute path of a folder without links.
func resolve(path string) (string, error) {
	resolved, err := filepath.Abs(path)
	if err == nil {
		resolved, err = filepath.EvalSymlinks(resolved)
	}
	if err != nil {
		return "", err
	}
	info, err := os.Stat(resolved)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", errors.New("it is not a folder")
	}
	return resolved, nil
}

// check returns the resolved path of a folder that may be a workspace.
func (s *Store) check(path string) (string, error) {
	if !filepath.IsAbs(path) || len(path) > MaxPath || strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("%w: want an absolute path", ErrNotAllowed)
	}
	resolved, err := resolve(path)
	if err != nil || !slices.ContainsFunc(s.allowed, func(folder string) bool { return contains(folder, resolved) }) {
		// The reason is left out: it would say what exists outside the allowed folders.
		return "", fmt.Errorf("%w: %q is not one of the allowed folders or a folder in them", ErrNotAllowed, path)
	}
	return resolved, nil
}

// contains reports whether a path is a folder or lies in it.
func contains(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// choice is the document of a session.
type choice struct {
	Folder string `json:"folder"`
}

// Choose sets the workspace of a session, and returns its resolved path. An empty path removes it.
func (s *Store) Choose(ctx context.Context, id wire.SessionID, path string) (string, error) {
	if path == "" {
		return "", s.Remove(ctx, id)
	}
	resolved, err := s.check(path)
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(choice{Folder: resolved})
	if err != nil {
		return "", fmt.Errorf("encode workspace: %w", err)
	}
	for {
		version := uint64(0)
		if d, err := s.docs.Get(ctx, collection, string(id)); err == nil || errors.Is(err, store.ErrCorrupt) {
			version = d.Version
		} else if !errors.Is(err, store.ErrNotFound) {
			return "", fmt.Errorf("read workspace: %w", err)
		}
		_, err := s.docs.Put(ctx, store.Document{Collection: collection, Name: string(id), Version: version, Data: data})
		if !errors.Is(err, store.ErrConflict) { // else another request chose one at the same time
			if err != nil {
				return "", fmt.Errorf("choose workspace: %w", err)
			}
			return resolved, nil
		}
	}
}

// Chosen returns what a session has chosen, or nothing. It may not be allowed any more.
func (s *Store) Chosen(ctx context.Context, id wire.SessionID) (string, error) {
	if s.docs == nil {
		return "", nil
	}
	d, err := s.docs.Get(ctx, collection, string(id))
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read workspace: %w", err)
	}
	var c choice
	if err := json.Unmarshal(d.Data, &c); err != nil {
		return "", &store.CorruptError{Where: "document of " + collection, Reason: err.Error()}
	}
	return c.Folder, nil
}

// Of returns the workspace of a session, or nothing if it has none. The error is [ErrNotAllowed] if
// its choice is not allowed any more, or does not exist any more.
func (s *Store) Of(ctx context.Context, id wire.SessionID) (string, error) {
	path, err := s.Chosen(ctx, id)
	if err != nil || path == "" {
		return "", err
	}
	return s.check(path)
}

// Remove removes the choice of a session. None is no error.
func (s *Store) Remove(ctx context.Context, id wire.SessionID) error {
	if s.docs == nil {
		return nil
	}
	for {
		d, err := s.docs.Get(ctx, collection, string(id))
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil && !errors.Is(err, store.ErrCorrupt) {
			return fmt.Errorf("read workspace: %w", err)
		}
		err = s.docs.Remove(ctx, collection, string(id), d.Version)
		if err == nil || errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return fmt.Errorf("remove workspace: %w", err)
		}
	}
}

// Folders returns the allowed folders and the visible folders in them, at most maxListed.
func (s *Store) Folders() []string {
	all := slices.Clone(s.allowed)
	for _, folder := range s.allowed {
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue // it can still be chosen, and says why it does not work
		}
		for _, e := range entries {
			if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && len(all) < maxListed {
				all = append(all, filepath.Join(folder, e.Name()))
			}
		}
	}
	return all
}
