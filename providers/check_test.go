package providers_test

import (
	"encoding/json"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/providers"
)

func user(blocks ...providers.Block) providers.Entry {
	return providers.Entry{Role: providers.RoleUser, Blocks: blocks}
}

func assistant(blocks ...providers.Block) providers.Entry {
	return providers.Entry{Role: providers.RoleAssistant, Blocks: blocks}
}

func text(s string) providers.Block { return providers.Block{Kind: providers.BlockText, Text: s} }

func call(id string) providers.Block {
	return providers.Block{Kind: providers.BlockToolCall, Call: id, Tool: "look", Input: json.RawMessage(` {"at":1}`)}
}

func result(id string) providers.Block {
	return providers.Block{Kind: providers.BlockToolResult, Call: id, Tool: "look"}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	thinking := providers.Block{Kind: providers.BlockThinking, Text: "hm", From: "here"}
	image := providers.Block{Kind: providers.BlockImage, Image: &providers.Image{MediaType: "image/png"}}
	badInput := call("c")
	badInput.Input = json.RawMessage(`[]`)
	for name, c := range map[string]struct {
		entries []providers.Entry
		want    error
	}{
		"nothing":                              {nil, nil},
		"a question":                           {[]providers.Entry{user(text("hi"))}, nil},
		"question and answer":                  {[]providers.Entry{user(text("hi"), image), assistant(thinking, text("ho"))}, nil},
		"a call and its result":                {[]providers.Entry{user(text("hi")), assistant(call("c")), user(result("c"))}, nil},
		"two calls, answered the other way":    {[]providers.Entry{user(text("hi")), assistant(call("c"), call("d")), user(result("d"), result("c"), text("and"))}, nil},
		"the assistant begins":                 {[]providers.Entry{assistant(text("hi"))}, providers.ErrNotUser},
		"the user twice":                       {[]providers.Entry{user(text("hi")), user(text("hi"))}, providers.ErrSameRole},
		"the assistant twice":                  {[]providers.Entry{user(text("hi")), assistant(text("a")), assistant(text("b"))}, providers.ErrSameRole},
		"unknown role":                         {[]providers.Entry{user(text("hi")), {Role: "system", Blocks: []providers.Block{text("x")}}}, providers.ErrSameRole},
		"an empty message":                     {[]providers.Entry{user()}, providers.ErrEmpty},
		"a blank text":                         {[]providers.Entry{user(text(" \n"))}, providers.ErrEmpty},
		"a picture that is none":               {[]providers.Entry{user(providers.Block{Kind: providers.BlockImage})}, providers.ErrEmpty},
		"a picture of the assistant":           {[]providers.Entry{user(text("hi")), assistant(image)}, providers.ErrPlace},
		"a call of the user":                   {[]providers.Entry{user(call("c"))}, providers.ErrPlace},
		"a result of the assistant":            {[]providers.Entry{user(text("hi")), assistant(call("c")), user(result("c")), assistant(result("c"))}, providers.ErrPlace},
		"a result after a text":                {[]providers.Entry{user(text("hi")), assistant(call("c")), user(text("so"), result("c"))}, providers.ErrPlace},
		"thinking of the user":                 {[]providers.Entry{user(thinking)}, providers.ErrPlace},
		"thinking at the end":                  {[]providers.Entry{user(text("hi")), assistant(text("a"), thinking)}, providers.ErrPlace},
		"unknown kind":                         {[]providers.Entry{user(providers.Block{Kind: "smell"})}, providers.ErrPlace},
		"a result of nothing":                  {[]providers.Entry{user(result("c"))}, providers.ErrNoCall},
		"a result that comes later":            {[]providers.Entry{user(text("hi")), assistant(call("c")), user(result("c")), assistant(text("a")), user(result("c"))}, providers.ErrNoCall},
		"a result twice":                       {[]providers.Entry{user(text("hi")), assistant(call("c")), user(result("c"), result("c"))}, providers.ErrNoCall},
		"a call without a result":              {[]providers.Entry{user(text("hi")), assistant(call("c")), user(text("so"))}, providers.ErrNoResult},
		"a call at the end":                    {[]providers.Entry{user(text("hi")), assistant(call("c"))}, providers.ErrNoResult},
		"one of two calls":                     {[]providers.Entry{user(text("hi")), assistant(call("c"), call("d")), user(result("d"))}, providers.ErrNoResult},
		"two calls of one id":                  {[]providers.Entry{user(text("hi")), assistant(call("c"), call("c")), user(result("c"))}, providers.ErrSameCall},
		"a call of an id that is used already": {[]providers.Entry{user(text("hi")), assistant(call("c")), user(result("c")), assistant(call("c")), user(result("c"))}, providers.ErrSameCall},
		"a call without an id":                 {[]providers.Entry{user(text("hi")), assistant(call("")), user(result(""))}, providers.ErrSameCall},
		"an input that is no object":           {[]providers.Entry{user(text("hi")), assistant(badInput), user(result("c"))}, providers.ErrInput},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := providers.Check(c.entries)
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if f, ok := errors.AsType[*providers.Failure](providers.Checked(c.entries)); ok != (c.want != nil) || ok && f.Class != providers.Invalid {
				t.Errorf("a request fails with %v, want class %s only if the check finds something", f, providers.Invalid)
			}
			for _, backend := range []string{"", "here", "elsewhere"} {
				if err := providers.Check(providers.Corrected(c.entries, providers.CorrectOptions{Backend: backend})); err != nil {
					t.Errorf("corrected for %q: %v", backend, err)
				}
			}
		})
	}
}

// Corrected does not change a valid conversation, and is idempotent.
func TestRepairIsStable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		entries := rapid.SliceOfN(anyEntry(), 0, 8).Draw(r, "entries")
		before := encoded(r, entries)
		once := providers.Corrected(entries, providers.CorrectOptions{})
		if after := encoded(r, entries); after != before {
			r.Fatalf("Corrected changed its argument, want it unchanged:\n%s\n%s", before, after)
		}
		if err := providers.Check(once); err != nil {
			r.Fatalf("%v\n%s\n%s", err, before, encoded(r, once))
		}
		if a, b := encoded(r, once), encoded(r, providers.Corrected(once, providers.CorrectOptions{})); a != b {
			r.Fatalf("corrected again it differs, want the same:\n%s\n%s", a, b)
		}
		open := providers.Corrected(entries, providers.CorrectOptions{Open: true})
		if n := len(open); n > len(once) || encoded(r, once[:n]) != encoded(r, open) {
			r.Fatalf("corrected with Open it differs in more than its end, want a prefix:\n%s\n%s", encoded(r, once), encoded(r, open))
		}
	})
}

func anyEntry() *rapid.Generator[providers.Entry] {
	block := rapid.Custom(func(r *rapid.T) providers.Block {
		b := providers.Block{
			Kind: rapid.SampledFrom([]providers.BlockKind{
				"", providers.BlockText, providers.BlockThinking, providers.BlockImage,
				providers.BlockToolCall, providers.BlockToolResult, providers.BlockOpaque,
			}).Draw(r, "kind"),
			Text:  rapid.SampledFrom([]string{"", " \n", "words"}).Draw(r, "text"),
			Call:  rapid.SampledFrom([]string{"", "c1", "c2", "c3"}).Draw(r, "call"),
			Input: json.RawMessage(rapid.SampledFrom([]string{"{}", "[]", `{"a":2}`, `"text"`}).Draw(r, "input")),
		}
		if rapid.Bool().Draw(r, "picture") {
			b.Image = &providers.Image{MediaType: "image/png"}
		}
		return b
	})
	return rapid.Custom(func(r *rapid.T) providers.Entry {
		return providers.Entry{
			Role:   rapid.SampledFrom([]providers.Role{providers.RoleUser, providers.RoleAssistant, "system"}).Draw(r, "role"),
			Blocks: rapid.SliceOfN(block, 0, 4).Draw(r, "blocks"),
		}
	})
}

func encoded(r *rapid.T, entries []providers.Entry) string {
	data, err := json.Marshal(entries)
	if err != nil {
		r.Fatal(err)
	}
	return string(data)
}

// Open results and the next message are joined into one entry, which belongs to the turn of
// that message: a backend that continues the turn looks for it there.
func TestMendedEntryIsOfTheTurnItBegins(t *testing.T) {
	t.Parallel()
	of := func(turn string, e providers.Entry) providers.Entry {
		e.Turn = turn
		return e
	}
	all := providers.Corrected([]providers.Entry{
		of("m1", user(text("one"))), of("m1", assistant(call("c"))), of("m1", user(result("c"))),
		of("m2", user(text("two"))), of("m2", assistant(text("on it"))),
	}, providers.CorrectOptions{})
	want := []string{"m1", "m1", "m2", "m2"}
	for i, e := range all {
		if i >= len(want) || e.Turn != want[i] {
			t.Fatalf("entry %d is of turn %q, want those of %q", i, e.Turn, want)
		}
	}
}
