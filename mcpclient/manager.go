package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/everdesk/everdesk/providers/jsonline"
	"github.com/everdesk/everdesk/providers/outbound"
	"github.com/everdesk/everdesk/secrets"
)

// Bounds of a manager.
const (
	// maxInstances bounds the instances of a replica that run, and maxOfUser those of one user.
	maxInstances = 64
	maxOfUser    = 12
	// maxStopped bounds the instances that are kept for their log.
	maxStopped = 512
	// cacheTime is how long the servers of a user are used without reading them again. Changes on this
	// replica, and those that are published, count at once.
	cacheTime = 5 * time.Second
	// readTimeout bounds reading them where the caller has no context.
	readTimeout = 2 * time.Second
)

// Config holds the settings of a [Manager]. Durations that are zero mean the default.
type Config struct {
	// Operator has the servers of the operator.
	Operator []Server
	Store    *Store
	Secrets  Secrets
	// Hosts are the servers that users may reach although their addresses are not public.
	Hosts outbound.Hosts
	// Env looks up variables of the hub's environment for entries of the operator, as [os.LookupEnv] does.
	Env func(string) (string, bool)
	// Dir is the folder in which programs run whose entry names none. It is created when needed.
	Dir     string
	Version string
	Logger  *slog.Logger

	// StartTimeout, PrepareTimeout, IdleTimeout, FirstPause, MaxPause and Silence replace the default durations.
	StartTimeout, PrepareTimeout, IdleTimeout, FirstPause, MaxPause, Silence time.Duration
}

// Manager runs MCP servers. Create it with [NewManager].
type Manager struct {
	cfg      Config
	times    timing
	operator map[string]*outbound.Client // for remote servers of the operator, by URL
	users    *outbound.Client            // for those of users

	wg    sync.WaitGroup
	views views

	mu        sync.Mutex // guards the following; not held while blocking
	closed    bool
	cached    map[string]cachedSet
	changes   uint64 // counts the calls of Invalidate
	instances map[string]*entry
	lists     map[string]*list
}

// cachedSet is what a user had when it was read.
type cachedSet struct {
	set  Set
	read time.Time
}

// entry is an instance with what it belongs to.
type entry struct {
	*instance
	// claims counts the callers that have the instance and may be about to start it; Manager.mu guards it.
	claims  int
	user    string // "" for the scope hub
	session string // "" unless for one session
	name    string
	// another returns an instance that replaces this one, with the same log.
	another func(log *ring) *instance
}

// list is the tools of a server, as they were listed last.
type list struct{ tools []Tool }

// NewManager returns a manager without running servers.
func NewManager(cfg Config) *Manager {
	cfg.Hosts = cfg.Hosts.WithSetting("--web-hosts")
	m := &Manager{
		cfg: cfg, operator: map[string]*outbound.Client{}, users: cfg.Hosts.Client(maxStream), cached: map[string]cachedSet{},
		instances: map[string]*entry{}, lists: map[string]*list{},
		times: timing{
			start: cmp.Or(cfg.StartTimeout, time.Minute), prepare: cmp.Or(cfg.PrepareTimeout, 20*time.Second), idle: cmp.Or(cfg.IdleTimeout, 5*time.Minute),
			firstPause: cmp.Or(cfg.FirstPause, time.Second), maxPause: cmp.Or(cfg.MaxPause, 5*time.Minute), steady: time.Minute,
			maxWait: 5 * time.Second, debounce: 200 * time.Millisecond, silence: cmp.Or(cfg.Silence, 5*time.Minute),
		},
	}
	for _, s := range cfg.Operator {
		if s.Type != Stdio {
			m.operator[s.Name] = cfg.Hosts.With(expandEnv(s.URL, cfg.Env)).Client(maxStream)
		}
	}
	return m
}

// Close ends all servers and returns when nothing of them is left.
func (m *Manager) Close() {
	m.mu.Lock()
	m.closed = true
	for _, e := range m.instances {
		e.end()
	}
	m.mu.Unlock()
	m.wg.Wait()
	m.users.Close()
	for _, c := range m.operator {
		c.Close()
	}
}

// source is a server with who configured it.
type source struct {
	Server
	ofUser bool
}

// sources returns the servers that a user has. Those of the operator come first.
func (m *Manager) sources(ctx context.Context, user string) ([]source, uint64, error) {
	var out []source
	for _, s := range m.cfg.Operator {
		out = append(out, source{s, false})
	}
	if m.cfg.Store == nil || user == "" {
		return out, 0, nil
	}
	set, err := m.setOf(ctx, user)
	if err != nil {
		return nil, 0, err
	}
	for _, s := range set.Servers {
		if !slices.ContainsFunc(m.cfg.Operator, func(o Server) bool { return o.Name == s.Name }) {
			out = append(out, source{s, true})
		}
	}
	return out, set.Version, nil
}

// setOf returns the servers of a user, which may be as old as cacheTime.
func (m *Manager) setOf(ctx context.Context, user string) (Set, error) {
	m.mu.Lock()
	c, ok := m.cached[user]
	before := m.changes
	m.mu.Unlock()
	if ok && time.Since(c.read) < cacheTime {
		return c.set, nil
	}
	set, err := m.cfg.Store.Read(ctx, user)
	if err != nil {
		return Set{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.changes != before { // the set may be older than a change that counts already
		return set, nil
	}
	if len(m.cached) > 10_000 {
		clear(m.cached)
	}
	m.cached[user] = cachedSet{set, time.Now()}
	m.endChanged(user, set)
	return set, nil
}

// endChanged ends the instances of a user whose entry has changed or is gone. The caller holds mu.
func (m *Manager) endChanged(user string, set Set) {
	for key, e := range m.instances {
		if e.user != user || slices.ContainsFunc(m.cfg.Operator, func(s Server) bool { return s.Name == e.name }) {
			continue
		}
		if !slices.ContainsFunc(set.Servers, func(s Server) bool { return s.Name == e.name && s.hash() == e.server.hash() }) {
			e.end()
			delete(m.instances, key)
		}
	}
}

// Store returns the servers of users.
func (m *Manager) Store() *Store { return m.cfg.Store }

// Invalidate makes changed servers and secrets of a user count; an empty user means the hub. Instances that use one
// of the secrets are started again when they are needed next; their logs go on.
func (m *Manager) Invalidate(user string, secrets ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changes++
	delete(m.cached, user)
	for key, e := range m.instances {
		uses := func(name string) bool { return slices.Contains(secretsOf(e.server), name) }
		if e.user == user && slices.ContainsFunc(secrets, uses) {
			e.end()
			next := *e
			next.instance, next.claims = e.another(e.log), 0
			m.instances[key] = &next
		}
	}
}

// CloseSession ends the instances of a session that leaves this replica.
func (m *Manager) CloseSession(session string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, e := range m.instances {
		if e.session != "" && e.session == session {
			e.end()
			delete(m.instances, key)
		}
	}
}

// Place says for whom a server is used.
type Place struct{ User, Session string }

// listKey returns the key of the tools of a server: they are the same for all its instances.
func listKey(s source, user string) string {
	if s.scope(s.ofUser) == ScopeHub {
		user = ""
	}
	return user + "\x00" + s.Name + "\x00" + s.hash()
}

// claim returns the instance of a server for a place. Until the caller calls release, the instance counts as one that
// runs, because the caller may start it at any moment.
func (m *Manager) claim(s source, at Place) (i *instance, release func(), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, err := m.entryOf(s, at)
	if err != nil {
		return nil, nil, err
	}
	e.claims++
	return e.instance, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		e.claims--
	}, nil
}

// entryOf returns the instance of a server for a place. The caller holds mu.
func (m *Manager) entryOf(s source, at Place) (*entry, error) {
	e := &entry{name: s.Name}
	key := "hub"
	switch s.scope(s.ofUser) {
	case ScopeUser:
		e.user, key = at.User, "user\x00"+at.User
	case ScopeSession:
		e.user, e.session, key = at.User, at.Session, "session\x00"+at.User+"\x00"+at.Session
	}
	key += "\x00" + s.Name + "\x00" + s.hash()
	if m.closed {
		return nil, errors.New("the hub is stopping")
	}
	known := m.instances[key]
	if known == nil || known.claims == 0 && !known.isRunning() { // the caller starts it, so it counts as one more
		if err := m.makeRoom(e.user, known == nil); err != nil {
			return nil, err
		}
	}
	if known != nil {
		return known, nil
	}
	of := listKey(s, at.User)
	user := e.user
	e.another = func(log *ring) *instance {
		return &instance{
			server: s.Server, client: mcp.Implementation{Name: "everdesk", Title: "Everdesk", Version: m.cfg.Version}, times: m.times, log: log,
			open:  func(ctx context.Context, log *ring) (mcp.Transport, error) { return m.open(ctx, s, user, log) },
			spawn: m.wg.Go, listed: func(all []Tool) { m.setList(of, all) },
			state: Stopped, changed: make(chan struct{}), calls: map[*call]bool{},
		}
	}
	e.instance = e.another(&ring{})
	m.instances[key] = e
	return e, nil
}

// textsOf returns the texts of an entry that may have variables.
func textsOf(s Server) []string {
	out := append([]string{s.Command, s.Cwd, s.URL}, s.Args...)
	for _, all := range []map[string]string{s.Env, s.Headers} {
		for _, v := range all {
			out = append(out, v)
		}
	}
	return out
}

// makeRoom makes room for one more instance that runs. It ends idle ones if there are too many. isNew says that the manager does
// not have the instance yet. The caller holds mu.
func (m *Manager) makeRoom(user string, isNew bool) error {
	running, ofUser := 0, 0
	var idle, idleOfUser, stopped string // keys
	for key, e := range m.instances {
		e.mu.Lock()
		state, calls := e.state, len(e.calls)
		e.mu.Unlock()
		if (state == Stopped || state == Failed) && e.claims == 0 {
			stopped = key
			continue
		}
		isIdle := calls == 0 && e.claims == 0 && state == Ready
		running++
		if isIdle {
			idle = key
		}
		if user != "" && e.user == user {
			ofUser++
			if isIdle {
				idleOfUser = key
			}
		}
	}
	drop := func(key string) error {
		if key == "" {
			return fmt.Errorf("too many MCP servers run; at most %d, and %d of one user", maxInstances, maxOfUser)
		}
		m.instances[key].end()
		delete(m.instances, key)
		return nil
	}
	switch {
	case ofUser >= maxOfUser:
		return drop(idleOfUser)
	case running >= maxInstances:
		return drop(idle)
	case isNew && len(m.instances) >= maxStopped && stopped != "":
		return drop(stopped)
	}
	return nil
}

// minHidden is the length in bytes from which on a value of a file of variables is removed from logs and errors. Shorter
// ones, such as true, are words of other texts.
const minHidden = 8

// envFileOfUser says why a server of a user cannot name a file.
const envFileOfUser = "files are read for servers of the operator only; put the variables into env, with ${secret:NAME} for secrets"

// open returns the transport to a server. user is whose secrets it gets; "" means those of the hub.
func (m *Manager) open(ctx context.Context, s source, user string, log *ring) (mcp.Transport, error) {
	e := &expander{secrets: m.cfg.Secrets, owner: secrets.Owner{User: user}}
	if !s.ofUser {
		e.env = m.cfg.Env
		e.home, _ = os.UserHomeDir() // a variable without a value is an error when it is used
	}
	if s.ofUser && s.EnvFile != "" {
		return nil, wrong(s.Name+".envFile", envFileOfUser)
	}
	server, err := e.expand(ctx, s.Server)
	if err != nil {
		return nil, err
	}
	added, err := server.addEnvFile()
	if err != nil {
		return nil, err
	}
	for _, value := range added {
		if len(value) >= minHidden {
			e.used = append(e.used, value)
		}
	}
	log.hide(e.used)
	switch {
	case server.Type != Stdio && !isURL(server.URL):
		return nil, errors.New("the URL is not valid after its variables were replaced")
	case server.Type != Stdio:
		return remote(server, m.clientOf(s).Client), nil
	case s.ofUser && !m.cfg.Store.AllowsPrograms():
		return nil, ErrStdio
	}
	dir := server.Cwd
	if dir == "" {
		dir = m.cfg.Dir
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("create the folder of MCP servers: %w", err)
		}
	}
	return &program{log: log, cfg: jsonline.Config{Path: server.Command, Args: server.Args, Dir: dir, Env: environment(server.Env), Secrets: e.used}}, nil
}

// clientOf returns the HTTP client for a remote server.
func (m *Manager) clientOf(s source) *outbound.Client {
	if !s.ofUser {
		return m.operator[s.Name]
	}
	return m.users
}

// environment returns the environment of a program: what its entry declares, and what programs need to be found and
// to run.
func environment(declared map[string]string) []string {
	var out []string
	for _, name := range []string{"PATH", "HOME", "LANG", "TMPDIR", "TZ", "SystemRoot", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TEMP"} {
		if v, ok := os.LookupEnv(name); ok && declared[name] == "" {
			out = append(out, name+"="+v)
		}
	}
	for name, v := range declared {
		out = append(out, name+"="+v)
	}
	slices.Sort(out)
	return out
}
