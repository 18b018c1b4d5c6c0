package httpio

import (
	"net/url"
	"time"

	"github.com/labstack/echo/v4"
)

// FormatTime returns a time in the form of responses, RFC 3339 with milliseconds.
func FormatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// PathParam returns an unescaped parameter of the path. Echo leaves parameters escaped when the
// path contains escapes such as %2F.
func PathParam(c echo.Context, name string) string {
	value := c.Param(name)
	if c.Request().URL.RawPath == "" {
		return value
	}
	plain, err := url.PathUnescape(value)
	if err != nil {
		return value
	}
	return plain
}
