package backends

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/providers"
)

// instance is an open backend that was made for profiles with the same settings and key.
type instance struct {
	backend providers.Provider
	uses    int       // open sessions
	idle    time.Time // since when there is none
}

// acquire returns the backend of a profile with a key. Call release when it is not used any more.
func (b *Backends) acquire(p profiles.Profile, key string) (_ providers.Provider, release func(), err error) {
	id, err := instanceID(p, key)
	if err != nil {
		return nil, nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, nil, providers.ErrClosed
	}
	i := b.instances[id]
	if i == nil {
		backend, own, err := b.cfg.Open(p, key)
		if err != nil {
			return nil, nil, err
		}
		if !own {
			return backend, func() {}, nil
		}
		i = &instance{backend: backend}
		b.instances[id] = i
	}
	i.uses++
	return i.backend, func() { b.release(i) }, nil
}

// instanceID identifies what a backend is made from. It does not reveal the key.
func instanceID(p profiles.Profile, key string) (string, error) {
	p.ID, p.Name, p.Prices, p.Effort = "", "", nil, ""
	data, err := json.Marshal([]any{p, key})
	if err != nil {
		return "", fmt.Errorf("encode the profile: %w", err)
	}
	sum := sha256.Sum256(data)
	return string(sum[:]), nil
}

// release ends one use of an instance. It stays open for the next one, unless too many are idle.
func (b *Backends) release(i *instance) {
	b.mu.Lock()
	i.uses--
	i.idle = time.Now()
	var oldest *instance
	idle, oldestID := 0, ""
	for id, o := range b.instances {
		if o.uses > 0 {
			continue
		}
		idle++
		if oldest == nil || o.idle.Before(oldest.idle) {
			oldest, oldestID = o, id
		}
	}
	if idle <= maxIdle {
		oldest = nil
	} else {
		delete(b.instances, oldestID)
	}
	b.mu.Unlock()
	if oldest != nil {
		if err := oldest.backend.Close(); err != nil {
			b.cfg.Logger.Warn("closing a backend failed", "backend", oldest.backend.Name(), "err", err)
		}
	}
}

// Close closes the backends that were opened for profiles, with their sessions.
func (b *Backends) Close() error {
	b.mu.Lock()
	b.closed = true
	all := b.instances
	b.instances = map[string]*instance{}
	b.mu.Unlock()
	b.stop()
	b.wg.Wait()
	var errs []error
	for _, i := range all {
		errs = append(errs, i.backend.Close())
	}
	return errors.Join(errs...)
}
