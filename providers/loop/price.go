package loop

import (
	"regexp"
	"strings"

	"github.com/everdesk/everdesk/providers"
)

// Price is the price of a model in USD per million tokens.
type Price struct {
	Input, Output, CacheRead, CacheWrite float64
}

// Windows holds the sizes of context windows in tokens, by name of the model or prefix of the
// name.
type Windows map[string]int

// Of returns the size of the model's context window; 0 if unknown.
func (w Windows) Of(model string) int {
	best, window := 0, 0
	for name, n := range w {
		if len(name) > best && (model == name || strings.HasPrefix(model, name+"-")) {
			best, window = len(name), n
		}
	}
	return window
}

// Prices holds prices by name of the model.
type Prices map[string]Price

// dated matches the suffix of a model's name that names its edition.
var dated = regexp.MustCompile(`-(\d{8}|\d{4}-\d\d-\d\d|latest)$`)

// Cost returns the price of usage in USD; 0 if the price is unknown. A name with a date or
// "latest" as suffix is the same model.
func (p Prices) Cost(model string, u providers.Usage) float64 {
	price, ok := p[model]
	if !ok {
		price = p[dated.ReplaceAllString(model, "")]
	}
	return (float64(u.Input)*price.Input + float64(u.Output)*price.Output +
		float64(u.CacheRead)*price.CacheRead + float64(u.CacheWrite)*price.CacheWrite) / 1e6
}
