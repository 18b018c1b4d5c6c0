package arch_test

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"
)

// metaphors are words for which the field has a term of its own, which follows each.
var metaphors = map[string]string{
	"birth": "create lock", "births": "create locks",
	"crew": "session runner", "crews": "session runners",
	"deed": "action or permission", "deeds": "actions or permissions",
	"employer": "session ref",
	"errand":   "replica command", "errands": "replica commands",
	"gallery": "admin streams",
	"heart":   "heartbeat",
	"minds":   "providers",
	"porch":   "pollers",
	"shelf":   "file store",
	"staff":   "runner",
	"suffer":  "set a store issue",
	"usher":   "poller", "ushers": "pollers",
	"wish": "order or request", "wishes": "orders or requests",
}

// wordOf matches the words that a name is made of.
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
