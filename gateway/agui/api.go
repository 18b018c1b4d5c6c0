package agui

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/agui"
	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/admin"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/openapi"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/gateway/stream"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

const (
	// maxStreams bounds the streams of a replica, maxStreamsPerUser those of one user. Each holds the
	// state of a desktop.
	maxStreams        = 512
	maxStreamsPerUser = 32
	// openTimeout bounds the calls before a stream begins.
	openTimeout = 30 * time.Second
	// agentName is the name of the one agent that CopilotKit finds.
	agentName = "desktop"
)

// Deps are the components of the API.
type Deps struct {
	Log           *slog.Logger
	Hub           *session.Hub
	Authenticator *access.Authenticator
	Sessions      *access.Sessions
	Actions       *admin.Actions
	Budget        *httpio.Budget
	Version       string
	// Trace starts the trace of a message; traceparent is the client's, not validated.
	Trace func(id wire.SessionID, m *wire.Message, traceparent string)
}

// API serves AG-UI.
type API struct {
	Deps
	streams *stream.Set
	running openRuns
}

// New returns the API.
func New(d Deps) *API {
	a := &API{Deps: d}
	a.streams = stream.NewSet(stream.Config{
		Authenticator: d.Authenticator, PerUser: maxStreamsPerUser,
		Limit: func(auth.Identity) int { return maxStreams },
		Check: func(before, now auth.Identity) error {
			if now.User != before.User || now.Session != before.Session {
				return problem.New(wire.CodeForbidden, "What you may see has changed.")
			}
			return nil
		},
		Last: a.lastEvents,
	})
	return a
}

// CloseStreams ends all streams; if final, there are no new ones.
func (a *API) CloseStreams(final bool) { a.streams.CloseAll(final) }

// Routes returns the routes.
func (a *API) Routes() []openapi.Route {
	const tag = "AG-UI"
	events := openapi.Success(http.StatusOK, "The events of the run.", openapi.Bytes("text/event-stream"))
	body := openapi.JSONOutput[runInput]()
	route := func(method, path, summary, detail string, handler echo.HandlerFunc, in *openapi.Content, answers []openapi.Answer) openapi.Route {
		return openapi.Route{
			Method: method, Path: path, Guard: openapi.GuardIdentity, Handler: plainErrors(handler), Tag: tag,
			Summary: summary, Detail: detail, Body: in, Answers: answers,
		}
	}
	stop := route(http.MethodPost, "/agui/agent/:agent/stop/:thread", "Stop a run of a thread",
		"A message that waits is removed from its queue, or else its turn is interrupted. Without a query it stops what the caller's open streams show. Without open streams it removes the caller's messages that wait for the monitor, or else interrupts the turn that one of them began. Turns of other users go on.",
		ofAgent(a.stop), nil, openapi.NoContent("The run is stopped, or none was running."))
	stop.Query = []openapi.Param{
		{Name: "run", Doc: "The runId of the request that sent the message to stop. A turn that another message began goes on."},
		{Name: "monitor", Doc: "Without run: the monitor on which to stop; monitor-0 by default."},
	}
	return []openapi.Route{
		route(http.MethodPost, "/agui", "Run: send a message and stream the answer",
			"The body is a RunAgentInput of AG-UI. The threadId is the id of a session, or a name for one that the caller chose. The runId is the id of the message: a repeated request shows the same turn.",
			a.runThread, body, events),
		route(http.MethodPost, "/agui/:session", "Run in a session", "As POST /agui; the path names the session.", a.runSession, body, events),
		route(http.MethodPost, "/agui/:session/connect", "Show the conversation and the turn that runs", "", a.connectSession, body, events),
		route(http.MethodGet, "/agui/info", "What CopilotKit asks of its runtime", "", a.info, nil,
			openapi.Success(http.StatusOK, "The agents.", openapi.JSONOutput[runtimeInfo]())),
		route(http.MethodPost, "/agui/agent/:agent/run", "Run, as CopilotKit requests it", "", ofAgent(a.runThread), body, events),
		route(http.MethodPost, "/agui/agent/:agent/connect", "Show the conversation, as CopilotKit requests it", "", ofAgent(a.connectThread), body, events),
		stop,
	}
}

// ofAgent refuses requests for an agent that is not there.
func ofAgent(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if name := c.Param("agent"); name != agentName {
			return problem.Status(http.StatusNotFound, fmt.Sprintf("There is no agent %q; the agent of this hub is %q.", name, agentName))
		}
		return next(c)
	}
}

// runInput describes [agui.Input] in the API description. AG-UI itself describes the messages.
type runInput struct {
	ThreadID        string            `json:"threadId" doc:"The id of a session, or a name for one."`
	RunID           string            `json:"runId" doc:"The id of the message."`
	ProtocolVersion string            `json:"protocolVersion,omitempty" doc:"1.0, or absent in older clients."`
	Messages        []json.RawMessage `json:"messages" doc:"The conversation. The last message is new if it is the user's."`
	Resume          []json.RawMessage `json:"resume,omitempty" doc:"Answers to the interrupts of an earlier run."`
	ForwardedProps  json.RawMessage   `json:"forwardedProps,omitempty" doc:"everdesk has monitor, plan, cancelOnClose and follow."`
}

// plainErrors makes the errors of a handler plain JSON: clients of AG-UI do not parse problem
// documents of another media type.
func plainErrors(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		err := next(c)
		if bad, ok := errors.AsType[*agui.InputError](err); ok {
			err = problem.Query(bad.Field, bad.Reason)
		}
		p := problem.Of(err)
		if err == nil || p.Status == http.StatusInternalServerError || c.Response().Committed {
			return err
		}
		return c.JSON(p.Status, p)
	}
}

// runtimeInfo is what a CopilotKit runtime says of itself.
type runtimeInfo struct {
	Version string                  `json:"version"`
	Agents  map[string]runtimeAgent `json:"agents"`
	Audio   bool                    `json:"audioFileTranscriptionEnabled"`
	Mode    string                  `json:"mode"`
}

type runtimeAgent struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	ClassName   string `json:"className"`
}

func (a *API) info(c echo.Context) error {
	return c.JSON(http.StatusOK, runtimeInfo{
		Version: a.Version, Mode: "sse",
		Agents: map[string]runtimeAgent{agentName: {Name: agentName, Description: "The main agent of an Everdesk session.", ClassName: "HttpAgent"}},
	})
}

// readInput reads the body of a request.
func readInput(c echo.Context) (*agui.Input, error) {
	body, err := io.ReadAll(http.MaxBytesReader(c.Response(), c.Request().Body, agui.MaxInput))
	if err != nil {
		return nil, err
	}
	in, err := agui.ParseInput(body)
	return &in, err
}

// sessionOf returns the session that a request names in its path.
func (a *API) sessionOf(c echo.Context, id wire.SessionID, least access.Level) (session.Info, error) {
	granted, info, err := a.Sessions.Access(c.Request().Context(), access.Caller(c), id)
	if err != nil {
		return session.Info{}, err
	}
	if granted < least {
		return session.Info{}, problem.New(wire.CodeForbidden, "")
	}
	if least == access.Operator {
		err = a.Actions.RecordEntry(c, info)
	} else {
		err = a.Actions.RecordRead(c, info)
	}
	return info, err
}

// checkAccess returns why a caller may no longer use a session, or nil. An unavailable store is no reason.
func (a *API) checkAccess(ctx context.Context, now auth.Identity, id wire.SessionID, least access.Level) error {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	granted, _, err := a.Sessions.Access(ctx, now, id)
	switch {
	case access.IsNotFound(err):
		return err
	case err == nil && granted < least:
		return problem.New(wire.CodeForbidden, "")
	}
	return nil
}

// sessionOfThread returns the session of a thread: the one with this id if the caller may see it, or
// else the caller's own session of this name, which is created at its first use.
func (a *API) sessionOfThread(c echo.Context, thread string, least access.Level) (session.Info, error) {
	info, err := a.sessionOf(c, threadName(thread), least)
	who := access.Caller(c)
	if !access.IsNotFound(err) || !access.MayNameSessions(who) {
		return info, err
	}
	info, _, err = a.Sessions.OpenNamed(c.Request().Context(), session.NewSession{Name: threadName(thread), User: who.User})
	return info, err
}

// threadName returns the name of the session of a thread. Clients choose any text; one that is no name
// gets one.
func threadName(thread string) wire.SessionID {
	id := wire.SessionID(thread)
	if id.Validate() == nil && (session.IsName(id) || len(thread) > len(sessionPrefix) && thread[:len(sessionPrefix)] == sessionPrefix) {
		return id
	}
	sum := sha256.Sum256([]byte(thread))
	return wire.SessionID("thread-" + hex.EncodeToString(sum[:16]))
}

const sessionPrefix = "ses-"

// command returns a message of the caller as a command.
func (a *API) command(c echo.Context, id wire.SessionID, data wire.ClientPayload) session.Command {
	who := access.Caller(c)
	m := wire.Message{Session: id, ID: wire.MessageOf(data), Data: data}
	a.Trace(id, &m, c.Request().Header.Get("Traceparent"))
	return session.Command{From: session.Sender{Connection: access.NewConnectionID(), User: who.User, Invited: who.Session != ""}, Message: m}
}
