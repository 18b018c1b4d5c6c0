package gateway

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/wire"
)

// form reads and writes one type by the rules of the wire; making it costs
// something, so it is made once, when it is first needed.
type form[T any] func() wire.Format[T]

func formOf[T any]() form[T] { return sync.OnceValue(wire.FormatOf[T]) }

// read takes the body of a request apart as strictly as a client's frame. No body
// at all means an empty object.
func (f form[T]) read(s *Server, c echo.Context) (T, error) {
	var none T
	r := c.Request()
	body, err := io.ReadAll(bodyOf(c, s.cfg.FrameBytes))
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

// bodyOf reads the body of a request up to a limit. What goes wrong with that is
// the client's doing: a chunk that is none, an end that comes too early or never.
func bodyOf(c echo.Context, limit int64) io.Reader {
	return &bodyReader{c, http.MaxBytesReader(c.Response(), c.Request().Body, limit)}
}

type bodyReader struct {
	c    echo.Context
	from io.Reader
}

func (b *bodyReader) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case err == nil, err == io.EOF, tooLarge:
		return n, err
	case isTimeout(err):
		// The time to answer is over too, but the client shall know why.
		_ = http.NewResponseController(b.c.Response()).SetWriteDeadline(time.Now().Add(readHeaderTimeout))
		return n, problem(wire.CodeConnectionTimeout, "The body did not come in time.")
	default:
		return n, problem(wire.CodeInvalidMessage, "The body is broken or ends too early.")
	}
}

// answer writes v.
func (f form[T]) answer(c echo.Context, status int, v *T) error {
	return c.JSONBlob(status, f().Append(nil, v))
}

// wantJSON refuses bodies that are not JSON. It also keeps forms of other pages
// out, which cannot say that they are.
func wantJSON(r *http.Request) error {
	media, params, err := mime.ParseMediaType(r.Header.Get(echo.HeaderContentType))
	charset := params["charset"]
	if err != nil || media != echo.MIMEApplicationJSON || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return misdirected(http.StatusUnsupportedMediaType, "The body has to be application/json.")
	}
	return plain(r)
}

// plain refuses compressed bodies: their size says nothing.
func plain(r *http.Request) error {
	if encoding := r.Header.Get(echo.HeaderContentEncoding); encoding != "" && encoding != "identity" {
		return misdirected(http.StatusUnsupportedMediaType, "The body must not be compressed.")
	}
	return nil
}

// inQuery is the answer to a query that makes no sense.
func inQuery(field, detail string) *problemError {
	p := problem(wire.CodeInvalidMessage, detail)
	p.Field = field
	return p
}
