package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/gateway/stream"
	"github.com/everdesk/everdesk/wire"
)

const (
	// maxAdminStreams bounds the admin streams of a replica, maxStreamsPerAdmin those of one user.
	// reservedAdminStreams of them are reserved for users with the role admin:act.
	maxAdminStreams      = 32
	maxStreamsPerAdmin   = 8
	reservedAdminStreams = 8
)

// adminStreams are the open streams of admins.
type adminStreams struct {
	*stream.Set
}

func newAdminStreams(log *slog.Logger, authenticator *access.Authenticator) *adminStreams {
	return &adminStreams{stream.NewSet(stream.Config{
		Authenticator: authenticator, PerUser: maxStreamsPerAdmin,
		Limit: func(who auth.Identity) int {
			if who.Has(auth.RoleAdminAct) {
				return maxAdminStreams
			}
			return maxAdminStreams - reservedAdminStreams
		},
		Check: func(before, now auth.Identity) error {
			if !now.Has(auth.RoleAdminRead) || now.Has(auth.RoleAdminContent) != before.Has(auth.RoleAdminContent) {
				return problem.New(wire.CodeForbidden, "What you may see has changed.")
			}
			return nil
		},
		Last: func(c echo.Context, why error, _ bool) []stream.Event {
			return []stream.Event{problemEvent(c, log, why)}
		},
	})}
}

// problemEvent returns the event problem, which has the reason why a stream ends.
func problemEvent(c echo.Context, log *slog.Logger, why error) stream.Event {
	p := problem.Of(why)
	if p.Status == http.StatusInternalServerError {
		log.ErrorContext(c.Request().Context(), "admin stream failed", "path", c.Request().URL.Path, "err", why)
	}
	data, err := json.Marshal(p)
	if err != nil {
		panic(err) // cannot fail: only strings and numbers
	}
	return stream.Event{Kind: "problem", Data: data}
}

// serveProfile serves a runtime profile, which ends early when the hub stops or the caller may no longer read it. It
// counts as an admin stream.
func (s *adminStreams) serveProfile(next http.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if text := c.QueryParam("seconds"); text != "" {
			n, err := strconv.ParseFloat(text, 64)
			if err != nil || !(n > 0 && n <= maxProfileSeconds) {
				return problem.Query("seconds", fmt.Sprintf("Want a number of seconds up to %d.", maxProfileSeconds))
			}
		}
		leave, ok := s.Add(access.Caller(c))
		if !ok {
			return s.Refuse(c)
		}
		defer s.Remove(access.Caller(c))
		ctx, cancel := context.WithCancel(c.Request().Context())
		var wg sync.WaitGroup
		defer wg.Wait()
		defer cancel()
		wg.Go(func() {
			select {
			case <-leave:
				cancel()
			case <-ctx.Done():
			}
		})
		wg.Go(func() {
			if s.WatchAccess(ctx, c, nil) != nil {
				cancel()
			}
		})
		next(c.Response(), c.Request().WithContext(ctx))
		return nil
	}
}

// maxProfileSeconds bounds the duration of a runtime profile.
const maxProfileSeconds = 300
