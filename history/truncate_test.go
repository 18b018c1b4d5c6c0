package history_test

import (
	"math"
	"slices"
	"testing"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
)

func TestTruncated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		all     string
		share   float64
		want    string
		removed int
		visible string
	}{
		"half":                     {"u1 a2 u3 a4 u5", 0.5, "u1 a2|t u3|t M99=t a4 u5", 2, "u1 M99=t a4 u5"},
		"an even count":            {"u1 a2 u3 a4 u5 a6 u7", 0.5, "u1 a2|t u3|t M99=t a4 u5 a6 u7", 2, "u1 M99=t a4 u5 a6 u7"},
		"nothing of two":           {"u1 a2", 0.5, "u1 a2", 0, "u1 a2"},
		"nothing of one":           {"u1", 1, "u1", 0, "u1"},
		"nothing of nothing":       {"", 0.5, "", 0, ""},
		"a share of 0":             {"u1 a2 u3 a4", 0, "u1 a2 u3 a4", 0, "u1 a2 u3 a4"},
		"less than 0":              {"u1 a2 u3 a4", -2, "u1 a2 u3 a4", 0, "u1 a2 u3 a4"},
		"no number":                {"u1 a2 u3 a4", math.NaN(), "u1 a2 u3 a4", 0, "u1 a2 u3 a4"},
		"all of three":             {"u1 a2 u3", 1, "u1 a2|t u3|t M99=t", 2, "u1 M99=t"},
		"more than all":            {"u1 a2 u3", 7, "u1 a2|t u3|t M99=t", 2, "u1 M99=t"},
		"what has another tag":     {"u1/x a2/x u3/x a4/x u5/x", 0.5, "u1/x a2/x|t u3/x|t M99=t a4/x u5/x", 2, "u1/x M99=t a4/x u5/x"},
		"the summary stays":        {"u1/s S2=s u3 a4 u5 a6", 0.5, "u1/s S2=s u3|t a4|t M99=t u5 a6", 2, "S2=s M99=t u5 a6"},
		"again":                    {"u1 a2|y u3|y M8=y a4 u5 a6 u7 a8 u9", 0.5, "u1 a2|y u3|y M8=y|t a4|t u5|t M99=t a6 u7 a8 u9", 2, "u1 M99=t a6 u7 a8 u9"},
		"a call with its result":   {"u1 a2+A u3-A a4 u5", 0.5, "u1 a2+A|t u3-A|t M99=t a4 u5", 2, "u1 M99=t a4 u5"},
		"a result far away":        {"u1 a2+A a3 u4 u5-A! a6 u7", 0.4, "u1 a2+A|t a3|t u4|t u5-A!|t M99=t a6 u7", 4, "u1 M99=t a6 u7"},
		"the newest result stays":  {"u1 a2 u3 a4 u5 a6+A u7-A", 0.9, "u1 a2|t u3|t a4|t u5|t M99=t a6+A u7-A", 4, "u1 M99=t a6+A u7-A"},
		"nothing but one pair":     {"u1 u2 a3+A u4-A", 0.8, "u1 u2|t M99=t a3+A u4-A", 1, "u1 M99=t a3+A u4-A"},
		"only the newest pair":     {"u1 a3+A u4-A", 0.5, "u1 a3+A u4-A", 0, "u1 a3+A u4-A"},
		"the first has a result":   {"a1+A u2-A a3 u4 a5 u6", 0.5, "a1+A u2-A a3|t M99=t u4 a5 u6", 1, "a1+A u2-A M99=t u4 a5 u6"},
		"calls that hang together": {"u1 a2+A a3+B u4-A a5 u6-B a7 u8 a9 u10", 0.25, "u1 a2+A|t a3+B|t u4-A|t a5|t u6-B|t M99=t a7 u8 a9 u10", 5, "u1 M99=t a7 u8 a9 u10"},
		"an orphan is not counted": {"u1 u2-Z a2 u3 a4 u5", 0.5, "u1 u2-Z a2|t u3|t M99=t a4 u5", 2, "u1 M99=t a4 u5"},

		// Only visible messages are hidden: tagging messages that a summary already hides
		// would not shrink the context.
		"defect: left out was what a summary had hidden": {
			"u1/s a2/s u3/s a4/s u5/s a6/s u7/s a8/s u9/s a10/s S11=s u12 a13 u14 a15", 0.5,
			"u1/s a2/s u3/s a4/s u5/s a6/s u7/s a8/s u9/s a10/s S11=s u12|t a13|t M99=t u14 a15", 2, "S11=s M99=t u14 a15",
		},
		// A result must be hidden together with its call: backends refuse a result without
		// a call.
		"defect: a call was left out and its result was not": {"u1 u2 a3+A u4-A a5 u6", 0.5, "u1 u2|t a3+A|t u4-A|t M99=t a5 u6", 3, "u1 M99=t a5 u6"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := thread(t, c.all)
			unchanged(t, all)
			out, removed := history.Truncated(all, c.share, history.Marker{ID: 1000, Row: 99, TruncationID: "t"})
			if got := short(out); got != c.want || removed != c.removed {
				t.Errorf("%d left out: %s\nwant %d: %s", removed, got, c.removed, c.want)
			}
			if got := short(history.Effective(out)); got != c.visible {
				t.Errorf("visible is %s\nwant       %s", got, c.visible)
			}
			if err := providers.Check(history.View(out)); err != nil {
				t.Error(err)
			}
			if !slices.IsSortedFunc(out, func(a, b history.Message) int { return int(a.ID) - int(b.ID) }) {
				t.Errorf("the messages are %s, want ascending ids", short(out))
			}
		})
	}
}

// A thread without ids is truncated like any other.
func TestTruncatedOldThread(t *testing.T) {
	t.Parallel()
	all := thread(t, "u0 a0 u0 a0 u0")
	for i := range all {
		all[i].ID = 0
	}
	out, removed := history.Truncated(all, 0.5, history.Marker{ID: 2, Row: 7, TruncationID: "t"})
	if removed != 2 || out[3].ID != 0 || !out[3].IsTruncationMarker {
		t.Errorf("%d left out: %s with id %d, want 2 and the marker with id 0", removed, short(out), out[3].ID)
	}
}
