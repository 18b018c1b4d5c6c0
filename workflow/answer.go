package workflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// maxValue is the maximum length in bytes of a text that answers a question.
const maxValue = 8 << 10

// checkValue validates an answer and returns it in the form that a todo gets.
func checkValue(q wire.HITLInputRequest, value json.RawMessage) (json.RawMessage, error) {
	if absent(value) {
		if q.Required {
			return nil, errors.New("an answer is required")
		}
		return json.RawMessage("null"), nil
	}
	switch q.InputType {
	case wire.AnswerChoice:
		return checkChoice(q, value)
	case wire.AnswerMulti:
		return checkMulti(q, value)
	case wire.AnswerNumber:
		return checkNumber(q, value)
	case wire.AnswerDate:
		return checkDate(q, value)
	case wire.AnswerConfirm:
		var yes bool
		if json.Unmarshal(value, &yes) != nil {
			return nil, fmt.Errorf("want true or false, got %s", quoteValue(value))
		}
		return compact(yes), nil
	default:
		return checkText(q, value)
	}
}

func checkText(q wire.HITLInputRequest, value json.RawMessage) (json.RawMessage, error) {
	var s string
	switch err := json.Unmarshal(value, &s); {
	case err != nil:
		return nil, fmt.Errorf("want a text, got %s", quoteValue(value))
	case len(s) > maxValue:
		return nil, fmt.Errorf("the text has %d bytes, at most %d are allowed", len(s), maxValue)
	case q.Required && strings.TrimSpace(s) == "":
		return nil, errors.New("an answer is required")
	}
	return compact(s), nil
}

func checkChoice(q wire.HITLInputRequest, value json.RawMessage) (json.RawMessage, error) {
	var s string
	if json.Unmarshal(value, &s) != nil {
		return nil, fmt.Errorf("want the value of an option, got %s", quoteValue(value))
	}
	if err := checkOption(q, s); err != nil {
		return nil, err
	}
	return compact(s), nil
}

func checkMulti(q wire.HITLInputRequest, value json.RawMessage) (json.RawMessage, error) {
	var all []*string
	if json.Unmarshal(value, &all) != nil || slices.Contains(all, nil) {
		return nil, fmt.Errorf("want a list of values of options, got %s", quoteValue(value))
	}
	chosen := make([]string, 0, min(len(all), maxOptions))
	for _, s := range all {
		if err := checkOption(q, *s); err != nil {
			return nil, err
		}
		if slices.Contains(chosen, *s) {
			return nil, fmt.Errorf("%q is there twice", *s)
		}
		chosen = append(chosen, *s)
	}
	if q.Required && len(chosen) == 0 {
		return nil, errors.New("an answer is required")
	}
	return compact(chosen), nil
}

func checkOption(q wire.HITLInputRequest, value string) error {
	values := make([]string, len(q.Options))
	for i, o := range q.Options {
		values[i] = o.Value
	}
	if slices.Contains(values, value) {
		return nil
	}
	return fmt.Errorf("there is no option %q, %s", truncateBytes(value, maxField), truncateBytes(choices("options", values), 1000))
}

func checkNumber(q wire.HITLInputRequest, value json.RawMessage) (json.RawMessage, error) {
	f, ok := numberOf(value)
	switch {
	case !ok:
		return nil, fmt.Errorf("want a number, got %s", quoteValue(value))
	case q.Min != nil && f < *q.Min:
		return nil, fmt.Errorf("want at least %s, got %s", decimal(*q.Min), quoteValue(value))
	case q.Max != nil && f > *q.Max:
		return nil, fmt.Errorf("want at most %s, got %s", decimal(*q.Max), quoteValue(value))
	}
	return compact(f), nil
}

func checkDate(q wire.HITLInputRequest, value json.RawMessage) (json.RawMessage, error) {
	if !q.Range {
		var day string
		if json.Unmarshal(value, &day) != nil {
			return nil, fmt.Errorf("want a date such as 2026-02-06, got %s", quoteValue(value))
		}
		if err := checkDay(day); err != nil {
			return nil, err
		}
		return compact(day), nil
	}
	var c checker
	var days struct {
		From string `json:"from"`
		To   string `json:"to"`
	}
	members := c.object("", value)
	if len(members) != 2 || json.Unmarshal(members["from"], &days.From) != nil || json.Unmarshal(members["to"], &days.To) != nil {
		return nil, fmt.Errorf("want {\"from\": \"2026-02-06\", \"to\": \"2026-02-28\"}, got %s", quoteValue(value))
	}
	for _, day := range []string{days.From, days.To} {
		if err := checkDay(day); err != nil {
			return nil, err
		}
	}
	if days.From > days.To { // equal lengths, so the text order is the order in time
		return nil, fmt.Errorf("%s is after %s", days.From, days.To)
	}
	return compact(days), nil
}

func checkDay(day string) error {
	if _, err := time.Parse(time.DateOnly, day); err != nil {
		return fmt.Errorf("want a date such as 2026-02-06, got %q", truncateBytes(oneLine(day), 40))
	}
	return nil
}
