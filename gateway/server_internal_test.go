package gateway

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
)

// A handler that panics in the middle of its response must not leave a response that looks
// complete, and http.ErrAbortHandler must reach net/http.
func TestBrokenAnswerDropsTheConnection(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]echo.HandlerFunc{
		"panic after the header": func(c echo.Context) error {
			_ = c.String(http.StatusOK, "half an ans")
			panic("boom")
		},
		"error after the header": func(c echo.Context) error {
			_ = c.String(http.StatusOK, "half an ans")
			return io.ErrUnexpectedEOF
		},
		"abort": func(echo.Context) error { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := New(Config{}, slog.New(slog.NewTextHandler(t.Output(), nil)), Deps{Auth: &auth.Authority{}})
			s.echo.GET("/broken", handler)
			defer func() {
				if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
					t.Errorf("recovered %v, want http.ErrAbortHandler", err)
				}
			}()
			s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/broken", nil))
			t.Error("got a return of the handler, want a panic")
		})
	}
}
