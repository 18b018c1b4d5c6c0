package backends

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/providers"
)

// provider is the provider of one profile. Its sessions belong to backends that [Backends] owns.
type provider struct {
	backends       *Backends
	user, id, name string
	revision       string
	caps           providers.Caps
}

var _ providers.Provider = (*provider)(nil)

// Name implements [providers.Provider].
func (p *provider) Name() string { return p.name }

// Caps implements [providers.Provider].
func (p *provider) Caps() providers.Caps { return p.caps }

// Revision changes when the profile changes. Sessions of another revision are not to be reused.
func (p *provider) Revision() string { return p.revision }

// Close implements [providers.Provider]. The backends stay open, because they are not its own.
func (p *provider) Close() error { return nil }

// revision identifies the content of a profile.
func revision(p profiles.Profile, changes int) string {
	data, err := json.Marshal(p) //nolint:gosec // its field Secret is the name of a secret
	if err != nil {
		return "" // cannot happen: prices are checked
	}
	sum := sha256.Sum256(append(data, strconv.Itoa(changes)...))
	return hex.EncodeToString(sum[:12])
}

// Open implements [providers.Provider]. It reads the profile and its key.
func (p *provider) Open(ctx context.Context, spec providers.Spec) (providers.Session, error) {
	set, err := p.backends.cfg.Profiles.Read(ctx, p.user)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(set.Profiles, func(o profiles.Profile) bool { return o.ID == p.id && o.Pinned == "" })
	if i < 0 {
		return nil, invalid(fmt.Errorf("there is no model profile %q any more", p.id))
	}
	profile := set.Profiles[i]
	key := ""
	if profile.Secret != "" {
		if key, err = p.backends.cfg.Key(ctx, p.user, profile.Secret); err != nil {
			return nil, invalid(fmt.Errorf("the key of the model profile %q, secret %q: %w", profile.Name, profile.Secret, err))
		}
	}
	backend, release, err := p.backends.acquire(profile, key)
	if err != nil {
		return nil, invalid(fmt.Errorf("model profile %q: %w", profile.Name, err))
	}
	session, err := backend.Open(ctx, specOf(profile, backend.Name(), spec))
	if err != nil {
		release()
		return nil, err
	}
	return &heldSession{Session: session, release: sync.OnceFunc(release)}, nil
}

// invalid returns the failure of a turn that cannot succeed until the user changes something.
func invalid(err error) error {
	if _, ok := errors.AsType[*providers.Failure](err); ok {
		return err
	}
	return &providers.Failure{Class: providers.Invalid, Err: err}
}

// specOf returns the spec of a session with the settings of a profile.
func specOf(p profiles.Profile, backend string, spec providers.Spec) providers.Spec {
	if p.Model != "" {
		spec.Model = p.Model
	}
	spec.Effort = p.Effort
	if spec.From.Provider == p.ID { // the hub stores the id of the profile as that of the provider
		spec.From.Provider = backend
	} else {
		spec.From.ID = "" // a conversation of another account
	}
	if p.Prices == nil {
		return spec
	}
	deliver, onCall := spec.OnEvent, spec.OnModelCall
	spec.OnEvent = func(e providers.Event) {
		if e.Kind == providers.EventUsage {
			e.Usage = priced(p.Prices, e.Usage)
		}
		deliver(e)
	}
	if onCall != nil {
		spec.OnModelCall = func(c providers.ModelCall) {
			c.Usage = priced(p.Prices, c.Usage)
			onCall(c)
		}
	}
	return spec
}

// priced returns usage with the cost of a profile's prices.
func priced(prices *profiles.Prices, u providers.Usage) providers.Usage {
	cost, known := prices.Cost(profiles.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite})
	u.USD, u.Unpriced = cost, !known
	return u
}

// heldSession is a session that keeps its backend open.
type heldSession struct {
	providers.Session
	release func()
}

// Close implements [providers.Session].
func (s *heldSession) Close() error {
	err := s.Session.Close()
	s.release()
	return err
}
