package gateway

import (
	"context"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// access is what somebody may do in a session.
type access uint8

const (
	accessNone     access = iota
	accessViewer          // looks
	accessOperator        // speaks, answers and acts
	accessOwner           // renames, shares and deletes too
)

// identify says who sends a request, by its Authorization header, its cookie or,
// where that is enabled, its query. The error is an [*auth.Error] or the store's.
func (s *Server) identify(c echo.Context) (auth.Identity, error) { panic("not built yet") }

// accessTo says what somebody may do in a session. A session that is not there
// and one they may not even see are the same error, [wire.CodeSessionNotFound].
func (s *Server) accessTo(ctx context.Context, who auth.Identity, id wire.SessionID) (access, session.Info, error) {
	panic("not built yet")
}

// may reports whether the access suffices for a client's message.
func (a access) may(p wire.ClientPayload) bool { panic("not built yet") }
