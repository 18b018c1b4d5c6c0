package mcpclient

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Status describes a server of a user as it is on this replica.
type Status struct {
	Server
	// OfUser says that the user configured it, not the operator.
	OfUser bool
	Scope  Scope
	State  State
	// Error is the last failure, or empty. RetryAt is when the pause after it ends.
	Error   string
	RetryAt time.Time
	// Secrets are the names of the secrets that the entry refers to.
	Secrets []string
	Tools   []Tool
	Calls   int
}

// Status returns all servers of a user and the version of those that the user configured.
func (m *Manager) Status(ctx context.Context, at Place) ([]Status, uint64, error) {
	all, version, err := m.sources(ctx, at.User)
	if err != nil {
		return nil, 0, err
	}
	out := make([]Status, 0, len(all))
	for _, s := range all {
		one := Status{Server: s.Server, OfUser: s.ofUser, Scope: s.scope(s.ofUser), State: Stopped, Secrets: secretsOf(s.Server)}
		m.mu.Lock()
		if l := m.lists[listKey(s, at.User)]; l != nil {
			one.Tools = l.tools
		}
		m.mu.Unlock()
		for _, e := range m.instancesOf(s, at) {
			e.mu.Lock()
			one.Calls += len(e.calls)
			if rank(e.state) >= rank(one.State) {
				one.State = e.state
			}
			if e.err != nil {
				one.Error, one.RetryAt = e.err.Error(), e.retryAt
			}
			e.mu.Unlock()
		}
		if one.State == Ready {
			one.RetryAt = time.Time{}
		}
		out = append(out, one)
	}
	return out, version, nil
}

// lastLines returns the newest lines of several logs in the order of their times.
func lastLines(all []Line) []Line {
	slices.SortStableFunc(all, func(a, b Line) int { return a.Time.Compare(b.Time) })
	return all[max(len(all)-logLines, 0):]
}

// rank orders the states: the one with the highest rank is shown for all instances of a server.
func rank(s State) int {
	return map[State]int{Stopped: 0, Stopping: 1, Failed: 2, Starting: 3, Ready: 4}[s]
}

// secretsOf returns the names of the secrets in an entry.
func secretsOf(s Server) []string {
	var out []string
	seen := map[string]bool{}
	for _, text := range textsOf(s) {
		for _, match := range variables.FindAllStringSubmatch(text, -1) {
			if name, ok := secretName(match[1]); ok && !seen[name] {
				seen[name] = true
				out = append(out, name)
			}
		}
	}
	return out
}

// instancesOf returns the instances of a server that a user has.
func (m *Manager) instancesOf(s source, at Place) []*entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*entry
	for _, e := range m.instances {
		if e.name == s.Name && (e.user == "" || e.user == at.User) && e.server.hash() == s.hash() {
			out = append(out, e)
		}
	}
	return out
}

// Log returns the last lines about a server, oldest first.
func (m *Manager) Log(ctx context.Context, at Place, name string) ([]Line, error) {
	s, err := m.sourceOf(ctx, at.User, name)
	if err != nil {
		return nil, err
	}
	var out []Line
	for _, e := range m.instancesOf(s, at) {
		out = append(out, e.log.all()...)
	}
	return lastLines(out), nil
}

// Try starts a server, also in the pause after a failure, and lists its tools. Its error is that of the start.
func (m *Manager) Try(ctx context.Context, at Place, name string) error {
	at.Session = cmp.Or(at.Session, "try") // a server of sessions gets one of its own
	return m.withInstance(ctx, at, name, func(_ source, i *instance) error {
		i.skipPause()
		return i.awaitReady(ctx)
	})
}
