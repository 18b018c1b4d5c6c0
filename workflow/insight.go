package workflow

import (
	"encoding/json"
	"strings"
)

const (
	maxEntities    = 50
	maxWord        = 200 // characters of a domain, a category, a value
	maxSuggestions = 10
)

// insight is a model's interpretation of a request.
type insight struct {
	// Result is {intent: {domain, category, confidence}, entities: […]}.
	Result        json.RawMessage
	Clarification *clarification
}

// clarification is a question to the user about an ambiguous request.
type clarification struct {
	Ambiguity   string   `json:"ambiguity,omitempty"`
	Question    string   `json:"question"`
	Suggestions []string `json:"suggestions,omitempty"`
	Required    bool     `json:"required,omitempty"`
}

type intent struct {
	Domain     string  `json:"domain"`
	Category   string  `json:"category"`
	Confidence float64 `json:"confidence"`
}

type entity struct {
	Type       string  `json:"type"`
	Value      string  `json:"value"`
	Confidence float64 `json:"confidence"`
}

type understood struct {
	Intent   intent   `json:"intent"`
	Entities []entity `json:"entities"`
}

// readInsight parses a model's interpretation of a request. Planning does not depend on it,
// so invalid parts are dropped, and an unreadable text becomes a generic intent.
func readInsight(text string) insight {
	u := understood{Intent: intent{Domain: "general", Category: "request"}, Entities: []entity{}}
	var members map[string]json.RawMessage
	if raw, err := findObject(text, "intent"); err == nil {
		_ = json.Unmarshal(raw, &members) // findObject decoded it as an object
	}
	var found map[string]json.RawMessage
	if json.Unmarshal(members["intent"], &found) == nil {
		u.Intent.Domain = shortText(found["domain"], u.Intent.Domain)
		u.Intent.Category = shortText(found["category"], u.Intent.Category)
		u.Intent.Confidence = fraction(found["confidence"])
	}
	for _, raw := range firstElements(members["entities"], maxEntities) {
		var e map[string]json.RawMessage
		if json.Unmarshal(raw, &e) != nil {
			continue
		}
		if value := shortText(e["value"], ""); value != "" {
			u.Entities = append(u.Entities, entity{Type: shortText(e["type"], "thing"), Value: value, Confidence: fraction(e["confidence"])})
		}
	}
	return insight{Result: compact(u), Clarification: readClarification(members["clarification"])}
}

func readClarification(raw json.RawMessage) *clarification {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil
	}
	c := clarification{Question: singleLine(members["question"], maxQuestion), Ambiguity: singleLine(members["ambiguity"], maxQuestion)}
	if c.Question == "" {
		return nil
	}
	_ = json.Unmarshal(members["required"], &c.Required) // anything else than true is false
	for _, raw := range firstElements(members["suggestions"], maxSuggestions) {
		if s := shortText(raw, ""); s != "" {
			c.Suggestions = append(c.Suggestions, s)
		}
	}
	return &c
}

// shortText returns a short text, or the given default.
func shortText(raw json.RawMessage, otherwise string) string {
	if s := singleLine(raw, maxWord); s != "" {
		return s
	}
	return otherwise
}

// singleLine returns a text of at most limit bytes without line breaks; "" if the value is
// not a text.
func singleLine(raw json.RawMessage, limit int) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return truncateBytes(strings.TrimSpace(oneLine(s)), limit)
}

// fraction returns a number clamped to the range 0 to 1.
func fraction(raw json.RawMessage) float64 {
	f, _ := numberOf(raw)
	return min(max(f, 0), 1)
}
