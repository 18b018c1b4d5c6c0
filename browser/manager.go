package browser

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/chromedp/chromedp/kb"

	"github.com/everdesk/everdesk/fetch"
	"github.com/everdesk/everdesk/providers/outbound"
	"github.com/everdesk/everdesk/wire"
)

// Defaults of [Config].
const (
	DefaultMost = 4
	DefaultIdle = 10 * time.Minute
)

// watchInterval is the time between two looks at memory and idle time.
const watchInterval = 2 * time.Second

// maxMemory bounds the memory of a browser's processes that they do not share, in bytes.
const maxMemory = 1 << 30

// Errors of actions. Those of package fetch say that a page may not be shown.
var (
	// ErrBusy means that other sessions use all browsers.
	ErrBusy = errors.New("all browsers of the hub are in use; try again later")
	// ErrNoPage means that no page is open.
	ErrNoPage = errors.New("no page is open; open one first")
	// ErrURL means that an address is not that of a web page.
	ErrURL = errors.New("want the address of a web page, as in https://example.org/page")
	// ErrTimeout means that the page did not react in time.
	ErrTimeout = errors.New("the page did not react in time")
	// ErrLost means that the browser has ended, by itself or because it needed too much memory.
	ErrLost = errors.New("the browser has ended; open the page again")
	// ErrNoElement means that a page has no such element, or it is not visible.
	ErrNoElement = errors.New("the page shows no such element")
	// ErrNotEditable means that nothing can be typed into an element.
	ErrNotEditable = errors.New("nothing can be typed into the element")
	// ErrKey means that there is no such key.
	ErrKey = errors.New("there is no such key")
)

// Domains knows the domains that users have allowed; [fetch.Domains] implements it.
type Domains interface {
	// Of returns the domains that a user has allowed. The error is that of the store.
	Of(ctx context.Context, user string) (fetch.List, error)
}

// Config describes the browsers of a hub.
type Config struct {
	// Path is the program; see [Find].
	Path    string
	Domains Domains
	// Hosts are reachable although their addresses are not public.
	Hosts outbound.Hosts
	// Most is how many browsers run at once, and Idle how long one runs without use; 0 means the default.
	Most int
	Idle time.Duration
	// NoSandbox starts browsers without their own sandbox, which needs rights that root and some
	// containers do not have.
	NoSandbox bool
	Logger    *slog.Logger
}

// State is what a page is.
type State struct {
	URL   string `json:"url"`
	Title string `json:"title"`
}

// Link is a link of a page.
type Link struct {
	URL   string `json:"url"`
	Label string `json:"label"`
}

// Text is what a page says.
type Text struct {
	State `json:"-"`
	Text  string `json:"text"`
	Links []Link `json:"links"`
}

// Direction is where a page is scrolled.
type Direction string

// Directions.
const (
	Up     Direction = "up"
	Down   Direction = "down"
	Top    Direction = "top"
	Bottom Direction = "bottom"
)

// Find returns the path of an installed Chromium or Chrome.
func Find() (string, error) {
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("neither Chromium nor Chrome is installed")
}

// Manager has the browsers of sessions. It is safe for concurrent use.
type Manager struct {
	cfg  Config
	stop context.CancelFunc
	done chan struct{}

	mu       sync.Mutex
	closed   bool
	sessions map[wire.SessionID]*slot
}

// slot is the browser of a session.
type slot struct {
	// turn is held by the action that runs.
	turn chan struct{}
	// tab is nil before the first page and after the end of the browser; the holder of turn changes it.
	tab *tab
	// The following are guarded by Manager.mu: when the last action ended, the process of tab, and the page
	// that it showed.
	used    time.Time
	process *os.Process
	shown   State
}

// New returns a manager without browsers.
func New(cfg Config) *Manager {
	if cfg.Most <= 0 {
		cfg.Most = DefaultMost
	}
	if cfg.Idle <= 0 {
		cfg.Idle = DefaultIdle
	}
	ctx, cancel := context.WithCancel(context.Background())
	m := &Manager{cfg: cfg, stop: cancel, done: make(chan struct{}), sessions: map[wire.SessionID]*slot{}}
	go m.endUnused(ctx)
	return m
}

// Open shows a page in the browser of a session, which it starts if necessary. The domain must be one that
// the user has allowed.
func (m *Manager) Open(ctx context.Context, session wire.SessionID, user, address string) (State, error) {
	// First, so that no browser starts for a page that is refused.
	if err := checkPage(ctx, m.allowedFor(user), address, false); err != nil {
		return State{}, err
	}
	s, release, err := m.acquire(ctx, session, true)
	if err != nil {
		return State{}, err
	}
	defer release()
	if s.tab == nil {
		if s.tab, err = startTab(ctx, m.cfg, m.allowedFor(user)); err != nil {
			return State{}, err
		}
		m.mu.Lock()
		s.process = s.tab.process()
		m.mu.Unlock()
	}
	state, err := s.tab.open(ctx, address)
	m.record(s, state, err)
	return state, s.dropIfEnded(err)
}

// record stores the page that an action has led to.
func (m *Manager) record(s *slot, state State, err error) {
	if err == nil {
		m.mu.Lock()
		s.shown = state
		m.mu.Unlock()
	}
}

// Page returns the page of a session as the last action left it, and whether there is one.
func (m *Manager) Page(session wire.SessionID) (State, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.sessions[session]; s != nil {
		return s.shown, s.shown.URL != ""
	}
	return State{}, false
}

// allowedFor returns the check of pages for a user. It looks the domains up each time, so that a domain
// that was removed is not shown any more.
func (m *Manager) allowedFor(user string) func(context.Context, string) error {
	return func(ctx context.Context, host string) error {
		list, err := m.cfg.Domains.Of(ctx, user)
		if err != nil {
			return err
		}
		if !list.Allows(host) {
			return &fetch.DomainError{Domain: host}
		}
		return nil
	}
}

// Click clicks the element that a selector, or else a text, names.
func (m *Manager) Click(ctx context.Context, session wire.SessionID, selector, text string) (State, error) {
	return act(ctx, m, session, func(t *tab) (State, error) { return t.click(ctx, selector, text) })
}

// Type replaces the text of a field.
func (m *Manager) Type(ctx context.Context, session wire.SessionID, selector, text string) (State, error) {
	return act(ctx, m, session, func(t *tab) (State, error) { return t.write(ctx, selector, text) })
}

// Press presses a key: a character, or a name as in Enter, Tab, Escape or ArrowDown.
func (m *Manager) Press(ctx context.Context, session wire.SessionID, key string) (State, error) {
	named, ok := keys()[key]
	switch {
	case ok:
		key = named
	case len([]rune(key)) != 1:
		return State{}, fmt.Errorf("%w: %.40q", ErrKey, key)
	}
	return act(ctx, m, session, func(t *tab) (State, error) { return t.press(ctx, key) })
}

// keys returns the keys that have names.
func keys() map[string]string {
	return map[string]string{
		"Enter": kb.Enter, "Tab": kb.Tab, "Escape": kb.Escape, "Backspace": kb.Backspace, "Delete": kb.Delete, "Space": " ",
		"ArrowUp": kb.ArrowUp, "ArrowDown": kb.ArrowDown, "ArrowLeft": kb.ArrowLeft, "ArrowRight": kb.ArrowRight,
		"Home": kb.Home, "End": kb.End, "PageUp": kb.PageUp, "PageDown": kb.PageDown,
	}
}

// Scroll scrolls the page.
func (m *Manager) Scroll(ctx context.Context, session wire.SessionID, d Direction) (State, error) {
	return act(ctx, m, session, func(t *tab) (State, error) { return t.scroll(ctx, d) })
}

// Extract returns the text and the links of the page, or of the first element that a selector names.
func (m *Manager) Extract(ctx context.Context, session wire.SessionID, selector string) (Text, error) {
	return act(ctx, m, session, func(t *tab) (Text, error) { return t.extract(ctx, selector) })
}

// Screenshot returns what the page shows, as a JPEG.
func (m *Manager) Screenshot(ctx context.Context, session wire.SessionID) ([]byte, State, error) {
	var state State
	picture, err := act(ctx, m, session, func(t *tab) (picture []byte, err error) {
		picture, state, err = t.screenshot(ctx)
		return picture, err
	})
	return picture, state, err
}

// act runs an action on the page of a session.
func act[T any](ctx context.Context, m *Manager, session wire.SessionID, do func(*tab) (T, error)) (out T, err error) {
	s, release, err := m.acquire(ctx, session, false)
	if err != nil {
		return out, err
	}
	defer release()
	if s.tab == nil {
		return out, ErrNoPage
	}
	out, err = do(s.tab)
	if state, ok := any(out).(State); ok {
		m.record(s, state, err)
	}
	return out, s.dropIfEnded(err)
}

// dropIfEnded drops a browser that has ended.
func (s *slot) dropIfEnded(err error) error {
	if s.tab != nil && s.tab.lost() {
		s.tab.close()
		s.tab = nil
		return ErrLost
	}
	return err
}

// Close ends the browser of a session, if it has one.
func (m *Manager) Close(session wire.SessionID) {
	m.mu.Lock()
	s := m.sessions[session]
	delete(m.sessions, session)
	m.mu.Unlock()
	if s != nil {
		s.end()
	}
}

// end waits for the action that runs, and ends the browser.
func (s *slot) end() {
	s.turn <- struct{}{}
	if s.tab != nil {
		s.tab.close()
		s.tab = nil
	}
	<-s.turn
}

// Shutdown ends all browsers and waits for their end.
func (m *Manager) Shutdown() {
	m.stop()
	<-m.done
	m.mu.Lock()
	m.closed = true
	all := m.sessions
	m.sessions = map[wire.SessionID]*slot{}
	m.mu.Unlock()
	var wg sync.WaitGroup
	for _, s := range all {
		wg.Go(s.end)
	}
	wg.Wait()
}

// acquire returns the browser of a session when no other action uses it. If the session has none, a new
// one may take the place of the one that was not used for the longest time.
func (m *Manager) acquire(ctx context.Context, session wire.SessionID, start bool) (*slot, func(), error) {
	for {
		s, old, err := m.slotOf(session, start)
		if err != nil {
			return nil, nil, err
		}
		if old != nil {
			old.end()
		}
		select {
		case s.turn <- struct{}{}:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
		m.mu.Lock()
		current := m.sessions[session] == s
		m.mu.Unlock()
		if current {
			return s, func() { m.release(session, s) }, nil
		}
		<-s.turn // another action has ended this browser; nothing would end one that starts in its place
	}
}

// slotOf returns the slot of a session's browser, which it makes if start is set, and the browser to end for that.
func (m *Manager) slotOf(session wire.SessionID, start bool) (s, old *slot, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s = m.sessions[session]; s != nil {
		return s, nil, nil
	}
	switch {
	case m.closed:
		return nil, nil, ErrLost
	case !start:
		return nil, nil, ErrNoPage
	case len(m.sessions) >= m.cfg.Most:
		if old = m.evict(); old == nil {
			return nil, nil, ErrBusy
		}
	}
	s = &slot{turn: make(chan struct{}, 1), used: time.Now()}
	m.sessions[session] = s
	return s, old, nil
}

// minIdle is how long a browser must be idle before another session may take its place.
const minIdle = 30 * time.Second

// evict removes the browser that was not used for the longest time, and returns it; nil if all are in use.
// The caller holds mu.
func (m *Manager) evict() *slot {
	var oldest wire.SessionID
	for id, s := range m.sessions {
		if len(s.turn) == 0 && time.Since(s.used) >= minIdle && (oldest == "" || s.used.Before(m.sessions[oldest].used)) {
			oldest = id
		}
	}
	s := m.sessions[oldest]
	delete(m.sessions, oldest)
	return s
}

// release ends an action.
func (m *Manager) release(session wire.SessionID, s *slot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.used = time.Now()
	if s.tab == nil {
		s.process = nil
		if m.sessions[session] == s {
			delete(m.sessions, session)
		}
	}
	<-s.turn // a Close that waits for this ends the browser
}

// endUnused ends browsers that are idle or too large, until ctx ends.
func (m *Manager) endUnused(ctx context.Context) {
	defer close(m.done)
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		m.mu.Lock()
		var idle []wire.SessionID
		large := map[wire.SessionID]*os.Process{}
		for id, s := range m.sessions {
			if len(s.turn) == 0 && time.Since(s.used) >= m.cfg.Idle {
				idle = append(idle, id)
			}
			if s.process != nil && memoryOf(s.process.Pid) > maxMemory {
				large[id] = s.process
			}
		}
		m.mu.Unlock()
		for id, p := range large {
			m.cfg.Logger.Warn("browser needs too much memory and is ended", "session", id)
			_ = p.Kill() // the action that runs sees that it is lost
			if !slices.Contains(idle, id) {
				idle = append(idle, id)
			}
		}
		for _, id := range idle {
			m.Close(id)
		}
	}
}
