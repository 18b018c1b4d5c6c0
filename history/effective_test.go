package history_test

import (
	"testing"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
)

func TestEffective(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ all, want string }{
		"nothing":                                   {"", ""},
		"no summary and no tags":                    {"u1 a2 u3 a4", "u1 a2 u3 a4"},
		"only the summary":                          {"u1/s a2/s S3=s", "S3=s"},
		"the summary and what came later":           {"u1/s a2/s S3=s u4 a5", "S3=s u4 a5"},
		"the old layout":                            {"u1 a2/s u3/s S4=s a5 u6 a7", "S4=s a5 u6 a7"},
		"the old layout, kept ones tagged":          {"u1/s a2/s S4=s a5/s u6/s", "S4=s a5/s u6/s"},
		"before the summary without a tag":          {"u1 a2 S3=s u4", "S3=s u4"},
		"the summary is gone, its tags not":         {"u1/s a2/s u4", "u1/s a2/s u4"},
		"two nested":                                {"u1/s a2/s S3=s/z u4/z a5/z S6=z u7", "S6=z u7"},
		"three nested":                              {"u1/s S2=s/y u3/y S4=y/z a5/z S6=z", "S6=z"},
		"the second is gone":                        {"u1/s a2/s S3=s u4 a5 u7", "S3=s u4 a5 u7"},
		"tagged ones are hidden, the marker is not": {"u1 a2|t u3|t M9=t a4 u5", "u1 M9=t a4 u5"},
		"the marker is gone, its tags not":          {"u1 a2|t u3|t a4 u5", "u1 a2|t u3|t a4 u5"},
		"two truncations":                           {"u1 a2|t u3|t M9=t a4|y u5|y M10=y a6", "u1 M9=t M10=y a6"},
		"a marker hidden by a newer one":            {"u1 a2|t M9=t|y a4|y M10=y a6", "u1 M10=y a6"},
		"a hidden marker still hides":               {"u1 a2|t M9=t|y u3 a4|y u5|y M10=y a6", "u1 u3 M10=y a6"},
		"left out after a summary":                  {"u1/s S3=s u4|t a5|t M9=t u6", "S3=s M9=t u6"},
		"a marker before the summary":               {"u1 M9=t/s S3=s u4|t a5", "S3=s u4|t a5"},
		"both tags":                                 {"u1/s a2/s|t M8=t/s S3=s u4", "S3=s u4"},
		"nothing hides a summary":                   {"u1/s S3=s|t u4|t M9=t u6", "S3=s|t M9=t u6"},
		"an orphan result after a summary":          {"a1+A/s S3=s u4-A u5", "S3=s u5"},
		"an orphan result and a text":               {"a1+A/s S3=s u4-A! a5", "S3=s u4 a5"},
		"one of two results is an orphan":           {"a1+A/s S3=s a4+B u5-A-B", "S3=s a4+B u5-B"},
		"a result that matches":                     {"u1/s S3=s a4+B u5-B", "S3=s a4+B u5-B"},
		"several orphans in one message":            {"a1+A+B/s S3=s u4-A-B a5", "S3=s a5"},
		"an orphan result without a summary":        {"u1 u2-A a3", "u1 a3"},
		"the call left out, the result not":         {"u1 a2+A|t M9=t u3-A a4", "u1 M9=t a4"},
		"an empty id of a marker hides none":        {"u1 a2 M9 u3", "u1 a2 M9 u3"},

		// A result whose call is hidden must be hidden as well: backends refuse a request
		// with such a result.
		"defect: a summary, the call left out, the result not": {"u0/s S3=s a4+A|t M9=t u5-A! a6", "S3=s M9=t u5 a6"},
		// The call waits for its result in the next message; View adds a placeholder.
		"a call without a result after a summary": {"u1/s S3=s a4+A", "S3=s a4+A"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := thread(t, c.all)
			unchanged(t, all)
			if got := short(history.Effective(all)); got != c.want {
				t.Errorf("visible is %s\nwant       %s", got, c.want)
			}
			if err := providers.Check(history.View(all)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestView(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ all, want, open string }{
		"as it is":                          {"u1 a2 u3", "u[u1] a[a2] u[u3]", ""},
		"users are merged":                  {"u1 u2 a3", "u[u1 u2] a[a3]", ""},
		"into a summary":                    {"u1/s S2=s u3 a4", "u[S2 u3] a[a4]", ""},
		"a message before a marker":         {"u1 a2|t u3|t M9=t u4", "u[u1 M9 u4]", ""},
		"the assistant's are merged":        {"u1 a2 a3", "u[u1] a[a2 a3]", ""},
		"results, then what was steered":    {"u1 a2+A u3-A u4 a5", "u[u1] a[a2 +A] u[-A u4] a[a5]", ""},
		"a steered message came before":     {"u1 a2+A u4 u3-A a5", "u[u1] a[a2 +A] u[-A u4] a[a5]", ""},
		"a call without an answer":          {"u1 a2+A u3", "u[u1] a[a2 +A] u[-A u3]", ""},
		"an open call":                      {"u1 a2+A", "u[u1] a[a2 +A] u[-A]", "u[u1] a[a2 +A]"},
		"one of two is open":                {"u1 a2+A+B u3-B", "u[u1] a[a2 +A +B] u[-A -B]", ""},
		"it begins with the assistant":      {"a2 u3", "u[(The] a[a2] u[u3]", ""},
		"it begins with a result":           {"u1-A a2 u3", "u[(The] a[a2] u[u3]", ""},
		"a result far from its call":        {"u1 a2+A a3 u4 a5 u6-A!", "u[u1] a[a2 +A a3] u[-A u4] a[a5] u[u6]", ""},
		"an id that is used twice":          {"u1 a2+A u3-A a4+A u5-A", "u[u1] a[a2 +A] u[-A] a[a4]", ""},
		"nothing":                           {"", "", ""},
		"defect: a result without its call": {"u1 u2|t a3+A|t M9=t u4-A a5 u6", "u[u1 M9] a[a5] u[u6]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := thread(t, c.all)
			unchanged(t, all)
			view := history.View(all)
			if got := shortEntries(view); got != c.want {
				t.Errorf("goes out: %s\nwant      %s", got, c.want)
			}
			if err := providers.Check(view); err != nil {
				t.Error(err)
			}
			if c.open == "" {
				c.open = c.want
			}
			if got := shortEntries(history.OpenView(all)); got != c.open {
				t.Errorf("a turn continues with %s\nwant %s", got, c.open)
			}
		})
	}
}
