package gateway

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/session"
)

// pageLimit is the query parameter limit of a listing. The API description and the handlers share
// it, so that both agree.
type pageLimit struct {
	max          int // largest page
	defaultLimit int // without a limit in the query
}

// The limits of all listings.
var (
	listLimit         = pageLimit{max: maxListPage, defaultLimit: maxListPage}
	eventLimit        = pageLimit{max: maxPageEvents, defaultLimit: maxPageEvents}
	rowLimit          = pageLimit{max: session.MaxRowPage, defaultLimit: 200}
	taskLimit         = pageLimit{max: history.MaxTasks, defaultLimit: 100}
	adminSessionLimit = pageLimit{max: maxAdminRows, defaultLimit: maxListPage}
)

// param returns the description of the parameter.
func (l pageLimit) param() param {
	return param{name: "limit", doc: fmt.Sprintf("How many to show, at most %d: a larger number means as many.", l.max), defaultValue: l.defaultLimit}
}

// read returns the limit of a request, which is at most l.max.
func (l pageLimit) read(c echo.Context) (int, error) {
	text := c.QueryParam("limit")
	if text == "" {
		return l.defaultLimit, nil
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if errors.Is(err, strconv.ErrRange) {
		return l.max, nil
	}
	if err != nil || n == 0 {
		return 0, queryProblem("limit", fmt.Sprintf("Want a number of at least 1. A page has at most %d.", l.max))
	}
	return int(min(n, uint64(l.max))), nil //nolint:gosec // both fit
}
