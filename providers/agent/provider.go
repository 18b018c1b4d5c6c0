package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"

	"github.com/everdesk/everdesk/providers"
)

// Backend is a running agent with one conversation. A method returns when the agent has accepted
// the request; what follows is reported to the [Session]. Start, Steer and Interrupt are not called
// concurrently.
type Backend interface {
	// ID returns the agent's own id of the conversation.
	ID() string
	// Start begins a turn; none is running.
	Start(ctx context.Context, m Message) error
	// Steer gives the running turn a message. The error is [providers.ErrIdle] if the turn has
	// ended meanwhile.
	Steer(ctx context.Context, m Message) error
	// Interrupt asks the agent to end its turn.
	Interrupt(ctx context.Context) error
	// Answer answers a question, see [Session.Ask].
	Answer(ctx context.Context, question string, d providers.Decision) error
	// Close ends the program. Nothing is reported any more when it returns.
	Close() error
}

// Message is a message for an agent.
type Message struct {
	// ID is the hub's id, by which [Session.Taken] reports it.
	ID     string
	Text   string
	Images []providers.Image
	// Calling says that a tool call of the turn is running, and Asking that a question is open.
	Calling, Asking bool
}

// Prepared is a program that was started before a session needs it.
type Prepared interface {
	// Alive reports whether the program still runs.
	Alive() bool
	// Close ends the program.
	Close() error
}

// Opening describes a conversation to begin or to resume.
type Opening struct {
	Spec providers.Spec
	// Resume is the agent's own id of the conversation to continue, empty to begin a new one.
	// With Fork the original stays unchanged.
	Resume string
	Fork   bool
	// Dir is the working directory.
	Dir string
	// Session receives the reports of the agent.
	Session *Session
	// Prepared is a program of [Config.Prepare] to use, nil to start one. Connect owns it, also if
	// it fails.
	Prepared Prepared
}

// Config holds the settings of a provider.
type Config struct {
	Name string
	Caps providers.Caps
	// Connect starts the program. It returns when the agent is ready.
	Connect func(ctx context.Context, o Opening) (Backend, error)
	// Prepare starts a program that any later session can use; nil if a program belongs to its
	// session from the start.
	Prepare func(ctx context.Context) (Prepared, error)
	// DropsCut says that the agent does not remember a reply that was cut off: it gets what the user has read of it with the next
	// message.
	DropsCut bool
	// Writers has the conversations that programs with the same home have open; one of its own unless
	// set.
	Writers *Writers
	// Temp is the folder of temporary working directories, for sessions without a directory; the
	// system's folder unless set.
	Temp string
	// Secrets are removed from error texts of the agent.
	Secrets []string
	Logger  *slog.Logger
}

// Provider implements [providers.Provider]. It owns its sessions and their programs; Close ends
// them all.
type Provider struct {
	cfg Config

	started atomic.Int64

	mu      sync.Mutex
	open    map[*Session]struct{}
	ready   []Prepared
	opening sync.WaitGroup
	closed  bool
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
}

var _ providers.Provider = (*Provider)(nil)

// New returns a provider.
func New(cfg Config) *Provider {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Writers == nil {
		cfg.Writers = NewWriters("")
	}
	p := &Provider{cfg: cfg, open: map[*Session]struct{}{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// Name implements [providers.Provider].
func (p *Provider) Name() string { return p.cfg.Name }

// Caps implements [providers.Provider].
func (p *Provider) Caps() providers.Caps { return p.cfg.Caps }

// Writers returns the conversations that programs with the home of this provider have open, for further
// providers with this home.
func (p *Provider) Writers() *Writers { return p.cfg.Writers }

// Started returns the number of programs that were started.
func (p *Provider) Started() int { return int(p.started.Load()) }

// Open implements [providers.Provider].
func (p *Provider) Open(ctx context.Context, spec providers.Spec) (providers.Session, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, providers.ErrClosed
	}
	p.opening.Add(1)
	p.mu.Unlock()
	defer p.opening.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(p.ctx, func() { cancel(providers.ErrClosed) })()
	dir, temporary, err := p.directory(spec.Dir)
	if err != nil {
		return nil, fmt.Errorf("working directory of the agent: %w", err)
	}
	s, err := p.connect(ctx, spec, dir)
	if err != nil {
		if temporary {
			err = errors.Join(err, os.RemoveAll(dir))
		}
		return nil, err
	}
	if temporary {
		s.temporary = dir
	}
	p.mu.Lock()
	p.open[s] = struct{}{}
	closed := p.closed
	p.mu.Unlock()
	if closed {
		return nil, errors.Join(providers.ErrClosed, s.Close())
	}
	return s, nil
}

// directory returns the working directory, and whether it was created for this session only.
func (p *Provider) directory(dir string) (string, bool, error) {
	if dir != "" {
		return dir, false, os.MkdirAll(dir, 0o700)
	}
	dir, err := os.MkdirTemp(p.cfg.Temp, "agent-")
	return dir, true, err
}

// connect resumes the agent's own conversation if it is the one to continue, or begins a new one. A
// conversation that another program writes is forked.
func (p *Provider) connect(ctx context.Context, spec providers.Spec, dir string) (*Session, error) {
	if id, ok := ownThread(p.cfg.Name, spec.From); ok && p.cfg.Caps.Resume {
		claimed := !spec.Fork && p.cfg.Writers.claim(id)
		s, err := p.start(ctx, Opening{Spec: spec, Resume: id, Fork: !claimed, Dir: dir})
		if claimed && (err != nil || s.thread != id) {
			p.cfg.Writers.release(id)
		}
		if err == nil || ctx.Err() != nil {
			return s, err
		}
		p.cfg.Logger.InfoContext(ctx, "agent does not resume its conversation, sending it a transcript", "provider", p.cfg.Name, "agent", spec.Agent, "error", err)
	}
	return p.start(ctx, Opening{Spec: spec, Dir: dir})
}

// start starts a program, or uses a prepared one.
func (p *Provider) start(ctx context.Context, o Opening) (*Session, error) {
	o.Prepared = p.takeReady()
	s, err := p.connectNew(ctx, o)
	if err != nil && o.Prepared != nil && ctx.Err() == nil { // it may have ended meanwhile
		o.Prepared = nil
		s, err = p.connectNew(ctx, o)
	}
	if err != nil {
		return nil, fmt.Errorf("start the agent %s: %w", p.cfg.Name, providers.RedactError(err, p.cfg.Secrets...))
	}
	if o.Prepared == nil {
		p.started.Add(1)
	}
	p.cfg.Writers.claim(s.thread) // unless connect has
	return s, nil
}

// connectNew connects a new session to a program. A session is never connected to a second one: the end of the
// first would be reported as its own.
func (p *Provider) connectNew(ctx context.Context, o Opening) (*Session, error) {
	s := newSession(p, o.Spec)
	if o.Resume == "" {
		s.preface = transcript(o.Spec.From.Entries)
	}
	o.Session = s
	backend, err := p.cfg.Connect(ctx, o)
	if err != nil {
		s.out.close()
		return nil, err
	}
	s.connected(backend)
	return s, nil
}

// Close implements [providers.Provider].
func (p *Provider) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	p.opening.Wait()
	p.mu.Lock()
	var all []interface{ Close() error }
	for s := range p.open {
		all = append(all, s)
	}
	for _, r := range p.ready {
		all = append(all, r)
	}
	p.ready = nil
	p.mu.Unlock()
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, s := range all {
		wg.Go(func() { errs[i] = s.Close() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (p *Provider) remove(s *Session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, s)
	p.cfg.Writers.release(s.thread)
}
