package modes

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/everdesk/everdesk/wire"
)

// Bounds of modes.
const (
	MaxModes = 64 // that one user has added or overridden
	// MaxInstructions bounds instructions of modes, users and sessions, in bytes.
	MaxInstructions = 16 << 10
	// maxDocument leaves room below the 1 MiB of a document of the store.
	maxDocument = 900 << 10

	maxName  = 64  // characters
	maxModel = 64  // characters
	maxRule  = 500 // commands or tools in a list of rules
	maxText  = 500 // characters of each
)

// FieldError says which field of a mode is not valid, and what is.
type FieldError struct {
	Field  string
	Detail string
}

// Error implements error.
func (e *FieldError) Error() string { return e.Field + ": " + e.Detail }

func wrong(field, format string, args ...any) error {
	return &FieldError{Field: field, Detail: fmt.Sprintf(format, args...)}
}

var idForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// Check returns why a mode is not valid, as a [*FieldError], or nil. Whether its model profile exists is
// not checked: profiles come and go, and the default is used while there is none.
func (m Mode) Check() error {
	switch {
	case !idForm.MatchString(m.ID):
		return wrong("id", "want a to z, 0 to 9, _ and -, at most 64")
	case !isLine(m.Name, 1, maxName):
		return wrong("name", "want 1 to %d characters", maxName)
	case !IsInstructions(m.Instructions):
		return wrong("instructions", "want at most %d bytes of text", MaxInstructions)
	case !slices.Contains(ToolProfiles(), m.Tools):
		return wrong("toolProfile", "want one of %s", strings.Join(ToolProfiles(), ", "))
	case !isLine(m.Model, 0, maxModel):
		return wrong("model", "want the id or the name of a model profile, or nothing")
	}
	return checkRules(m.Approval)
}

// checkRules returns why approval rules are not valid, or nil.
func checkRules(r *wire.AutoApproval) error {
	if r == nil {
		return nil
	}
	for _, list := range []struct {
		field string
		texts []string
	}{{"allowedCommands", r.AllowedCommands}, {"deniedCommands", r.DeniedCommands}, {"allowedMcpTools", r.AllowedMcpTools}} {
		tooLong := func(s string) bool { return !utf8.ValidString(s) || utf8.RuneCountInString(s) > maxText }
		if len(list.texts) > maxRule || slices.ContainsFunc(list.texts, tooLong) {
			return wrong("approval."+list.field, "want at most %d texts of at most %d characters", maxRule, maxText)
		}
	}
	switch {
	case r.FollowupAutoApproveTimeoutMs < 0 || r.FollowupAutoApproveTimeoutMs > 86_400_000:
		return wrong("approval.followupAutoApproveTimeoutMs", "want 0 to 86400000")
	case r.AllowedMaxRequests < 0:
		return wrong("approval.allowedMaxRequests", "want 0 or more")
	case math.IsNaN(r.AllowedMaxCost) || r.AllowedMaxCost < 0:
		return wrong("approval.allowedMaxCost", "want 0 or more")
	}
	return nil
}

// IsInstructions reports whether s can be instructions of a mode, a user or a session.
func IsInstructions(s string) bool {
	return len(s) <= MaxInstructions && utf8.ValidString(s) && !strings.ContainsRune(s, 0)
}

// isLine reports whether s has least to most characters, none of them a control character, and no blank
// at its ends.
func isLine(s string, least, most int) bool {
	n := utf8.RuneCountInString(s)
	return utf8.ValidString(s) && n >= least && n <= most && strings.TrimSpace(s) == s && !strings.ContainsFunc(s, unicode.IsControl)
}
