package loop

import (
	"regexp"

	"github.com/everdesk/everdesk/providers"
)

// Price is what a model costs, in USD per million tokens.
type Price struct {
	Input, Output, CacheRead, CacheWrite float64
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
