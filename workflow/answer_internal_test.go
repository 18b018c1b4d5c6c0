package workflow

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

func inputQuestions() map[string]wire.HITLInputRequest {
	options := []wire.Option{{Value: "1m", Label: "A month"}, {Value: "3m", Label: "Three"}}
	return map[string]wire.HITLInputRequest{
		"text":     {InputType: wire.AnswerText},
		"text!":    {InputType: wire.AnswerText, Required: true},
		"choice":   {InputType: wire.AnswerChoice, Options: options},
		"multi":    {InputType: wire.AnswerMulti, Options: options},
		"multi!":   {InputType: wire.AnswerMulti, Options: options, Required: true},
		"number":   {InputType: wire.AnswerNumber},
		"number!":  {InputType: wire.AnswerNumber, Min: new(1.0), Max: new(5.0), Required: true},
		"date":     {InputType: wire.AnswerDate},
		"range":    {InputType: wire.AnswerDate, Range: true},
		"confirm":  {InputType: wire.AnswerConfirm},
		"confirm!": {InputType: wire.AnswerConfirm, Required: true},
		"":         {},
	}
}

func TestCheckValue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ question, value, want, wrong string }{
		{"text", `null`, `null`, ""},
		{"text", ``, `null`, ""},
		{"text", `""`, `""`, ""},
		{"text", ` "a \u003cb> \n" `, `"a <b> \n"`, ""},
		{"text", `5`, "", "want a text, got 5"},
		{"text", `"` + strings.Repeat("x", maxValue+1) + `"`, "", "the text has 8193 bytes, at most 8192 are allowed"},
		{"text!", `null`, "", "an answer is required"},
		{"text!", `" \n"`, "", "an answer is required"},
		{"", `"any"`, `"any"`, ""},
		{"choice", `"3m"`, `"3m"`, ""},
		{"choice", `"Three"`, "", `there is no option "Three", the options are 1m, 3m`},
		{"choice", `["3m"]`, "", `want the value of an option, got ["3m"]`},
		{"multi", `["3m", "1m"]`, `["3m","1m"]`, ""},
		{"multi", `[]`, `[]`, ""},
		{"multi", `["3m","3m"]`, "", `"3m" is there twice`},
		{"multi", `["3m",null]`, "", `want a list of values of options, got ["3m",null]`},
		{"multi", `"3m"`, "", `want a list of values of options, got "3m"`},
		{"multi", `["6m"]`, "", `there is no option "6m", the options are 1m, 3m`},
		{"multi!", `[]`, "", "an answer is required"},
		{"number", `-1.50e1`, `-15`, ""},
		{"number", `1e999`, "", "want a number, got 1e999"},
		{"number", `"5"`, "", `want a number, got "5"`},
		{"number", `NaN`, "", "want a number, got NaN"},
		{"number!", `5`, `5`, ""},
		{"number!", `0.99`, "", "want at least 1, got 0.99"},
		{"number!", `5.01`, "", "want at most 5, got 5.01"},
		{"date", `"2024-02-29"`, `"2024-02-29"`, ""},
		{"date", `"2026-02-29"`, "", `want a date such as 2026-02-06, got "2026-02-29"`},
		{"date", `"2026-2-6"`, "", `want a date such as 2026-02-06, got "2026-2-6"`},
		{"date", `"2026-02-06T10:00:00Z"`, "", `want a date such as 2026-02-06, got "2026-02-06T10:00:00Z"`},
		{"date", `20260206`, "", "want a date such as 2026-02-06, got 20260206"},
		{"range", `{"to":"2026-02-28","from":"2026-02-06"}`, `{"from":"2026-02-06","to":"2026-02-28"}`, ""},
		{"range", `{"from":"2026-02-06","to":"2026-02-06"}`, `{"from":"2026-02-06","to":"2026-02-06"}`, ""},
		{"range", `{"from":"2026-02-07","to":"2026-02-06"}`, "", "2026-02-07 is after 2026-02-06"},
		{"range", `{"from":"2026-02-07","to":null}`, "", `want a date such as 2026-02-06, got ""`},
		{"range", `{"from":"2026-02-07"}`, "", `want {"from": "2026-02-06", "to": "2026-02-28"}, got {"from":"2026-02-07"}`},
		{"range", `"2026-02-07"`, "", `want {"from": "2026-02-06", "to": "2026-02-28"}, got "2026-02-07"`},
		{"confirm", `false`, `false`, ""},
		{"confirm!", `false`, `false`, ""},
		{"confirm", `"yes"`, "", `want true or false, got "yes"`},
	} {
		got, err := checkValue(inputQuestions()[c.question], json.RawMessage(c.value))
		switch {
		case c.wrong == "" && (err != nil || string(got) != c.want):
			t.Errorf("%s %.80s: got %s, %v; want %s", c.question, c.value, got, err, c.want)
		case c.wrong != "" && (err == nil || err.Error() != c.wrong || got != nil):
			t.Errorf("%s %.80s:\ngot  %v, %s\nwant %s", c.question, c.value, err, got, c.wrong)
		}
	}
}

func FuzzCheckValue(f *testing.F) {
	for _, value := range []string{`"a"`, `["1m"]`, `{"from":"2026-02-06","to":"2026-02-07"}`, `1e5`, `null`, `true`, `"2026-02-06"`, `[`} {
		f.Add([]byte(value))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		for name, q := range inputQuestions() {
			got, err := checkValue(q, value)
			if err != nil {
				continue
			}
			if _, err := free.Decode(got); err != nil {
				t.Errorf("%s: %q cannot be sent: %v", name, got, err)
			}
			if again, err := checkValue(q, got); err != nil || string(again) != string(got) {
				t.Errorf("%s: %q is checked again as %q, error %v, want the same", name, got, again, err)
			}
			if q.Required && slices.Contains([]string{"null", `""`, "[]"}, string(got)) {
				t.Errorf("%s: %s was accepted for a required question, want a refusal", name, got)
			}
		}
	})
}
