package profiles_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/profiles"
)

// valid returns a profile that uses every field.
func valid() profiles.Profile {
	return profiles.Profile{
		ID: "sonnet", Name: "Sonnet 4.5", Backend: "anthropic", Model: "claude-sonnet-4-5", BaseURL: "https://models.example.org/v1",
		Secret: "anthropicKey", ContextWindow: 200_000, Effort: "high",
		Prices: &profiles.Prices{Input: new(3.0), Output: new(15.0), CacheRead: new(0.3), Currency: profiles.USD, AsOf: "2026-11-17"},
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		edit func(*profiles.Profile)
		want string // the wrong field
	}{
		"complete":           {func(*profiles.Profile) {}, ""},
		"shortest":           {func(p *profiles.Profile) { *p = profiles.Profile{ID: "a", Name: "A", Backend: "demo"} }, ""},
		"names in Korean":    {func(p *profiles.Profile) { p.Name = strings.Repeat("모", 64) }, ""},
		"free model":         {func(p *profiles.Profile) { p.Prices.Input = new(0.0) }, ""},
		"no id":              {func(p *profiles.Profile) { p.ID = "" }, "id"},
		"id with a slash":    {func(p *profiles.Profile) { p.ID = "a/b" }, "id"},
		"id in upper case":   {func(p *profiles.Profile) { p.ID = "Sonnet" }, "id"},
		"long id":            {func(p *profiles.Profile) { p.ID = strings.Repeat("a", 65) }, "id"},
		"no name":            {func(p *profiles.Profile) { p.Name = "" }, "name"},
		"blank name":         {func(p *profiles.Profile) { p.Name = " x" }, "name"},
		"line break in name": {func(p *profiles.Profile) { p.Name = "a\nb" }, "name"},
		"invalid UTF-8":      {func(p *profiles.Profile) { p.Name = "a\xff" }, "name"},
		"long name":          {func(p *profiles.Profile) { p.Name = strings.Repeat("a", 65) }, "name"},
		"no backend":         {func(p *profiles.Profile) { p.Backend = "" }, "backend"},
		"long model":         {func(p *profiles.Profile) { p.Model = strings.Repeat("a", 201) }, "model"},
		"model as a flag":    {func(p *profiles.Profile) { p.Model = "--help" }, "model"},
		"no scheme":          {func(p *profiles.Profile) { p.BaseURL = "models.example.org" }, "baseUrl"},
		"file":               {func(p *profiles.Profile) { p.BaseURL = "file:///etc/passwd" }, "baseUrl"},
		"password in URL":    {func(p *profiles.Profile) { p.BaseURL = "https://a:b@models.example.org" }, "baseUrl"},
		"query in URL":       {func(p *profiles.Profile) { p.BaseURL = "https://models.example.org?key=x" }, "baseUrl"},
		"secret as text":     {func(p *profiles.Profile) { p.Secret = "sk ant" }, "secret"},
		"negative window":    {func(p *profiles.Profile) { p.ContextWindow = -1 }, "contextWindow"},
		"huge window":        {func(p *profiles.Profile) { p.ContextWindow = 100_000_001 }, "contextWindow"},
		"unknown effort":     {func(p *profiles.Profile) { p.Effort = "extreme" }, "effort"},
		"negative price":     {func(p *profiles.Profile) { p.Prices.Output = new(-0.1) }, "prices.output"},
		"price of NaN":       {func(p *profiles.Profile) { p.Prices.CacheWrite = new(math.NaN()) }, "prices.cacheWrite"},
		"other currency":     {func(p *profiles.Profile) { p.Prices.Currency = "EUR" }, "prices.currency"},
		"no date":            {func(p *profiles.Profile) { p.Prices.AsOf = "yesterday" }, "prices.asOf"},
	} {
		p := valid()
		tt.edit(&p)
		got := ""
		if err := p.Check(); err != nil {
			f, ok := errors.AsType[*profiles.FieldError](err)
			if !ok || f.Detail == "" {
				t.Errorf("%s: got error %v, want one of a field", name, err)
				continue
			}
			got = f.Field
		}
		if got != tt.want {
			t.Errorf("%s: the wrong field is %q, want %q", name, got, tt.want)
		}
	}
}

func TestCost(t *testing.T) {
	t.Parallel()
	prices := &profiles.Prices{Input: new(3.0), Output: new(15.0), CacheRead: new(0.0)}
	for name, tt := range map[string]struct {
		prices *profiles.Prices
		usage  profiles.Usage
		cost   float64
		known  bool
	}{
		"all known":          {prices, profiles.Usage{Input: 1_000_000, Output: 100_000, CacheRead: 7}, 4.5, true},
		"unknown but unused": {prices, profiles.Usage{Input: 1_000_000}, 3, true},
		"unknown and used":   {prices, profiles.Usage{Input: 1_000_000, CacheWrite: 1}, 0, false},
		"no prices":          {nil, profiles.Usage{Input: 1}, 0, false},
		"nothing used":       {prices, profiles.Usage{}, 0, true},
	} {
		if cost, known := tt.prices.Cost(tt.usage); cost != tt.cost || known != tt.known {
			t.Errorf("%s: got %v, %v, want %v, %v", name, cost, known, tt.cost, tt.known)
		}
	}
}
