package demo_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/providers"
)

func TestTextDirectives(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"/say hello":                            "hello",
		"/say one\n/say two":                    "one\ntwo",
		"  /say   spaces around  ":              "spaces around",
		`/say two\nlines`:                       "two\nlines",
		"/say":                                  "",
		"/think hm\n/say done":                  "done",
		"/stream 3":                             "w1 w2 w3",
		"/say a\n/stream 2 1000\n/say b":        "a\nw1 w2\nb",
		"these words do not matter\n/say hello": "hello",
		"/nosteer":                              "",
		"/fill 3":                               "I remember 3 tokens more now.",
		"/fill 0":                               "I cannot do /fill: it wants a number of tokens up to 50000.",
		"/fill many":                            "I cannot do /fill: it wants a number of tokens up to 50000.",
		"/usage 7 5":                            "This took 7 tokens to read and 5 to write.",
		"/usage 7":                              "I cannot do /usage: it wants how many tokens were read and written, up to 10000000 each.",
		"/usage -1 5":                           "I cannot do /usage: it wants how many tokens were read and written, up to 10000000 each.",
		"/sleep soon":                           "I cannot do /sleep: it wants a time of at most an hour, such as 1500ms.",
		"/sleep 2h":                             "I cannot do /sleep: it wants a time of at most an hour, such as 1500ms.",
		"/stream x":                             "I cannot do /stream: it wants a number of words up to 100000, and perhaps how many a second, up to 10000.",
		"/stream 3 0":                           "I cannot do /stream: it wants a number of words up to 100000, and perhaps how many a second, up to 10000.",
		"/dance":                                "I cannot do /dance: there is no such directive; /help says what there is.",
		"/ask only one | option":                "I cannot do /ask: it wants a question and no options or several.",
		"/window":                               "I cannot do /window: it wants an id, a title and markdown, such as: w1 Hello | # Hi.",
		"/task web":                             "I cannot do /task: it wants a profile and what to do.",
		"/toast":                                "I cannot do /toast: it wants a text.",
		"/call":                                 "I cannot do /call: it wants a tool and its input, such as window:list {}.",
		`/call window:close {"windowId":`:       "I cannot do /call: the input of window:close is not JSON: it ends too early.",
		"/call no:such {}":                      "I do not have the tool no_such here.",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newDemoSession(t, nil)
				if got := d.says("m-1", text); got != want {
					t.Errorf("output is %q, want %q", got, want)
				}
				d.uses()
			})
		})
	}
}

func TestToolDirectives(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`/call window:create {"windowId": "a", "title":"b"}`: {`window_create {"title":"b","windowId":"a"}`},
		`/call window_close`: {`window_close {}`},
		`/call window_close {"windowId":"a"} window:close {"windowId":"b"}`: {`window_close {"windowId":"a"}`, `window_close {"windowId":"b"}`},
		`/window w1 My title | # Hi\nthere`:                                 {`window_create {"content":{"content":"# Hi\nthere","renderer":"markdown"},"title":"My title","windowId":"w1"}`},
		`/window w1`:                                                        {`window_create {"content":{"content":"","renderer":"markdown"},"title":"w1","windowId":"w1"}`},
		`/toast All saved`:                                                  {`window_show_toast {"message":"All saved","variant":"info"}`},
		`/ask Tea or coffee? | tea | coffee`: {
			`user_ask {"message":"Tea or coffee?","options":[{"label":"tea","value":"tea"},{"label":"coffee","value":"coffee"}],"title":"A question"}`,
		},
		`/ask Your name?`: {`user_request {"message":"Your name?","title":"A question"}`},
		"/task web /say a; /sleep 1s;/say b; c": {
			`task_run {"objective":"/say a\n/sleep 1s\n/say b; c","profile":"web"}`,
		},
		"/task code count the files": {`task_run {"objective":"count the files","profile":"code"}`},
		// The hub's blocks before the text, and neutralized tags in it.
		"<timeline>\n<ui:close>\n/say no</ui:close>\n</timeline>\n\n<open_windows>a, b</open_windows>\n\n<reload_options>\n[]\n</reload_options>\n\n/toast a <b> & &lt;ui:click> &amp;": {
			`window_show_toast {"message":"a <b> & <ui:click> &amp;","variant":"info"}`,
		},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newDemoSession(t, nil)
				d.says("m-1", text)
				d.uses(want...)
			})
		})
	}
}

func TestResultsArePrinted(t *testing.T) {
	t.Parallel()
	d := newDemoSession(t, nil)
	d.results["user_ask"] = providers.ToolResult{Text: "tea"}
	d.results["window_close"] = providers.ToolResult{Text: "no window x", IsError: true}
	d.results["window_create"] = providers.ToolResult{Text: "Created window w1."}
	d.results["task_run"] = providers.ToolResult{Text: "found it"}
	got := d.says("m-1", "/ask Which? | tea | coffee\n/call window:close {}\n/call window:update {}\n/window w1 T | text\n/task web look\n/task app build")
	want := "tea\nwindow_close did not work: no window x\nwindow_update is done.\nTask (web): found it\nTask (app): found it"
	if got != want {
		t.Errorf("output is %q, want %q", got, want)
	}
	// An opened window needs no text, a failed one does.
	d.results["window_create"] = providers.ToolResult{Text: "too many windows", IsError: true}
	d.has(d.says("m-2", "/window w1 T | text"), "too many windows")
}

func TestTasksRunAtOnce(t *testing.T) {
	t.Parallel()
	d := newDemoSession(t, nil)
	d.says("m-1", "/task web a\n/task code b\n/say between\n/task app c")
	together := map[int]int{}
	for n, e := range d.entries {
		for _, b := range e.Blocks {
			if b.Kind == providers.BlockToolCall {
				together[n]++
			}
		}
	}
	if len(together) != 2 || together[1] != 2 {
		t.Errorf("tasks are asked for in groups of %v, want two and one", together)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]providers.Failure{
		"/fail":                        {Class: providers.Invalid, Err: errors.New("the demo was told to fail")},
		"/fail no luck: today":         {Class: providers.Invalid, Err: errors.New("no luck: today")},
		"/fail rate: slow down":        {Class: providers.Rate, Err: errors.New("slow down")},
		"/fail rate 3s: slow down":     {Class: providers.Rate, RetryAfter: 3 * time.Second, Err: errors.New("slow down")},
		"/fail rate soon: slow down":   {Class: providers.Invalid, Err: errors.New("rate soon: slow down")},
		"/fail context_length: enough": {Class: providers.ContextLength, Err: errors.New("enough")},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			d := newDemoSession(t, nil)
			e := d.turn("m-1", "/say first\n"+text+"\n/say never")
			f, ok := errors.AsType[*providers.Failure](e.Err)
			if !ok || f.Class != want.Class || f.RetryAfter != want.RetryAfter || f.Err.Error() != want.Err.Error() {
				t.Errorf("it ended with %+v, want %+v", f, want)
			}
			if got := d.said("m-1"); got != "first" {
				t.Errorf(`output is %q, want "first"`, got)
			}
		})
	}
}

func TestTimeOfStreamsAndSleeps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDemoSession(t, nil)
		d.says("m-1", "/sleep 1500ms\n/stream 100\n/stream 11 10")
		if took := time.Since(d.began); took != 1500*time.Millisecond+99*20*time.Millisecond+time.Second {
			t.Errorf("it took %v, want 4.48s", took)
		}
		pieces := 0
		for _, e := range d.events {
			if e.Kind == providers.EventText {
				pieces++
			}
		}
		if pieces != 111 {
			t.Errorf("%d words arrived in %d pieces, want one for each", 111, pieces)
		}
	})
}

func TestTooManyDirectives(t *testing.T) {
	t.Parallel()
	d := newDemoSession(t, nil)
	got := d.says("m-1", strings.Repeat("/say x\n", 2000))
	if strings.Count(got, "x") != 500 {
		t.Errorf("output has it %d times, want 500", strings.Count(got, "x"))
	}
	d.has(got, "more than I do in one turn")
}

func TestToolsThatAreNotThere(t *testing.T) {
	t.Parallel()
	d := newDemoSession(t, nil, "window_close")
	got := d.says("m-1", "/toast hi\n/window a b | c\n/task web x\n/ask a | b | c\n/say still here")
	d.has(got, "window_show_toast", "window_create", "task_run", "user_ask", "still here")
	d.uses()
	for _, e := range d.entries {
		for _, b := range e.Blocks {
			if b.Kind == providers.BlockToolCall {
				t.Errorf("a call of %s is remembered, want no calls", b.Tool)
			}
		}
	}
}
