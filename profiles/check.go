package profiles

import (
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Bounds of profiles.
const (
	MaxProfiles = 64          // of one user
	maxName     = 64          // characters
	maxModel    = 200         // characters
	maxURL      = 2000        // bytes
	maxWindow   = 100_000_000 // tokens
	maxPrice    = 1_000_000   // per million tokens
)

// FieldError says which field of a profile is not valid, and what is.
type FieldError struct {
	Field  string
	Detail string
}

// Error implements error.
func (e *FieldError) Error() string { return e.Field + ": " + e.Detail }

func wrong(field, format string, args ...any) error {
	return &FieldError{Field: field, Detail: fmt.Sprintf(format, args...)}
}

var (
	idForm     = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)
	secretForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
)

// Check returns why a profile is not valid, as a [*FieldError], or nil. Whether its backend and its
// secret exist, and whether its URL may be used, is not checked here.
func (p Profile) Check() error {
	switch {
	case !idForm.MatchString(p.ID):
		return wrong("id", "want a to z, 0 to 9 and any of ._-, at most 64")
	case !isText(p.Name, 1, maxName):
		return wrong("name", "want 1 to %d characters", maxName)
	case !idForm.MatchString(p.Backend):
		return wrong("backend", "want the name of a backend, such as anthropic")
	case !isText(p.Model, 0, maxModel) || strings.HasPrefix(p.Model, "-"): // it may become an argument of a program
		return wrong("model", "want at most %d characters, the first one not -", maxModel)
	case p.BaseURL != "" && !isURL(p.BaseURL):
		return wrong("baseUrl", "want a URL, as in https://models.example.org/v1")
	case p.Secret != "" && !secretForm.MatchString(p.Secret):
		return wrong("secret", "want the name of a secret")
	case p.ContextWindow < 0 || p.ContextWindow > maxWindow:
		return wrong("contextWindow", "want 0 to %d", maxWindow)
	case p.Effort != "" && !slices.Contains(Efforts(), p.Effort):
		return wrong("effort", "want one of %s, or nothing", strings.Join(Efforts(), ", "))
	}
	return p.Prices.check()
}

func (p *Prices) check() error {
	if p == nil {
		return nil
	}
	for _, one := range []struct {
		field string
		price *float64
	}{{"input", p.Input}, {"output", p.Output}, {"cacheRead", p.CacheRead}, {"cacheWrite", p.CacheWrite}} {
		if one.price != nil && (math.IsNaN(*one.price) || *one.price < 0 || *one.price > maxPrice) {
			return wrong("prices."+one.field, "want 0 to %d, or null if it is unknown", maxPrice)
		}
	}
	if p.Currency != USD {
		return wrong("prices.currency", "want %s", USD)
	}
	if p.AsOf != "" {
		if _, err := time.Parse(time.DateOnly, p.AsOf); err != nil {
			return wrong("prices.asOf", "want a date, as in 2026-11-17")
		}
	}
	return nil
}

// isText reports whether s has least to most characters, none of them a control character, and no
// blank at its ends.
func isText(s string, least, most int) bool {
	n := utf8.RuneCountInString(s)
	return utf8.ValidString(s) && n >= least && n <= most && strings.TrimSpace(s) == s && !strings.ContainsFunc(s, unicode.IsControl)
}

// isURL reports whether s is the base URL of a server.
func isURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && len(s) <= maxURL && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" &&
		u.User == nil && u.RawQuery == "" && !u.ForceQuery && u.Fragment == ""
}
