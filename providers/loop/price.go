package loop

import (
	"regexp"
	"strings"

	"github.com/everdesk/everdesk/providers"
)

// Price is what a model costs, in USD per million tokens.
type Price struct {
	Input, Output, CacheRead, CacheWrite float64
}

// Windows are how many tokens models read, by the name of the model or by what it
// begins with.
type Windows map[string]int

// Of is how much a model reads; zero if that is not known.
func (w Windows) Of(model string) int {
	best, window := 0, 0
	for name, n := range w {
		if len(name) > best && (model == name || strings.HasPrefix(model, name+"-")) {
			best, window = len(name), n
		}
	}
	return window
}

// Prices are prices by the name of the model.
type Prices map[string]Price

// dated is the end of a model's name that says which edition it is.
var dated = regexp.MustCompile(`-(\d{8}|\d{4}-\d\d-\d\d|latest)$`)

// Cost is what usage of a model costs; zero if its price is not known. A name
// with a date after it, or "latest", is the same model.
func (p Prices) Cost(model string, u providers.Usage) float64 {
	price, ok := p[model]
	if !ok {
		price = p[dated.ReplaceAllString(model, "")]
	}
	return (float64(u.Input)*price.Input + float64(u.Output)*price.Output +
		float64(u.CacheRead)*price.CacheRead + float64(u.CacheWrite)*price.CacheWrite) / 1e6
}
