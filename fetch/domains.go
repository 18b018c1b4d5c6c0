package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/idna"

	"github.com/everdesk/everdesk/store"
)

// collection has one document for each user.
const collection = "domains"

// MaxDomains bounds the domains of a user.
const MaxDomains = 500

// editTries bounds the attempts to change a document that is changed concurrently.
const editTries = 10

// Errors of domains.
var (
	// ErrName means that a text is not the name of a domain.
	ErrName = errors.New("want the name of a domain, as in example.org")
	// ErrTooMany means that a user has allowed [MaxDomains].
	ErrTooMany = fmt.Errorf("at most %d domains can be allowed", MaxDomains)
	// ErrContended means that others changed the domains all the time.
	ErrContended = errors.New("the domains are changed elsewhere at the same time; try again")
)

// Documents stores the domains. It is a part of a store.
type Documents interface {
	// Get returns a document with its version, or [store.ErrNotFound].
	Get(ctx context.Context, collection, name string) (store.Document, error)
	// Put writes a document if the stored version is d.Version (0: none), else the error is
	// [store.ErrConflict]. It returns the new version.
	Put(ctx context.Context, d store.Document) (version uint64, err error)
}

// List has the domains that a user has allowed.
type List struct {
	// All allows every domain with a public address.
	All   bool     `json:"allowAllDomains"`
	Names []string `json:"domains"`
}

// Allows reports whether a host is allowed. Names match exactly, because a subdomain may have another
// owner.
func (l List) Allows(host string) bool {
	return l.All || slices.Contains(l.Names, strings.TrimSuffix(strings.ToLower(host), "."))
}

// Domains keeps the domains of users.
type Domains struct{ documents Documents }

// NewDomains returns the domains in a store.
func NewDomains(d Documents) *Domains { return &Domains{d} }

// Of returns the domains of a user.
func (d *Domains) Of(ctx context.Context, user string) (List, error) {
	l, _, err := d.load(ctx, user)
	return l, err
}

func (d *Domains) load(ctx context.Context, user string) (List, uint64, error) {
	l := List{Names: []string{}}
	doc, err := d.documents.Get(ctx, collection, user)
	if errors.Is(err, store.ErrNotFound) {
		return l, 0, nil
	}
	if err == nil {
		err = json.Unmarshal(doc.Data, &l)
	}
	if err != nil {
		return List{}, 0, fmt.Errorf("read the allowed domains: %w", err)
	}
	if l.Names == nil {
		l.Names = []string{}
	}
	return l, doc.Version, nil
}

// Change is a change of the domains of a user.
type Change struct {
	// All, unless nil, sets whether every domain is allowed.
	All           *bool
	Allow, Remove []string
}

// Allow adds a domain. One that is there already is no error.
func (d *Domains) Allow(ctx context.Context, user, name string) (List, error) {
	return d.Change(ctx, user, Change{Allow: []string{name}})
}

// Change changes the domains of a user and returns them. A domain that is allowed already, or is not
// there to be removed, is no error.
func (d *Domains) Change(ctx context.Context, user string, c Change) (List, error) {
	allow, err := names(c.Allow)
	if err != nil {
		return List{}, err
	}
	remove, err := names(c.Remove)
	if err != nil {
		return List{}, err
	}
	return d.edit(ctx, user, func(l *List) error {
		if c.All != nil {
			l.All = *c.All
		}
		l.Names = slices.DeleteFunc(l.Names, func(n string) bool { return slices.Contains(remove, n) })
		for _, name := range allow {
			if !slices.Contains(l.Names, name) {
				l.Names = append(l.Names, name)
			}
		}
		if len(l.Names) > MaxDomains {
			return ErrTooMany
		}
		return nil
	})
}

// names returns names in the form in which they are compared.
func names(texts []string) ([]string, error) {
	out := make([]string, len(texts))
	for i, t := range texts {
		var err error
		if out[i], err = Name(t); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// edit changes the domains of a user. It calls change again after a conflict with a concurrent change.
func (d *Domains) edit(ctx context.Context, user string, change func(*List) error) (List, error) {
	for range editTries {
		l, version, err := d.load(ctx, user)
		if err != nil {
			return List{}, err
		}
		if err := change(&l); err != nil {
			return List{}, err
		}
		data, err := json.Marshal(l)
		if err == nil {
			_, err = d.documents.Put(ctx, store.Document{Collection: collection, Name: user, Version: version, Data: data})
		}
		switch {
		case err == nil:
			return l, nil
		case !errors.Is(err, store.ErrConflict):
			return List{}, fmt.Errorf("write the allowed domains: %w", err)
		}
	}
	return List{}, ErrContended
}

// Name returns the name of a domain in the form in which names are compared: lower case, without a
// dot at the end, and in ASCII. An IP address is a name, too.
func Name(text string) (string, error) {
	text = strings.TrimSuffix(strings.ToLower(strings.TrimSpace(text)), ".")
	if a, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil && a.Zone() == "" {
		return a.String(), nil
	}
	name, err := idna.Lookup.ToASCII(text)
	if err != nil || name == "" || len(name) > 253 || strings.ContainsAny(name, ":/@*?#[]% ") {
		return "", ErrName
	}
	return name, nil
}
