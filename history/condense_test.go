package history_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
)

func TestCondenseInput(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		all, want string
		err       error
	}{
		"nothing":                       {"", "", history.ErrTooShort},
		"one message":                   {"u1", "", history.ErrTooShort},
		"two messages":                  {"u1 a2", "u1 a2", nil},
		"only a summary":                {"u1/s a2/s S3=s", "", history.ErrRecently},
		"a summary and one more":        {"u1/s a2/s S3=s u4", "", history.ErrRecently},
		"a summary and two more":        {"u1/s a2/s S3=s u4 a5", "S3=s u4 a5", nil},
		"only the newest summary":       {"u1/s S2=s/z u3/z S4=z u5 a6", "S4=z u5 a6", nil},
		"what is left out is not in it": {"u1 a2|t u3|t M9=t a4 u5", "u1 M9=t a4 u5", nil},
		"the old layout":                {"u1/s a2/s S3=s a4 u5", "S3=s a4 u5", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, err := history.CondenseInput(thread(t, c.all))
			if got := short(in); got != c.want || !errors.Is(err, c.err) {
				t.Errorf("got %q, %v; want %q, %v", got, err, c.want, c.err)
			}
			// The result is the same for the whole thread and for its visible part.
			if seen, _ := history.CondenseInput(history.Effective(thread(t, c.all))); c.err == nil && short(seen) != c.want {
				t.Errorf("the input of the visible part is %s, want %s", short(seen), c.want)
			}
		})
	}
}

func TestCondensed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ all, want string }{
		"everything is tagged":       {"u1 a2 u3 a4", "u1/n a2/n u3/n a4/n S50=n"},
		"an older summary too":       {"u1/s a2/s S3=s u4 a5", "u1/s a2/s S3=s/n u4/n a5/n S50=n"},
		"markers and what they hide": {"u1 a2|t u3|t M9=t a4", "u1/n a2/n|t u3/n|t M9=t/n a4/n S50=n"},
		"calls and results":          {"u1 a2+A u3-A a4", "u1/n a2+A/n u3-A/n a4/n S50=n"},
		"three times":                {"u1/s S2=s/z u3/z S4=z u5 a6", "u1/s S2=s/z u3/z S4=z/n u5/n a6/n S50=n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := thread(t, c.all)
			unchanged(t, all)
			out, m, err := history.Condensed(all, history.Summary{ID: 70, Row: 50, TS: 9, Turn: "x", CondenseID: "n", Text: " much was said \n"})
			if got := short(out); err != nil || got != c.want {
				t.Fatalf("got %s, %v\nwant %s", got, err, c.want)
			}
			if got := short(history.Effective(out)); got != "S50=n" {
				t.Errorf("visible is %s, want S50=n", got)
			}
			if last := out[len(out)-1]; last.ID != 70 || last.Row != 50 || last.TS != 9 || last.Turn != "x" || last.Role != providers.RoleUser ||
				m.ID != 70 || len(m.Blocks) != 1 || !strings.HasSuffix(m.Blocks[0].Text, "\n\nmuch was said") {
				t.Errorf("the summary is %+v, want message 70 of row 50 by the user that ends with the text", last)
			}
			// A message added after the summary must not hide the summary.
			next := append(out, thread(t, "u51")...)
			if got := shortEntries(history.View(next)); got != "u[Summary u51]" {
				t.Errorf("the model gets %s, want u[Summary u51]", got)
			}
		})
	}
}

func TestCondensedToNothing(t *testing.T) {
	t.Parallel()
	all := thread(t, "u1 a2")
	out, _, err := history.Condensed(all, history.Summary{ID: 6, CondenseID: "n", Text: " \n\t"})
	if !errors.Is(err, history.ErrNoSummary) || short(out) != "u1 a2" {
		t.Errorf("an empty summary gives %s, error %v, want u1 a2 and %v", short(out), err, history.ErrNoSummary)
	}
}

func TestCondenseKeepsCommands(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first []string
		want  string
	}{
		"none":             {[]string{"do this"}, ""},
		"one":              {[]string{"please <command>be brief</command> now"}, "<command>be brief</command>"},
		"several":          {[]string{"<command>a</command> and <command>b</command>"}, "<command>a</command>\n<command>b</command>"},
		"in several parts": {[]string{"<command>a</command>", "or <command>b</command>"}, "<command>a</command>\n<command>b</command>"},
		"many lines":       {[]string{"<command>a\nb\n</command>"}, "<command>a\nb\n</command>"},
		"with attributes":  {[]string{`<command name="x">a</command>`}, `<command name="x">a</command>`},
		"not its sisters":  {[]string{"<commander>a</commander> <command>"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := thread(t, "u1 a2 u3")
			all[0].Blocks = nil
			for _, s := range c.first {
				all[0].Blocks = append(all[0].Blocks, providers.Block{Kind: providers.BlockText, Text: s})
			}
			// The second summary contains the tags copied into the first.
			for n, id := range []string{"n", "m"} {
				out, m, err := history.Condensed(all, history.Summary{ID: uint64(10 + 2*n), CondenseID: id, Text: "so far"})
				if err != nil {
					t.Fatal(err)
				}
				if c.want == "" && len(m.Blocks) != 1 || c.want != "" && !strings.HasSuffix(m.Blocks[len(m.Blocks)-1].Text, "\n\n"+c.want) {
					t.Errorf("summary %s is %+v, want %q at its end, or one block if that is empty", id, m.Blocks, c.want)
				}
				all = out
			}
		})
	}
}

func TestCondenseRequest(t *testing.T) {
	t.Parallel()
	picture := providers.Image{MediaType: "image/png", Data: []byte("p")}
	for name, c := range map[string]struct {
		all    string
		change func([]history.Message)
		images bool
		want   string
	}{
		"question and answer":        {all: "u1 a2", want: "u[u1] a[a2] u[The]"},
		"the question comes last":    {all: "u1 a2 u3", want: "u[u1] a[a2] u[u3 The]"},
		"calls are told":             {all: "u1 a2+A u3-A a4", want: "u[u1] a[a2 [Tool] u[[Result] a[a4] u[The]"},
		"an open call":               {all: "u1 a2+A", want: "u[u1] a[a2 [Tool] u[[Error The]"},
		"two open calls":             {all: "u1 a2+A+B", want: "u[u1] a[a2 [Tool [Tool] u[[Error [Error The]"},
		"one of two is open":         {all: "u1 a2+A+B u3-B", want: "u[u1] a[a2 [Tool [Tool] u[[Result [Error The]"},
		"results in two messages":    {all: "u1 a2+A+B u3-B u4-A", want: "u[u1] a[a2 [Tool [Tool] u[[Result [Result The]"},
		"after a summary":            {all: "S1=s u2 a3", want: "u[S1 u2] a[a3] u[The]"},
		"nothing but the question":   {all: "", want: "u[The]"},
		"an orphan result is text":   {all: "u1-A a2", want: "u[[Result] a[a2] u[The]"},
		"a failed call":              {all: "u1 a2+A u3-A", change: func(m []history.Message) { m[2].Blocks[0].IsError = true }, want: "u[u1] a[a2 [Tool] u[[Error The]"},
		"a result that says nothing": {all: "u1 a2+A u3-A", change: func(m []history.Message) { m[2].Blocks[0].Text = "" }, want: "u[u1] a[a2 [Tool] u[[Result The]"},
		"an input that is empty":     {all: "u1 a2+A u3-A", change: func(m []history.Message) { m[1].Blocks[1].Input = nil }, want: "u[u1] a[a2 [Tool] u[[Result The]"},
		"a picture": {all: "u1 a2", images: true, change: func(m []history.Message) {
			m[0].Blocks = append(m[0].Blocks, providers.Block{Kind: providers.BlockImage, Image: &picture})
		}, want: "u[u1 image] a[a2] u[The]"},
		"a picture, not seen": {all: "u1 a2", change: func(m []history.Message) {
			m[0].Blocks = append(m[0].Blocks, providers.Block{Kind: providers.BlockImage, Image: &picture})
		}, want: "u[u1 [a] a[a2] u[The]"},
		"a picture in a result": {all: "u1 a2+A u3-A", images: true, change: func(m []history.Message) { m[2].Blocks[0].Images = []providers.Image{picture} }, want: "u[u1] a[a2 [Tool] u[[Result image The]"},
		"a picture that is none": {all: "u1 a2", images: true, change: func(m []history.Message) {
			m[0].Blocks = append(m[0].Blocks, providers.Block{Kind: providers.BlockImage})
		}, want: "u[u1] a[a2] u[The]"},
		"thinking": {all: "u1 a2", change: func(m []history.Message) {
			m[1].Blocks = append([]providers.Block{{Kind: providers.BlockThinking, Text: "hm"}}, m[1].Blocks...)
		}, want: "u[u1] a[a2] u[The]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := thread(t, c.all)
			if c.change != nil {
				c.change(all)
			}
			unchanged(t, all)
			request := history.CondenseRequest(all, c.images)
			if got := shortEntries(request); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if err := providers.Check(request); err != nil {
				t.Error(err)
			}
		})
	}
}

// Tool calls, their inputs and results are in the request.
func TestCondenseRequestIsComplete(t *testing.T) {
	t.Parallel()
	all := thread(t, "u1 a2+A u3-A")
	all[1].Blocks[1].Input = json.RawMessage(`{"a":{"b":[1,2]}}`)
	all[2].Blocks[0].Text, all[2].Blocks[0].Tool = "<b>found</b>", "" // some backends omit the tool's name
	request := history.CondenseRequest(all, false)
	if got, want := request[1].Blocks[1].Text, `[Tool look was called: {"a":{"b":[1,2]}}]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := request[2].Blocks[0].Text, "[Result of tool look]\n<b>found</b>"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
