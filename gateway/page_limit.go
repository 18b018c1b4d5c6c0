package gateway

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/session"
)

// pageLimit is the query parameter limit of a listing. The description and the
// handlers share it, so that both agree.
type pageLimit struct {
	most  int // that a page can have
	usual int // that it has when the query has no limit
}

// The limits of all listings.
var (
	listLimit         = pageLimit{most: listPage, usual: listPage}
	eventLimit        = pageLimit{most: eventPage, usual: eventPage}
	rowLimit          = pageLimit{most: session.MaxRowPage, usual: 200}
	taskLimit         = pageLimit{most: history.MaxTasks, usual: 100}
	adminSessionLimit = pageLimit{most: monitorPage, usual: listPage}
)

// param describes the limit.
func (l pageLimit) param() param {
	return param{name: "limit", doc: fmt.Sprintf("How many to show, at most %d: a larger number means as many.", l.most), usual: l.usual}
}

// read returns the limit of a request: a number above the most becomes the most.
func (l pageLimit) read(c echo.Context) (int, error) {
	text := c.QueryParam("limit")
	if text == "" {
		return l.usual, nil
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if errors.Is(err, strconv.ErrRange) {
		return l.most, nil
	}
	if err != nil || n == 0 {
		return 0, queryProblem("limit", fmt.Sprintf("Want a number of at least 1. A page has at most %d.", l.most))
	}
	return int(min(n, uint64(l.most))), nil //nolint:gosec // both fit
}
