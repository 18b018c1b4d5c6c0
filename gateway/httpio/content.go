package httpio

import (
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/problem"
)

// ServeContent is [http.ServeContent] with problem documents as error responses.
func ServeContent(c echo.Context, modified time.Time, f io.ReadSeeker) error {
	w := &errorCapture{ResponseWriter: c.Response()}
	http.ServeContent(w, c.Request(), "", modified, f)
	if w.status == 0 {
		return nil
	}
	h := c.Response().Header()
	h.Del(echo.HeaderContentType)
	h.Del(echo.HeaderContentDisposition)
	p := problem.Status(w.status, "")
	switch w.status {
	case http.StatusRequestedRangeNotSatisfiable:
		p.Field, p.Detail = "Range", "The file does not have that range."
	case http.StatusPreconditionFailed:
		p.Detail = "The file is not as it was."
	}
	return p
}

// errorCapture withholds an error response.
type errorCapture struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (w *errorCapture) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		w.status = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *errorCapture) Write(b []byte) (int, error) {
	if w.status != 0 {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}
