package history_test

import (
	"testing"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
)

func TestRepair(t *testing.T) {
	t.Parallel()
	// want is the repaired message, view the request with the messages before it.
	for name, c := range map[string]struct{ all, next, want, view string }{
		"no speaker before":           {"", "u9", "u[u9]", "u[u9]"},
		"no results":                  {"u1 a2", "u9", "u[u9]", "u[u1] a[a2] u[u9]"},
		"one that matches":            {"u1 a2+A", "u9-A", "u[-A]", "u[u1] a[a2 +A] u[-A]"},
		"several that match":          {"u1 a2+A+B", "u9-B-A", "u[-B -A]", "u[u1] a[a2 +A +B] u[-A -B]"},
		"a wrong id":                  {"u1 a2+A", "u9-X", "u[-A]", "u[u1] a[a2 +A] u[-A]"},
		"several wrong ids":           {"u1 a2+A+B", "u9-X-Y", "u[-A -B]", "u[u1] a[a2 +A +B] u[-A -B]"},
		"the first is wrong":          {"u1 a2+A+B", "u9-X-B", "u[-A -B]", "u[u1] a[a2 +A +B] u[-A -B]"},
		"the second is wrong":         {"u1 a2+A+B", "u9-A-X", "u[-A -B]", "u[u1] a[a2 +A +B] u[-A -B]"},
		"its place is taken":          {"u1 a2+A+B", "u9-X-A", "u[-A]", "u[u1] a[a2 +A +B] u[-A -B]"},
		"a text is kept":              {"u1 a2+A", "u9-X!", "u[u9 -A]", "u[u1] a[a2 +A] u[-A u9]"},
		"more results than calls":     {"u1 a2+A", "u9-X-Y-Z", "u[-A]", "u[u1] a[a2 +A] u[-A]"},
		"the same twice":              {"u1 a2+A", "u9-A-A!", "u[u9 -A]", "u[u1] a[a2 +A] u[-A u9]"},
		"the same twice, two calls":   {"u1 a2+A+B", "u9-A-A", "u[-A]", "u[u1] a[a2 +A +B] u[-A -B]"},
		"none at all":                 {"u1 a2+A", "u9", "u[u9]", "u[u1] a[a2 +A] u[-A u9]"},
		"none of several":             {"u1 a2+A+B", "u9", "u[u9]", "u[u1] a[a2 +A +B] u[-A -B u9]"},
		"some are missing":            {"u1 a2+A+B+C", "u9-B!", "u[u9 -B]", "u[u1] a[a2 +A +B +C] u[-A -B -C u9]"},
		"they come one by one":        {"u1 a2+A+B u3-A", "u9-B", "u[-B]", "u[u1] a[a2 +A +B] u[-A -B]"},
		"one by one with a wrong id":  {"u1 a2+A+B u3-A", "u9-X", "u[-B]", "u[u1] a[a2 +A +B] u[-A -B]"},
		"something was said before":   {"u1 a2+A u3", "u9-A", "u[-A]", "u[u1] a[a2 +A] u[-A u3]"},
		"only the newest counts":      {"u1 a2+A u3-A a4+B", "u9-B", "u[-B]", "u[u1] a[a2 +A] u[-A] a[a4 +B] u[-B]"},
		"what is hidden counts not":   {"u1 a2+A|t M5=t a4+B", "u9-B", "u[-B]", "u[u1 M5] a[a4 +B] u[-B]"},
		"the assistant's is as it is": {"u1 a2+A", "a9+B", "a[a9 +B]", "u[u1] a[a2 +A a9 +B] u[-A -B]"},

		// Backends refuse a request with results that have no call.
		"the newest called nothing":       {"u1 a2", "u9-A!", "u[u9 [Result]", "u[u1] a[a2] u[u9 [Result]"},
		"a summary came in between":       {"u1/s a2+A/s S3=s", "u9-A", "u[[Result]", "u[S3 [Result]"},
		"a marker came in between":        {"u1 a2+A|t M3=t", "u9-A", "u[[Result]", "u[u1 M3 [Result]"},
		"it was answered before":          {"u1 a2+A u3-A", "u9-A", "u[[Result]", "u[u1] a[a2 +A] u[-A [Result]"},
		"the conversation begins with it": {"", "u9-A", "u[[Result]", "u[[Result]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, next := thread(t, c.all), thread(t, c.next)
			unchanged(t, all)
			unchanged(t, next)
			got := history.Repair(all, next[0].Entry)
			if s := shortEntries([]providers.Entry{got}); s != c.want {
				t.Errorf("got %s, want %s", s, c.want)
			}
			view := history.View(append(all, history.Message{Entry: got}))
			if s := shortEntries(view); s != c.view || providers.Check(view) != nil {
				t.Errorf("goes out: %s, want %s: %v", s, c.view, providers.Check(view))
			}
		})
	}
}

// A result that becomes text keeps its images.
func TestRepairPictures(t *testing.T) {
	t.Parallel()
	next := thread(t, "u9-A")[0]
	next.Blocks[0].Images = []providers.Image{{MediaType: "image/png", Data: []byte("p")}}
	got := history.Repair(nil, next.Entry)
	if s := shortEntries([]providers.Entry{got}); s != "u[[Result image]" || string(got.Blocks[1].Image.Data) != "p" {
		t.Errorf("got %s, want the result as a text, then its picture", s)
	}
}
