package httpio

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/wire"
)

// Form decodes and encodes values of type T by the rules of package wire. Building the format is
// expensive, so it happens once, on first use.
type Form[T any] func() wire.Format[T]

// FormOf returns the form of T.
func FormOf[T any]() Form[T] { return sync.OnceValue(wire.FormatOf[T]) }

// Read decodes the JSON body of a request, of at most limit bytes, as strictly as a client's frame.
// An empty body means an empty object.
func (f Form[T]) Read(c echo.Context, limit int64) (T, error) {
	var none T
	r := c.Request()
	body, err := io.ReadAll(Body(c, limit))
	if err != nil {
		return none, err
	}
	if len(body) == 0 {
		body = []byte("{}")
	} else if err := wantJSON(r); err != nil {
		return none, err
	}
	return f().Decode(body)
}

// ReadFitted is [Form.Read] for a body that may have up to most bytes if fit makes it shorter. fit gets
// what is longer than limit: the beginning, and a reader of the rest.
func (f Form[T]) ReadFitted(c echo.Context, limit, most int64, fit func(beginning []byte, rest io.Reader) ([]byte, error)) (T, error) {
	var none T
	from := Body(c, most)
	body, err := io.ReadAll(io.LimitReader(from, limit+1))
	if err == nil && int64(len(body)) > limit {
		body, err = fit(body, from)
	}
	if err != nil {
		return none, err
	}
	if len(body) == 0 {
		body = []byte("{}")
	} else if err := wantJSON(c.Request()); err != nil {
		return none, err
	}
	return f().Decode(body)
}

// Body returns a reader for the body of a request, up to limit bytes. Its errors are problem
// documents that blame the client: a malformed chunk, an early end, a timeout.
func Body(c echo.Context, limit int64) io.Reader {
	return &bodyReader{c, http.MaxBytesReader(c.Response(), c.Request().Body, limit)}
}

// lateAnswerTimeout bounds the response to a client whose body came too late.
const lateAnswerTimeout = 5 * time.Second

type bodyReader struct {
	c    echo.Context
	from io.Reader
}

// Read implements [io.Reader].
func (b *bodyReader) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case err == nil, err == io.EOF, tooLarge:
		return n, err
	case IsTimeout(err):
		// The write deadline has passed as well, but the client should get the reason.
		_ = http.NewResponseController(b.c.Response()).SetWriteDeadline(time.Now().Add(lateAnswerTimeout))
		return n, problem.New(wire.CodeConnectionTimeout, "The body did not come in time.")
	default:
		return n, problem.New(wire.CodeInvalidMessage, "The body is broken or ends too early.")
	}
}

// Answer writes v as the response.
func (f Form[T]) Answer(c echo.Context, status int, v *T) error {
	return c.JSONBlob(status, f().Append(nil, v))
}

// wantJSON refuses bodies that are not JSON. It also refuses HTML forms of other pages, which
// cannot send that content type.
func wantJSON(r *http.Request) error {
	media, params, err := mime.ParseMediaType(r.Header.Get(echo.HeaderContentType))
	charset := params["charset"]
	if err != nil || media != echo.MIMEApplicationJSON || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return problem.Status(http.StatusUnsupportedMediaType, "The body has to be application/json.")
	}
	return RequireUncompressed(r)
}

// RequireUncompressed refuses compressed bodies: a limit of their size would not bound their
// content.
func RequireUncompressed(r *http.Request) error {
	if encoding := r.Header.Get(echo.HeaderContentEncoding); encoding != "" && encoding != "identity" {
		return problem.Status(http.StatusUnsupportedMediaType, "The body must not be compressed.")
	}
	return nil
}

// IsTimeout reports whether a deadline of a connection has passed.
func IsTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}
