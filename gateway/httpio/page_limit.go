package httpio

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/openapi"
	"github.com/everdesk/everdesk/gateway/problem"
)

// PageLimit is the query parameter limit of a listing. The API description and the handlers share
// it, so that both agree.
type PageLimit struct {
	max       int // largest page
	byDefault int // without a limit in the query
}

// The bounds of pages.
const (
	// MaxListPage is the largest page of a listing.
	MaxListPage = 100
	// MaxPageEvents and MaxPageBytes bound a page of events, which always has at least one.
	MaxPageEvents = 1000
	MaxPageBytes  = 1 << 20
	// InitialRead is the size of the first read of events, before their size is known.
	InitialRead = 16
	// AnswerTimeout bounds the answer of a session to a request.
	AnswerTimeout = 20 * time.Second
)

// HeaderIdempotencyKey is the header with the id of a message or an action.
const HeaderIdempotencyKey = "Idempotency-Key"

// The limits of listings and of pages of events.
var (
	ListLimit  = PageLimit{max: MaxListPage, byDefault: MaxListPage}
	EventLimit = PageLimit{max: MaxPageEvents, byDefault: MaxPageEvents}
)

// NewPageLimit returns the limit of a listing with a largest page and a default.
func NewPageLimit(most, byDefault int) PageLimit { return PageLimit{max: most, byDefault: byDefault} }

// Default returns the limit of a request without one.
func (l PageLimit) Default() int { return l.byDefault }

// Param returns the description of the parameter.
func (l PageLimit) Param() openapi.Param {
	return openapi.Param{Name: "limit", Doc: fmt.Sprintf("How many to show, at most %d: a larger number means as many.", l.max), DefaultValue: l.byDefault}
}

// Read returns the limit of a request, which is at most l.max.
func (l PageLimit) Read(c echo.Context) (int, error) {
	text := c.QueryParam("limit")
	if text == "" {
		return l.byDefault, nil
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if errors.Is(err, strconv.ErrRange) {
		return l.max, nil
	}
	if err != nil || n == 0 {
		return 0, problem.Query("limit", fmt.Sprintf("Want a number of at least 1. A page has at most %d.", l.max))
	}
	return int(min(n, uint64(l.max))), nil //nolint:gosec // both fit
}
