package agent

import (
	"errors"
	"net/http"
	"strings"

	"github.com/everdesk/everdesk/providers"
)

// HTTPFailure returns the failure of a model call of the agent by its HTTP status, 0 if unknown, and
// by the agent's description of it.
func HTTPFailure(status int, text string) *providers.Failure {
	f := &providers.Failure{Class: providers.Transport, Err: errors.New(text)}
	lower := strings.ToLower(text)
	switch {
	case strings.Contains(lower, "prompt is too long"), strings.Contains(lower, "context window"), strings.Contains(lower, "context length"):
		f.Class = providers.ContextLength
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		f.Class = providers.Auth
	case status == http.StatusTooManyRequests:
		f.Class = providers.Rate
	case status == 529, status == http.StatusServiceUnavailable:
		f.Class = providers.Overloaded
	case status >= 400 && status < 500, status == 0 && strings.Contains(lower, "invalid_request_error"):
		f.Class = providers.Invalid
	}
	return f
}
