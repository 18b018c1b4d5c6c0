package mcpclient

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"sync"
)

// setList stores the tools of a server.
func (m *Manager) setList(key string, all []Tool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.lists) > 10_000 {
		clear(m.lists)
	}
	m.lists[key] = &list{all}
}

// Prepare makes the tools of the servers of a user known: it starts those whose tools are not known and waits for them
// for at most PrepareTimeout of the [Config], but not for those that failed before. A server that fails has no tools.
func (m *Manager) Prepare(ctx context.Context, at Place) {
	ctx, cancel := context.WithTimeout(ctx, m.times.prepare)
	defer cancel()
	m.prepare(ctx, at, func(Server) bool { return true })
}

// prepare is Prepare for some servers, and waits until they have started.
func (m *Manager) prepare(ctx context.Context, at Place, wanted func(Server) bool) {
	all, _, err := m.sources(ctx, at.User)
	if err != nil {
		m.cfg.Logger.WarnContext(ctx, "MCP servers of a user are not available", "user", at.User, "err", err)
		return
	}
	var wg sync.WaitGroup
	for _, s := range all {
		m.mu.Lock()
		known := m.lists[listKey(s, at.User)] != nil
		m.mu.Unlock()
		if s.Disabled || known || !wanted(s.Server) {
			continue
		}
		i, release, err := m.claim(s, at)
		if err != nil {
			continue
		}
		wg.Go(func() {
			defer release()
			if i.startUnlessFailed() {
				_ = i.awaitReady(ctx) // the log of the server has the error
			}
		})
	}
	wg.Wait()
}

// Tools returns the known tools of a user that agents may call, ordered by server.
func (m *Manager) Tools(user string) []Tool {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	all, _, err := m.sources(ctx, user)
	if err != nil {
		m.cfg.Logger.WarnContext(ctx, "MCP servers of a user are not available", "user", user, "err", err)
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Tool
	for _, s := range all {
		l := m.lists[listKey(s, user)]
		if s.Disabled || l == nil {
			continue
		}
		for i := range l.tools {
			if l.tools[i].isForModels() {
				out = append(out, l.tools[i])
			}
		}
	}
	return out
}

// Find returns a tool of a user by its name for models. If it is not known, its server is started, for which Find waits
// however long that takes.
func (m *Manager) Find(ctx context.Context, at Place, name string) (Tool, bool) {
	if !strings.HasPrefix(name, Prefix) {
		return Tool{}, false
	}
	find := func() (Tool, bool) {
		all := m.Tools(at.User)
		i := slices.IndexFunc(all, func(t Tool) bool { return t.ModelName == name })
		if i < 0 {
			return Tool{}, false
		}
		return all[i], true
	}
	if t, ok := find(); ok {
		return t, true
	}
	// After a restart of the hub a conversation may name tools that are not known yet.
	m.prepare(ctx, at, func(s Server) bool { return strings.HasPrefix(name, Prefix+serverPart(s.Name)+"__") })
	return find()
}

// Revision changes when the tools of a user change.
func (m *Manager) Revision(user string) string {
	var b strings.Builder
	for _, t := range m.Tools(user) {
		b.WriteString(t.ModelName + "\x00" + t.Description + "\x00")
		b.Write(t.Schema)
	}
	if b.Len() == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:8])
}

// Call calls a tool of a server. An error that is a [*UncertainError] means that the call may or may not have run;
// others mean that it did not, unless ctx ended.
func (m *Manager) Call(ctx context.Context, at Place, server string, c Call) (r Result, err error) {
	err = m.withInstance(ctx, at, server, func(_ source, i *instance) error {
		r, err = i.callTool(ctx, at, c)
		return err
	})
	return r, err
}

// maxReplaced bounds how often in a row a call finds its instance replaced.
const maxReplaced = 5

// withInstance calls f with the instance of an enabled server, and with the next one if the instance was replaced meanwhile: what
// changes a server or a secret takes effect on this replica a moment after it is stored.
func (m *Manager) withInstance(ctx context.Context, at Place, server string, f func(source, *instance) error) (err error) {
	for range maxReplaced {
		var s source
		if s, err = m.enabledSource(ctx, at.User, server); err != nil {
			return err
		}
		var i *instance
		var release func()
		if i, release, err = m.claim(s, at); err != nil {
			return err
		}
		err = f(s, i)
		release()
		if !errors.Is(err, errReplaced) {
			return err
		}
	}
	return err
}

// enabledSource returns an enabled server of a user.
func (m *Manager) enabledSource(ctx context.Context, user, name string) (source, error) {
	s, err := m.sourceOf(ctx, user, name)
	if err == nil && s.Disabled {
		err = errors.New("the MCP server " + s.Name + " is disabled")
	}
	return s, err
}

// sourceOf returns a server of a user by its name.
func (m *Manager) sourceOf(ctx context.Context, user, name string) (source, error) {
	all, _, err := m.sources(ctx, user)
	if err != nil {
		return source{}, err
	}
	i := slices.IndexFunc(all, func(s source) bool { return s.Name == name })
	if i < 0 {
		return source{}, ErrNotFound
	}
	return all[i], nil
}
