package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/cmd/hub/internal/remote"
	"github.com/everdesk/everdesk/providers/jsonrpc"
	"github.com/everdesk/everdesk/wire"
)

const (
	// maxLine bounds a message of the client.
	maxLine = 16 << 20
	// openTimeout bounds opening a session, also while the hub restarts.
	openTimeout = time.Minute
	// maxOpen bounds the open sessions.
	maxOpen = 64
)

// server serves one client of the protocol.
type server struct {
	hub *remote.Hub
	// name is the session of session/new; empty means a new one each time.
	name    wire.SessionID
	version string
	conn    *jsonrpc.Conn
	// hasForms says that the client can show forms (elicitation).
	hasForms atomic.Bool
	ctx      context.Context //nolint:containedctx // of the sessions, which outlive the calls that open them

	watching sync.WaitGroup // the ends of the open sessions

	outMu sync.Mutex // guards out
	out   io.Writer
	errMu sync.Mutex // guards err
	err   io.Writer

	mu       sync.Mutex // guards the following
	cwd      string     // the folder that the client named last
	sessions map[wire.SessionID]*openSession
	arrived  map[string]*arrivedPrompt // prompts that were read and are not registered yet, by the id of the call
}

func newServer(hub *remote.Hub, name wire.SessionID, version string, out, err io.Writer) *server {
	return &server{hub: hub, name: name, version: version, out: out, err: err, sessions: map[wire.SessionID]*openSession{}, arrived: map[string]*arrivedPrompt{}}
}

// run serves the client until its input ends or ctx does.
func (s *server) run(ctx context.Context, in io.Reader) error {
	ctx, stop := context.WithCancel(ctx)
	s.ctx = ctx
	s.conn = jsonrpc.New(jsonrpc.Config{Write: s.write, Serve: s.serve, Notified: s.notified})
	defer func() {
		stop() // ends the prompts that the connection waits for
		s.leaveAll()
		s.watching.Wait()
		s.conn.Close(nil)
	}()
	lines, failed := make(chan []byte), make(chan error, 1)
	go func() { failed <- command.ReadLines(ctx, in, maxLine, lines) }() // a read of standard input cannot be interrupted; the process ends meanwhile
	for {
		select {
		case line := <-lines:
			s.recordPrompt(line)
			if err := s.conn.Receive(line); err != nil {
				s.refuseLine(ctx, line, err)
			}
		case err := <-failed:
			if err != nil {
				s.refuseLine(ctx, nil, err)
			}
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

// write writes a message as a line.
func (s *server) write(_ context.Context, line []byte) error {
	s.outMu.Lock()
	defer s.outMu.Unlock()
	_, err := s.out.Write(append(line, '\n'))
	return err
}

// refuseLine answers a line that is no message, so that it has no id. An error is not answered with
// another one: the client may do the same.
func (s *server) refuseLine(ctx context.Context, line []byte, why error) {
	s.logf("bad input: %v", why)
	var m struct {
		Error json.RawMessage `json:"error"`
	}
	code := jsonrpc.CodeInvalidRequest
	if !json.Valid(line) {
		code = jsonrpc.CodeParse
	} else if json.Unmarshal(line, &m) == nil && m.Error != nil {
		return
	}
	answer, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": &jsonrpc.Error{Code: code, Message: why.Error()}})
	if err == nil {
		err = s.write(ctx, answer)
	}
	if err != nil {
		s.logf("answer to bad input: %v", err)
	}
}

// logf writes a line for people. Standard output has only messages.
func (s *server) logf(format string, args ...any) {
	s.errMu.Lock()
	defer s.errMu.Unlock()
	fmt.Fprintf(s.err, "hub acp: "+format+"\n", args...)
}

// notified handles a notification of the client.
func (s *server) notified(method string, params json.RawMessage) {
	if method != "session/cancel" {
		return
	}
	var p sessionParams
	if json.Unmarshal(params, &p) != nil {
		return
	}
	s.cancelArrived(p.SessionID)
	if o := s.session(p.SessionID); o != nil {
		o.cancel(s.ctx)
	}
}

// serve executes a call of the client.
func (s *server) serve(ctx context.Context, c jsonrpc.Served) (any, error) {
	var p struct {
		sessionParams
		Prompt []block `json:"prompt"`
		ModeID string  `json:"modeId"`
		Cursor string  `json:"cursor"`
		Cwd    string  `json:"cwd"`
		Client struct {
			Elicitation struct {
				Form *struct{} `json:"form"`
			} `json:"elicitation"`
		} `json:"clientCapabilities"`
	}
	if len(c.Params) > 0 {
		if err := json.Unmarshal(c.Params, &p); err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: wrongParams(err)}
		}
	}
	cwd := s.folder(p.Cwd)
	switch c.Method {
	case "initialize":
		s.hasForms.Store(p.Client.Elicitation.Form != nil)
		return s.initialize(), nil
	case "authenticate", "logout":
		return struct{}{}, nil
	case "session/list":
		return s.list(ctx, p.Cursor, cwd)
	case "session/new":
		return s.create(ctx)
	case "session/load", "session/resume":
		return opened{Modes: modesWith(modeChat)}, s.attach(ctx, p.SessionID, c.Method == "session/load")
	}
	if c.Method == "session/prompt" {
		defer s.forgetPrompt(c.ID)
	}
	o := s.session(p.SessionID)
	if o == nil {
		if c.Method == "session/prompt" || c.Method == "session/set_mode" || c.Method == "session/close" {
			return nil, unknownSession(p.SessionID)
		}
		return nil, jsonrpc.NoMethod(c.Method)
	}
	switch c.Method {
	case "session/prompt":
		return o.prompt(ctx, c.ID, p.Prompt)
	case "session/set_mode":
		return struct{}{}, o.setMode(p.ModeID)
	case "session/close":
		s.close(o)
		return struct{}{}, nil
	}
	return nil, jsonrpc.NoMethod(c.Method)
}

// wrongParams says in words for people who write clients which parameter is wrong.
func wrongParams(err error) string {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok || wrong.Field == "" {
		return "The parameters are no object."
	}
	return fmt.Sprintf("%s: want another type than %s.", strings.TrimPrefix(wrong.Field, "sessionParams."), wrong.Value)
}

func unknownSession(id wire.SessionID) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("The session %q is not open here; load it first.", id)}
}

func (s *server) initialize() initialized {
	i := initialized{ProtocolVersion: protocolVersion, AgentInfo: agentInfo{"everdesk", "Everdesk", s.version}, AuthMethods: []string{}}
	i.Capabilities.LoadSession = true
	i.Capabilities.Prompt.Image, i.Capabilities.Prompt.EmbeddedContext = true, true
	return i
}

// folder returns the folder of all sessions for the client: the one it names, or else the one it named
// last. A session has none, and editors hide sessions that are not in the folder of their project.
func (s *server) folder(named string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cwd = cmp.Or(named, s.cwd, "/")
	return s.cwd
}

// list returns a page of the sessions of the user, all of them in one folder of the client.
func (s *server) list(ctx context.Context, cursor, cwd string) (listed, error) {
	var page struct {
		Sessions []struct {
			SessionID wire.SessionID `json:"sessionId"`
			Title     string         `json:"title"`
			Metadata  struct {
				LastActivity string `json:"lastActivity"`
			} `json:"metadata"`
		} `json:"sessions"`
		Next string `json:"next"`
	}
	target := s.hub.URL.JoinPath("api", "sessions")
	if cursor != "" {
		target.RawQuery = url.Values{"after": {cursor}}.Encode()
	}
	if err := s.hub.Ask(ctx, http.MethodGet, target, nil, &page); err != nil {
		return listed{}, refusal(err)
	}
	all := listed{Sessions: []listedSession{}, NextCursor: page.Next}
	for _, x := range page.Sessions {
		all.Sessions = append(all.Sessions, listedSession{SessionID: x.SessionID, Cwd: cwd, Title: x.Title, UpdatedAt: x.Metadata.LastActivity})
	}
	return all, nil
}

// create creates a session and opens it.
func (s *server) create(ctx context.Context) (opened, error) {
	in := map[string]string{}
	if s.name != "" {
		in["sessionId"] = string(s.name)
	}
	var card struct {
		SessionID wire.SessionID `json:"sessionId"`
	}
	if err := s.hub.Ask(ctx, http.MethodPost, s.hub.URL.JoinPath("api", "sessions"), in, &card); err != nil {
		return opened{}, refusal(err)
	}
	return opened{SessionID: card.SessionID, Modes: modesWith(modeChat)}, s.attach(ctx, card.SessionID, false)
}

// refusal returns an answer of the hub as an error of the protocol.
func refusal(err error) error {
	if no, ok := errors.AsType[*remote.RefusedError](err); ok {
		code := codeFailed
		switch no.Status {
		case http.StatusUnauthorized:
			code = codeAuthRequired
		case http.StatusNotFound, http.StatusBadRequest:
			code = jsonrpc.CodeInvalidParams
		}
		return &jsonrpc.Error{Code: code, Message: no.Error()}
	}
	return err
}

// codeAuthRequired is the code of the protocol for missing credentials.
const codeAuthRequired = -32000

// attach opens a session, again if it is open already.
func (s *server) attach(ctx context.Context, id wire.SessionID, replay bool) error {
	if err := id.Validate(); err != nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	// The hub tells a wrong session from one that is not there yet better here than on the connection.
	if err := s.hub.Ask(ctx, http.MethodGet, s.hub.URL.JoinPath("api", "sessions", string(id)), nil, nil); err != nil {
		return refusal(err)
	}
	if o := s.session(id); o != nil {
		s.close(o)
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	o, err := s.open(ctx, id, replay)
	if err != nil {
		return err
	}
	s.mu.Lock()
	other := s.sessions[id] // opened meanwhile
	full := other == nil && len(s.sessions) >= maxOpen
	if !full {
		s.sessions[id] = o
	}
	s.mu.Unlock()
	if other != nil {
		other.leave()
	}
	if full {
		o.leave()
		return &jsonrpc.Error{Code: codeFailed, Message: fmt.Sprintf("%d sessions are open; close one first.", maxOpen)}
	}
	return nil
}

func (s *server) session(id wire.SessionID) *openSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id]
}

// close leaves a session.
func (s *server) close(o *openSession) {
	s.mu.Lock()
	if s.sessions[o.id] == o {
		delete(s.sessions, o.id)
	}
	s.mu.Unlock()
	o.leave()
}

func (s *server) leaveAll() {
	s.mu.Lock()
	var all []*openSession
	for _, o := range s.sessions {
		all = append(all, o)
	}
	s.mu.Unlock()
	for _, o := range all {
		s.close(o)
	}
}
