package remote

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/everdesk/everdesk/cmd/hub/internal/terminal"
	"github.com/everdesk/everdesk/wire"
)

// RefusedError is an answer of a hub that is not a success. Detail is safe to print.
type RefusedError struct {
	Status int
	Detail string
	Field  string // the invalid field, if the hub named one
}

// Error implements error.
func (r *RefusedError) Error() string { return fmt.Sprintf("hub answered %d: %s", r.Status, r.Detail) }

// refusedBy returns the error for an answer that is not a success. stranger is set if the request
// had no token.
func refusedBy(res *http.Response, answer []byte, stranger bool) error {
	var p struct {
		wire.Problem
		Field string `json:"field"`
	}
	if json.Unmarshal(answer, &p) != nil || p.Detail == "" {
		p.Detail = http.StatusText(res.StatusCode)
	}
	hint := ""
	if res.StatusCode == http.StatusUnauthorized && stranger {
		hint = " Say who you are with --token or HUB_TOKEN."
	}
	return &RefusedError{Status: res.StatusCode, Detail: terminal.OneLine(p.Detail) + hint, Field: p.Field}
}
