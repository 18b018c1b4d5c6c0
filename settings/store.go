package settings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/everdesk/everdesk/notices"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Documents is the part of the store that a [Store] uses.
type Documents = notices.Documents

// place is a kind of document with values.
type place struct {
	scope      Scope
	collection string
	// early says that versions without a catalogue write the document. They drop names that they do
	// not know, so that it holds only settings with [Setting.Early].
	early bool
}

// places lists the kinds of documents, from the widest scope.
func places() []place {
	return []place{
		{scope: ScopeHub, collection: "hub-settings"},
		{scope: ScopeUser, collection: "settings", early: true},
		{scope: ScopeUser, collection: "user-settings"},
		{scope: ScopeSession, collection: "session-settings"},
	}
}

// holds reports whether documents of the place may have values of a setting.
func (p place) holds(s Setting) bool {
	return s.allows(p.scope) && (p.scope != ScopeUser || p.early == s.Early)
}

// hubDocument is the name of the only document of the scope hub.
const hubDocument = "hub"

// changesCollection holds the notices of changes.
const changesCollection = "setting-changes"

// Pin is a value that the operator has set with a flag or in a file. That of a secret is not kept.
type Pin struct {
	Name  string
	Value json.RawMessage
	// Where names the source, such as "flag --provider".
	Where string
}

// Config configures a [Store].
type Config struct {
	// Catalogue is [Catalogue] outside tests.
	Catalogue []Setting
	Pins      []Pin
	Logger    *slog.Logger
}

// Store reads and changes the values of settings.
type Store struct {
	docs      Documents
	board     *notices.Board
	catalogue []Setting
	byName    map[string]Setting
	pins      map[string]Pin
	log       *slog.Logger
}

// New returns a store of settings. It fails if a pin is not a valid value.
func New(docs Documents, cfg Config) (*Store, error) {
	s := &Store{
		docs: docs, board: notices.NewBoard(docs, changesCollection), catalogue: cfg.Catalogue,
		byName: map[string]Setting{}, pins: map[string]Pin{}, log: cfg.Logger,
	}
	for _, one := range cfg.Catalogue {
		s.byName[one.Name] = one
	}
	var wrong []error
	for _, pin := range cfg.Pins {
		setting, known := s.byName[pin.Name]
		if !known {
			wrong = append(wrong, fmt.Errorf("%s: there is no setting %q", pin.Where, pin.Name))
			continue
		}
		if setting.Secret {
			s.pins[pin.Name] = Pin{Name: pin.Name, Where: pin.Where}
			continue
		}
		value, refusal := setting.Check(pin.Value)
		if refusal != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", pin.Where, refusal))
			continue
		}
		s.pins[pin.Name] = Pin{Name: pin.Name, Value: value, Where: pin.Where}
	}
	return s, errors.Join(wrong...)
}

// Catalogue returns the declared settings.
func (s *Store) Catalogue() []Setting { return slices.Clone(s.catalogue) }

// Secrets returns the declared secrets of a scope.
func (s *Store) Secrets(scope Scope) []Setting {
	return slices.DeleteFunc(s.Catalogue(), func(one Setting) bool { return !one.Secret || one.Scope != scope })
}

// Pinned returns where the operator has set a setting or a secret, or "".
func (s *Store) Pinned(name string) string { return s.pins[name].Where }

// Subject is whose settings are meant: those of the hub, of a user or, with both fields, of a session
// of that user.
type Subject struct {
	User    string
	Session wire.SessionID
}

// scope returns the narrowest scope of the subject.
func (s Subject) scope() Scope {
	switch {
	case s.Session != "":
		return ScopeSession
	case s.User != "":
		return ScopeUser
	}
	return ScopeHub
}

// document returns the name of the subject's document in a scope, or "" if it has none.
func (s Subject) document(scope Scope) string {
	switch scope {
	case ScopeSession:
		return string(s.Session)
	case ScopeUser:
		return s.User
	default:
		return hubDocument
	}
}

// scopes lists the scopes from the widest.
func scopes() []Scope { return []Scope{ScopeHub, ScopeUser, ScopeSession} }

// layer holds the values of one document.
type layer struct {
	place   place
	name    string
	version uint64
	values  map[string]json.RawMessage
}

// layers reads the values of a subject, from the widest scope.
func (s *Store) layers(ctx context.Context, of Subject) ([]layer, error) {
	var all []layer
	for _, p := range places() {
		name := of.document(p.scope)
		if name == "" {
			continue
		}
		l, err := s.layer(ctx, p, name)
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

func (s *Store) layer(ctx context.Context, p place, name string) (layer, error) {
	l := layer{place: p, name: name, values: map[string]json.RawMessage{}}
	d, err := s.docs.Get(ctx, p.collection, name)
	if errors.Is(err, store.ErrNotFound) {
		return l, nil
	}
	if err != nil {
		return l, fmt.Errorf("read settings: %w", err)
	}
	l.version = d.Version
	if l.values, err = decodeLayer(d.Data); err != nil {
		return l, &store.CorruptError{Where: "document of " + p.collection, Reason: err.Error()}
	}
	return l, nil
}

// decodeLayer decodes a document. A null has the effect of an absent value.
func decodeLayer(data []byte) (map[string]json.RawMessage, error) {
	values, ok := decode[map[string]json.RawMessage](data, "{")
	if !ok {
		return nil, errors.New("no object of values")
	}
	for name, value := range values {
		if string(value) == "null" {
			delete(values, name)
		}
	}
	return values, nil
}
