package prices

import (
	"regexp"
	"strings"

	"github.com/everdesk/everdesk/providers"
)

// Price is the price of a model in US dollars per million tokens.
type Price struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
}

// Cost returns what a model call costs in US dollars.
func (p Price) Cost(u providers.Usage) float64 {
	return (float64(max(u.Input, 0))*p.Input + float64(max(u.Output, 0))*p.Output +
		float64(max(u.CacheRead, 0))*p.CacheRead + float64(max(u.CacheWrite, 0))*p.CacheWrite) / 1e6
}

// Entry is a model in a [Table].
type Entry struct {
	Price
	// Above is the number of input tokens, cached ones included, above which a call has the price
	// Long; 0 means that the length does not matter.
	Above int
	Long  Price
}

// Table holds models by name.
type Table map[string]Entry

// edition matches the suffix of a model's name that names its edition.
var edition = regexp.MustCompile(`(-(\d{8}|\d{4}-\d\d-\d\d|latest)(-v\d+(:\d+)?)?|@\d{8})$`)

// vendor matches the prefix with which gateways name the maker of a model.
var vendor = regexp.MustCompile(`^(([a-z]+\.)?anthropic\.|(openrouter/)?(anthropic|openai)/)`)

// Find returns the entry of a model, and whether there is one.
func (t Table) Find(model string) (Entry, bool) {
	name := strings.ToLower(model)
	for range 2 {
		if e, ok := t[name]; ok {
			return e, true
		}
		if e, ok := t[edition.ReplaceAllString(name, "")]; ok {
			return e, true
		}
		name = vendor.ReplaceAllString(name, "")
	}
	return Entry{}, false
}

// Priced returns the usage of one call of a model with its cost: at the price own, or at the shipped
// one if own is nil. It marks the usage as unpriced if neither is known, or if the server counted no
// tokens and they are not free.
func Priced(own *Price, model string, u providers.Usage) providers.Usage {
	if own == nil {
		return Shipped().Priced(model, u)
	}
	return own.priced(u)
}

func (p Price) priced(u providers.Usage) providers.Usage {
	u.USD = p.Cost(u)
	u.Unpriced = u.Input+u.Output+u.CacheRead+u.CacheWrite <= 0 && p != (Price{})
	return u
}

// Priced returns the usage of one call of a model with its cost, or marked as unpriced if the table
// does not have the model.
func (t Table) Priced(model string, u providers.Usage) providers.Usage {
	e, known := t.Find(model)
	if !known {
		u.USD, u.Unpriced = 0, true
		return u
	}
	p := e.Price
	if e.Above > 0 && u.Input+u.CacheRead+u.CacheWrite > e.Above {
		p = e.Long
	}
	return p.priced(u)
}
