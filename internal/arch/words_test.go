package arch_test

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"
)

// metaphors maps words that must not occur in names to the standard term.
var metaphors = map[string]string{
	"birth": "create lock", "births": "create locks",
	"cries": "log limiter",
	"crew":  "session runner", "crews": "session runners",
	"deed": "action or permission", "deeds": "actions or permissions",
	"employer": "session ref",
	"errand":   "replica command", "errands": "replica commands",
	"gallery": "admin streams",
	"gulp":    "fast frame path", "gulps": "fast frame path",
	"heart": "heartbeat", "pulse": "heartbeat",
	"house":   "hub",
	"keeper":  "live session",
	"mcpdoor": "mcpserver",
	"minds":   "providers",
	"porch":   "pollers",
	"quota":   "rate limit",
	"seat":    "slot",
	"shelf":   "file store",
	"staff":   "runner",
	"suffer":  "set a store issue",
	"usher":   "poller", "ushers": "pollers",
	"wish": "order or request", "wishes": "orders or requests",
}

// wordOf matches the words of a name.
var wordOf = regexp.MustCompile(`[A-Z]+(?:[^a-z]|$)|[A-Z]?[a-z]+`)

func TestNamesAreNoMetaphors(t *testing.T) {
	t.Parallel()
	plain := map[string]bool{} // most names occur many times
	for _, p := range packages(t) {
		for _, s := range sources(t, p) {
			ast.Inspect(s.file, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				if !ok || plain[id.Name] {
					return true
				}
				plain[id.Name] = true
				for _, word := range wordOf.FindAllString(id.Name, -1) {
					if term, found := metaphors[strings.ToLower(word)]; found {
						plain[id.Name] = false
						t.Errorf("%s: %s: instead of %q use the standard term: %s", s.line(id), id.Name, word, term)
					}
				}
				return true
			})
		}
	}
}
