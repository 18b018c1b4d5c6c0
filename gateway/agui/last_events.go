package agui

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/agui"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/gateway/stream"
)

// reconnectCode makes a client repeat its request: the hub stops, or the stream cannot continue here.
const reconnectCode = "reconnect"

// runKey is the key of the run of a request in its context.
const runKey = "everdesk.agui.run"

// runName names the run of a request.
type runName struct{ thread, run string }

// lastEvents returns the final events of a stream that ends before its run. A client takes an error only within a run,
// so after the final event of one there is a run for the error.
func (a *API) lastEvents(c echo.Context, why error, afterFinal bool) []stream.Event {
	p := problem.Of(why)
	code := p.Name
	switch {
	case errors.Is(why, stream.ErrStopping):
		code = reconnectCode
	case p.Status == http.StatusInternalServerError:
		a.Log.ErrorContext(c.Request().Context(), "AG-UI stream failed", "path", c.Request().URL.Path, "err", why)
	}
	var all []stream.Event
	if name, ok := c.Get(runKey).(runName); ok && afterFinal {
		all = append(all, stream.Event{Data: agui.RunStarted(name.thread, name.run)})
	}
	return append(all, stream.Event{Data: agui.RunError(code, p.Detail)})
}
