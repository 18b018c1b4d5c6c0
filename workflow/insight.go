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

// insight is what a model understood of a request.
type insight struct {
	// Result is {intent: {domain, category, confidence}, entities: […]}.
	Result        json.RawMessage
	Clarification *clarification
}

// clarification is a question to the user, whose request can be understood in more
// than one way.
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

// readInsight reads what a model understood. Nothing of it is needed to plan, so
// what is wrong is left out, and what cannot be read at all is an intent without a
// name.
func readInsight(text string) insight {
	u := understood{Intent: intent{Domain: "general", Category: "request"}, Entities: []entity{}}
	var members map[string]json.RawMessage
	if raw, err := findObject(text, "intent"); err == nil {
		_ = json.Unmarshal(raw, &members) // it was read as an object before
	}
	var found map[string]json.RawMessage
	if json.Unmarshal(members["intent"], &found) == nil {
		u.Intent.Domain = word(found["domain"], u.Intent.Domain)
		u.Intent.Category = word(found["category"], u.Intent.Category)
		u.Intent.Confidence = share(found["confidence"])
	}
	for _, raw := range some(members["entities"], maxEntities) {
		var e map[string]json.RawMessage
		if json.Unmarshal(raw, &e) != nil {
			continue
		}
		if value := word(e["value"], ""); value != "" {
			u.Entities = append(u.Entities, entity{Type: word(e["type"], "thing"), Value: value, Confidence: share(e["confidence"])})
		}
	}
	return insight{Result: compact(u), Clarification: readClarification(members["clarification"])}
}

func readClarification(raw json.RawMessage) *clarification {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil
	}
	c := clarification{Question: line(members["question"], maxQuestion), Ambiguity: line(members["ambiguity"], maxQuestion)}
	if c.Question == "" {
		return nil
	}
	_ = json.Unmarshal(members["required"], &c.Required) // what is no yes is a no
	for _, raw := range some(members["suggestions"], maxSuggestions) {
		if s := word(raw, ""); s != "" {
			c.Suggestions = append(c.Suggestions, s)
		}
	}
	return &c
}

// word is a short text, or otherwise if there is none.
func word(raw json.RawMessage, otherwise string) string {
	if s := line(raw, maxWord); s != "" {
		return s
	}
	return otherwise
}

// line is a text of at most so many bytes; what is none is empty.
func line(raw json.RawMessage, most int) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return cut(strings.TrimSpace(oneLine(s)), most)
}

// share is a number from 0 to 1.
func share(raw json.RawMessage) float64 {
	f, _ := numberOf(raw)
	return min(max(f, 0), 1)
}
