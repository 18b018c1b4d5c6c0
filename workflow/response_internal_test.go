package workflow

import (
	"encoding/json"
	"net/url"
	"path"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/everdesk/everdesk/wire"
)

func TestReadInsight(t *testing.T) {
	t.Parallel()
	const none = `{"intent":{"domain":"general","category":"request","confidence":0},"entities":[]}`
	for name, c := range map[string]struct {
		text, want string
		asks       *clarification
	}{
		"as asked": {
			text: `{"intent":{"domain":"analysis","category":"sentiment","confidence":0.94},"entities":[{"type":"brand","value":"라네즈","confidence":0.98}]}`,
			want: `{"intent":{"domain":"analysis","category":"sentiment","confidence":0.94},"entities":[{"type":"brand","value":"라네즈","confidence":0.98}]}`,
		},
		"fenced, with a question": {
			text: "Sure:\n```json\n" + `{"intent":{"domain":"a"},"clarification":{"question":" Which\nbrand? ","ambiguity":"none named","suggestions":["A",1,"","B"],"required":true}}` + "\n```",
			want: `{"intent":{"domain":"a","category":"request","confidence":0},"entities":[]}`,
			asks: &clarification{Question: "Which brand?", Ambiguity: "none named", Suggestions: []string{"A", "B"}, Required: true},
		},
		"half of it wrong": {
			text: `{"intent":{"domain":5,"category":"c","confidence":7},"entities":[1,{"type":"x"},{"value":"v","confidence":"high"}],"clarification":{"required":true}}`,
			want: `{"intent":{"domain":"general","category":"c","confidence":1},"entities":[{"type":"thing","value":"v","confidence":0}]}`,
		},
		"prose":            {text: "You want a report.", want: none},
		"nothing":          {text: "", want: none},
		"an intent of air": {text: `{"intent":null,"entities":{},"clarification":[]}`, want: none},
	} {
		got := readInsight(c.text)
		if string(got.Result) != c.want || !reflect.DeepEqual(got.Clarification, c.asks) {
			t.Errorf("%s:\ngot  %s %+v\nwant %s %+v", name, got.Result, got.Clarification, c.want, c.asks)
		}
	}
}

func FuzzReadInsight(f *testing.F) {
	f.Add(`{"intent":{"domain":"a","confidence":1e9},"entities":[{"value":"v"}],"clarification":{"question":"?","suggestions":["a"]}}`)
	f.Add("```{}```")
	f.Fuzz(func(t *testing.T, text string) {
		got := readInsight(text)
		if _, err := free.Decode(got.Result); err != nil {
			t.Errorf("result %s is invalid: %v", got.Result, err)
		}
		if c := got.Clarification; c != nil && (c.Question == "" || len(c.Suggestions) > maxSuggestions) {
			t.Errorf("clarification is invalid: %+v, want a question and at most %d suggestions", c, maxSuggestions)
		}
	})
}

func TestReadResponse(t *testing.T) {
	t.Parallel()
	answer := wire.PlanResponse{
		Format: "mixed", Text: "All **good**.", Summary: "Good.",
		Attachments: []wire.PlanAttachment{
			{Type: "report", Title: "Report", URL: "/api/sessions/s1/files/out/a%20b%3F%23.md"},
			{Type: "file", Title: "그림.png", URL: "/api/sessions/s1/files/%EA%B7%B8%EB%A6%BC.png"},
		},
		NextActions: []string{"Compare"},
	}
	const full = `{"text":" All **good**. ","summary":"Good.","attachments":[{"type":"report","title":"Report","path":"out//./a b?#.md"},{"path":"그림.png"},
		{"path":"../x"},{"path":"/etc/passwd"},{"path":"a/../../b"},{"path":"a\\b"},{"path":"a\u0000b"},{"path":"."},{"path":""},{"path":7},{"title":"x"},"y",{"path":"https://example.com/x"},{"path":"C:/x"}],
		"next_actions":["Compare","",5]}`
	long := strings.Repeat("Words about it. ", 20)
	for name, c := range map[string]struct {
		text    string
		want    wire.PlanResponse
		reports []string
	}{
		"as asked":      {full, answer, []string{"/api/sessions/s1/files/out/a%20b%3F%23.md"}},
		"fenced":        {"```json\n" + full + "\n```", answer, []string{"/api/sessions/s1/files/out/a%20b%3F%23.md"}},
		"a little more": {"Here you are:\n" + full, answer, []string{"/api/sessions/s1/files/out/a%20b%3F%23.md"}},
		"prose":         {" It is\u0007 done.\n", wire.PlanResponse{Text: "It is done."}, nil},
		"an example":    {long + `{"text":"x"}`, wire.PlanResponse{Text: long + `{"text":"x"}`}, nil},
		"without text":  {`{"summary":"x"}`, wire.PlanResponse{Text: `{"summary":"x"}`}, nil},
		"nothing":       {"", wire.PlanResponse{}, nil},
	} {
		want := c.want
		if want.Format == "" {
			want.Format, want.Attachments, want.NextActions = "text", []wire.PlanAttachment{}, []string{}
		}
		got, reports := readResponse(c.text, "s1")
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", name, got, want)
		}
		if reports == nil || strings.Join(reports, " ") != strings.Join(c.reports, " ") {
			t.Errorf("%s: reports %q, want %q", name, reports, c.reports)
		}
	}
}

func FuzzReadResponse(f *testing.F) {
	f.Add(`{"text":"t","attachments":[{"type":"report","path":"a/b.md"}],"next_actions":["x"]}`)
	f.Add(`{"text":"t","attachments":[{"path":"..%2f..\u002f.."}]}`)
	f.Add("hello")
	f.Fuzz(func(t *testing.T, text string) {
		got, reports := readResponse(text, "s1")
		if !utf8.ValidString(got.Text) || len(got.Text) > maxText+len("…") || len(reports) > len(got.Attachments) {
			t.Errorf("got %+v and reports %q, want at most %d bytes of UTF-8 and reports among the attachments", got, reports, maxText+len("…"))
		}
		for _, a := range got.Attachments {
			u, err := url.Parse(a.URL)
			if err != nil || u.Host != "" || u.RawQuery != "" || u.Fragment != "" {
				t.Fatalf("attachment %q is read as %+v, error %v, want only a path", a.URL, u, err)
			}
			if name, ok := strings.CutPrefix(u.Path, "/api/sessions/s1/files/"); !ok || path.Clean("/"+name) != "/"+name || strings.ContainsRune(name, '\\') {
				t.Errorf("attachment %q has the path %q outside of the session, want one inside", a.URL, u.Path)
			}
		}
	})
}

func TestResultOf(t *testing.T) {
	t.Parallel()
	deep := `{"a":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`
	for text, want := range map[string]string{
		` {"count": 987, "b":"<x>"} `:        `{"count":987,"b":"<x>"}`,
		"```json\n{\"count\": 1}\n```\n":     `{"count":1}`,
		"Done: {\"count\":1}":                `{"text":"Done: {\"count\":1}"}`,
		"[1]":                                `{"text":"[1]"}`,
		"":                                   `{"text":""}`,
		"```json\n{\"count\": 1}\n``` done.": "{\"text\":\"```json\\n{\\\"count\\\": 1}\\n``` done.\"}",
		deep:                                 string(compact(map[string]string{"text": deep})),
		`{"a":"` + strings.Repeat("x", maxResult) + `"}`: `{"text":"{\"a\":\"` + strings.Repeat("x", maxResultText-6) + `…"}`,
	} {
		if got := string(resultOf(text)); got != want {
			t.Errorf("%.80q:\ngot  %.300s\nwant %.300s", text, got, want)
		}
	}
}

func FuzzResultOf(f *testing.F) {
	f.Add(`{"a":1}`)
	f.Add("```\n{}```")
	f.Fuzz(func(t *testing.T, text string) {
		var object map[string]json.RawMessage
		got := resultOf(text)
		if err := json.Unmarshal(got, &object); err != nil || object == nil || len(got) > maxResult {
			t.Errorf("result has %d bytes, error %v, want a JSON object of at most %d: %s", len(got), err, maxResult, got)
		}
		if _, err := free.Decode(got); err != nil {
			t.Errorf("the result cannot be encoded: %v", err)
		}
	})
}
