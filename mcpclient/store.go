package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/everdesk/everdesk/store"
)

// collection has one document for each user.
const collection = "mcp-servers"

// SettingName is the name under which changes of servers are published, as those of settings are.
const SettingName = "mcpServers"

// maxDocument leaves room below the 1 MiB of a document of the store.
const maxDocument = 900 << 10

// Errors of the store.
var (
	// ErrNotFound means that there is no such server.
	ErrNotFound = errors.New("there is no such MCP server")
	// ErrFull means that the user has [MaxServers], or that they are too large together.
	ErrFull = fmt.Errorf("there are %d MCP servers already, or they are too large together", MaxServers)
	// ErrConflict means that the servers have another version than the caller saw.
	ErrConflict = errors.New("the MCP servers were changed meanwhile")
	// ErrStdio means that a server of a user is a program, which the operator does not allow.
	ErrStdio = errors.New("programs (command) are not allowed as MCP servers of users; the operator allows them with --user-mcp-commands on")
	// ErrOfOperator means that the operator has a server of that name.
	ErrOfOperator = errors.New("the operator has an MCP server of that name")
)

// Documents is the part of the store of a hub that a [Store] uses.
type Documents interface {
	// Get returns a document with its version, or [store.ErrNotFound].
	Get(ctx context.Context, collection, name string) (store.Document, error)
	// Put writes a document if the stored version is d.Version (0: none), else the error is
	// [store.ErrConflict]. It returns the new version.
	Put(ctx context.Context, d store.Document) (version uint64, err error)
}

// Set holds the servers of a user.
type Set struct {
	Servers []Server // ordered by name
	// Version changes with every change; 0 if there was none.
	Version uint64
}

// Store stores the servers of users.
type Store struct {
	docs Documents
	// stdio allows programs, and reserved are the names of the operator's servers.
	stdio    bool
	reserved []string
	changed  func(ctx context.Context, user string)
}

// NewStore returns a store of servers. stdio allows programs of users, and operator has the servers of the
// operator, whose names users cannot use. changed is called after the servers of a user have changed.
func NewStore(docs Documents, stdio bool, operator []Server, changed func(ctx context.Context, user string)) *Store {
	s := &Store{docs: docs, stdio: stdio, changed: changed}
	for _, one := range operator {
		s.reserved = append(s.reserved, one.Name)
	}
	return s
}

// AllowsPrograms reports whether servers of users may be programs.
func (s *Store) AllowsPrograms() bool { return s.stdio }

// document is the stored document of a user. Its entries are kept as they are, so that those of a later
// version survive.
type document struct {
	Servers map[string]json.RawMessage `json:"servers"`
}

// Read returns the servers of a user.
func (s *Store) Read(ctx context.Context, user string) (Set, error) {
	d, version, err := s.load(ctx, user)
	if err != nil {
		return Set{}, err
	}
	return d.view(version), nil
}

// Put adds or replaces servers of a user and returns what the user has then. If version is not nil and not the
// stored one, the error is [ErrConflict] and the set is the stored one. Other errors are [ErrStdio],
// [ErrOfOperator], [ErrFull], a [*FieldError] or the store's.
func (s *Store) Put(ctx context.Context, user string, servers []Server, version *uint64) (Set, error) {
	for _, one := range servers {
		switch {
		case one.Type == Stdio && !s.stdio:
			return Set{}, fmt.Errorf("%s: %w", one.Name, ErrStdio)
		case one.EnvFile != "":
			return Set{}, wrong(one.Name+".envFile", envFileOfUser)
		case slices.Contains(s.reserved, one.Name):
			return Set{}, fmt.Errorf("%s: %w", one.Name, ErrOfOperator)
		}
	}
	return s.change(ctx, user, version, func(d *document) error {
		for _, one := range servers {
			data, err := json.Marshal(one)
			if err != nil {
				return fmt.Errorf("encode an MCP server: %w", err)
			}
			d.Servers[one.Name] = data
		}
		if len(d.Servers) > MaxServers {
			return ErrFull
		}
		return nil
	})
}

// Remove removes a server of a user. Its results are those of [Store.Put]; [ErrNotFound] means that there is
// none.
func (s *Store) Remove(ctx context.Context, user, name string, version *uint64) (Set, error) {
	return s.change(ctx, user, version, func(d *document) error {
		if _, ok := d.Servers[name]; !ok {
			return ErrNotFound
		}
		delete(d.Servers, name)
		return nil
	})
}

// change changes the document of a user.
func (s *Store) change(ctx context.Context, user string, version *uint64, edit func(*document) error) (Set, error) {
	for {
		d, stored, err := s.load(ctx, user)
		if err != nil {
			return Set{}, err
		}
		if version != nil && *version != stored {
			return d.view(stored), ErrConflict
		}
		if err := edit(&d); err != nil {
			return Set{}, err
		}
		data, err := json.Marshal(d)
		if err != nil {
			return Set{}, fmt.Errorf("encode MCP servers: %w", err)
		}
		if len(data) > maxDocument {
			return Set{}, ErrFull
		}
		written, err := s.docs.Put(ctx, store.Document{Collection: collection, Name: user, Version: stored, Data: data})
		if err == nil {
			s.changed(ctx, user)
			return d.view(written), nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return Set{}, fmt.Errorf("store MCP servers: %w", err)
		}
		// Each conflict is a change of the same user; the caller's context bounds the retries.
	}
}

func (s *Store) load(ctx context.Context, user string) (document, uint64, error) {
	d := document{Servers: map[string]json.RawMessage{}}
	stored, err := s.docs.Get(ctx, collection, user)
	if errors.Is(err, store.ErrNotFound) {
		return d, 0, nil
	}
	if err != nil {
		return d, 0, fmt.Errorf("read MCP servers: %w", err)
	}
	if json.Unmarshal(stored.Data, &d) != nil || d.Servers == nil {
		return d, 0, &store.CorruptError{Where: "document of " + collection, Reason: "no object with servers"}
	}
	return d, stored.Version, nil
}

// view returns what a user has. Entries that are not valid in this version are left out.
func (d document) view(version uint64) Set {
	s := Set{Version: version}
	for _, name := range slices.Sorted(maps.Keys(d.Servers)) {
		if one, _, err := parseServer(name, d.Servers[name]); err == nil {
			s.Servers = append(s.Servers, one)
		}
	}
	return s
}
