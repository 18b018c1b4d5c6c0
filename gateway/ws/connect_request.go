package ws

import (
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/wire"
)

const (
	// maxMonitors bounds the monitor filter of a connection; a session has fewer monitors.
	maxMonitors = 16
	// maxResumeBytes is the length to which a position in the query is cut.
	maxResumeBytes = 64
)

// connectRequest holds the parameters of a streaming connection.
type connectRequest struct {
	protocol   protocol
	address    string         // of the client
	route      string         // method and path of the endpoint
	session    wire.SessionID // for the desktop protocol only a preference, see [access.Sessions.ResolveDesktop]
	name       wire.SessionID // the session's name as the client sent it; empty if it sent the id
	client     wire.ClientID
	resumeFrom string
	// seenPosition is a position that the client has seen but cannot resume from, as when a page
	// was reloaded: the client gets a snapshot and counts as one that reconnects.
	seenPosition string
	// reconnects says that the client was connected before, see isReconnect.
	reconnects bool
	// knownSession says that a desktop client sent the id of an existing session, which it has from
	// an earlier connection: it may still show the state of that time.
	knownSession bool
	monitors     []wire.MonitorID
	// numbered says that the query had monitor numbers instead of ids.
	numbered bool
	// credentialsChecked is a time before the client's credentials were checked, and rightsVersion
	// the [rights].version before its access was checked.
	credentialsChecked time.Time
	rightsVersion      uint64
	// releaseGate releases the client's slot in the [authGate]; it may be called more than once.
	releaseGate func()
}

// nativeConnectRequest parses the request of a client that has its session in the path.
func nativeConnectRequest(c echo.Context, p protocol) (connectRequest, error) {
	q := c.QueryParams()
	r := connectRequest{protocol: p, address: access.Address(c).String(), route: c.Request().Method + " " + c.Path(), session: wire.SessionID(c.Param("session")), resumeFrom: truncatePosition(q.Get("resume_from"))}
	if err := r.session.Validate(); err != nil {
		return r, problem.New(wire.CodeInvalidMessage, err.Error())
	}
	r.client, r.seenPosition = clientID(q.Get("client_id")), truncatePosition(q.Get("seen"))
	return r, r.setMonitors(q["monitor"])
}

// desktopConnectRequest parses the request of a desktop written for YAAR. Such clients send
// sessionId, monitorId and token; other parameters are ignored. An invalid sessionId is refused: no
// hub has issued it.
func desktopConnectRequest(c echo.Context) (connectRequest, error) {
	q := c.QueryParams()
	r := connectRequest{protocol: protocolDesktop, address: access.Address(c).String(), route: c.Request().Method + " " + c.Path(), session: wire.SessionID(q.Get("sessionId")), resumeFrom: truncatePosition(q.Get("resume_from"))}
	if r.session != "" {
		if err := r.session.Validate(); err != nil {
			return r, problem.New(wire.CodeInvalidMessage, err.Error())
		}
	}
	r.client = clientID(q.Get("client_id"))
	err := r.setMonitors(q["monitorId"])
	for i, id := range r.monitors {
		r.numbered = r.numbered || wire.IsMonitorNumber(id)
		r.monitors[i] = wire.NamedMonitor(id)
	}
	return r, err
}

// clientID returns s as a client id, or "" if it is invalid: the id is only displayed, so a bad one
// is no reason to refuse the connection.
func clientID(s string) wire.ClientID {
	if id := wire.ClientID(s); id.Validate() == nil {
		return id
	}
	return ""
}

// truncatePosition cuts a position to maxResumeBytes; a longer text is no valid position anyway.
func truncatePosition(resume string) string { return resume[:min(len(resume), maxResumeBytes)] }

func (r *connectRequest) setMonitors(monitors []string) error {
	if len(monitors) > maxMonitors {
		return problem.New(wire.CodeInvalidMessage, "There are too many monitors in the query.")
	}
	for _, m := range monitors {
		id := wire.MonitorID(m)
		if err := id.Validate(); err != nil {
			return problem.New(wire.CodeInvalidMessage, err.Error())
		}
		r.monitors = append(r.monitors, id)
	}
	return nil
}
