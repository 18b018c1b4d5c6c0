package rest

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// maxMomentState bounds the state that a link to a moment shows, in bytes.
const maxMomentState = 64 << 20

// momentOf returns the moment of a session for a link; nothing for the zero position.
func (l *links) momentOf(c echo.Context, id wire.SessionID, at wire.Position) (m auth.Moment, err error) {
	if at.IsZero() {
		return auth.Moment{}, nil
	}
	err = l.budget.WithPage(c.Request().Context(), access.Caller(c).User, func(ctx context.Context) error {
		found, err := l.requests.hub.StateAt(ctx, id, at)
		for _, is := range []error{store.ErrTrimmed, store.ErrUnknownPosition, store.ErrAhead} {
			if errors.Is(err, is) {
				return problem.New(wire.CodeSessionInvalidState, "The log does not have that moment any more.").WithStatus(http.StatusGone)
			}
		}
		if err != nil {
			return err
		}
		shown := shownByLink(found.State)
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, err = z.Write(stateForm().Append(nil, &shown))
		if err = errors.Join(err, z.Close()); err != nil {
			return fmt.Errorf("compress the state of a moment: %w", err)
		}
		m = auth.Moment{At: at, Time: found.Time, State: packed.Bytes()}
		return nil
	})
	return m, err
}

// shownByLink returns a state without the connections, the queued messages and the settings.
func shownByLink(s wire.SessionState) wire.SessionState {
	s.Presence, s.Connections, s.Queues = nil, 0, nil
	s.Owner, s.Provider, s.Instructions, s.AutoApproval, s.AgentMode = "", "", "", nil, nil
	return s
}

// getMoment responds with the state that the link of the caller shows.
func (l *links) getMoment(c echo.Context) error {
	who := access.Caller(c)
	if who.Moment.IsZero() || string(who.Session) != c.Param("session") {
		return problem.Status(http.StatusNotFound, "Only a link to one moment has a moment.")
	}
	packed, err := l.auth.Links.Moment(c.Request().Context(), who.Session, who.Link)
	if errors.Is(err, store.ErrNotFound) {
		return errLinkEnded // it was revoked since the request began
	}
	if err != nil {
		return err
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return &store.CorruptError{Where: "moment of a link", Reason: err.Error()}
	}
	// It is decompressed as it is sent.
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	c.Response().Header().Set(echo.HeaderContentType, echo.MIMEApplicationJSON)
	c.Response().WriteHeader(http.StatusOK)
	_, err = io.Copy(c.Response(), io.LimitReader(z, maxMomentState))
	return err
}
