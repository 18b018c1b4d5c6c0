package history_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// A turn with thinking, two tool calls, an answer and its end.
const (
	turnRows   = "u1 r2#2 t3#4 x4#4 x5#4 t6#8 e7#8"
	turnThread = "u1 a2+A+B u6-A-B a6"
)

func TestRewind(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rows, all string
		to        wire.RowID
		include   bool
		want      string // the thread afterwards
		removed   string // ids of removed rows
		kept      string // ids of rows after the target that stay
		visible   string // the visible part, if it differs from want
	}{
		"a question and its answer":      {rows: "u1 t2#4 u3 t4#8", all: "u1 a2 u3 a4", to: 3, want: "u1 a2", removed: "3 4"},
		"an answer":                      {rows: "u1 t2#4 u3 t4#8", all: "u1 a2 u3 a4", to: 4, want: "u1 a2 u3", removed: "4"},
		"the row stays, for people":      {rows: "u1 t2#4 u3 t4#8", all: "u1 a2 u3 a4", to: 3, include: true, want: "u1 a2", removed: "4"},
		"the first row":                  {rows: "u1 t2#4 u3 t4#8", all: "u1 a2 u3 a4", to: 1, want: "", removed: "1 2 3 4"},
		"the first row, kept":            {rows: "u1 t2#4", all: "u1 a2", to: 1, include: true, want: "", removed: "2"},
		"the last row, nothing is after": {rows: "u1 t2#4 e3#4", all: "u1 a2", to: 3, want: "u1 a2", removed: "3"},
		"the last row, kept":             {rows: "u1 t2#4 e3#4", all: "u1 a2", to: 3, include: true, want: "u1 a2", removed: ""},
		"a row of nothing in between":    {rows: "u1 t2#4 o3 u4 t5#8", all: "u1 a2 u4 a5", to: 3, want: "u1 a2", removed: "3 4 5"},
		"the same, kept":                 {rows: "u1 t2#4 o3 u4 t5#8", all: "u1 a2 u4 a5", to: 3, include: true, want: "u1 a2", removed: "4 5"},
		"no messages at all":             {rows: "u1 o2", all: "", to: 2, want: "", removed: "2"},
		"nothing was said before":        {rows: "o1 u2 t3#4", all: "u2 a3", to: 1, want: "", removed: "1 2 3"},
		"two messages of one row":        {rows: "u1 t2#4", all: "u1 a2 u2", to: 2, want: "u1", removed: "2"},
		"messages without a row survive": {rows: "u1 t2#8", all: "u0 a0 u1 a2", to: 1, want: "u0 a0", removed: "1 2"},
		"so does one in between":         {rows: "u1 t2#4", all: "u1 a0 a2", to: 1, want: "a0", removed: "1 2"},
		"rows of before ids stay":        {rows: "o0 u1 t2#4", all: "u1 a2", to: 1, want: "", removed: "1 2"},

		"the thinking of a turn":    {rows: turnRows, all: turnThread, to: 2, want: "u1", removed: "2 3 4 5 6 7"},
		"what it said before tools": {rows: turnRows, all: turnThread, to: 3, want: "u1", removed: "3 4 5 6 7"},
		"the first tool":            {rows: turnRows, all: turnThread, to: 4, want: "u1 a2+A+B", removed: "4 5 6 7"},
		"the second tool":           {rows: turnRows, all: turnThread, to: 5, want: "u1 a2+A+B", removed: "5 6 7"},
		"the answer after tools":    {rows: turnRows, all: turnThread, to: 6, want: "u1 a2+A+B u6-A-B", removed: "6 7"},
		"the end of the turn":       {rows: turnRows, all: turnThread, to: 7, want: turnThread, removed: "7"},
		"an error after tools":      {rows: "u1 t2#4 x3#4 o4#6", all: "u1 a2+A u4-A", to: 4, want: "u1 a2+A u4-A", removed: "4"},
		"calls without rows":        {rows: "u1 t2#8", all: "u1 a2+A u2-A a2", to: 2, want: "u1", removed: "2"},
		"the text came later than another row": {
			rows: "u1 o2 t3#4 e4#4", all: "u1 a2", to: 3, want: "u1", removed: "3 4",
		},
		"that row, kept: models lose what they had of it": {
			rows: "u1 o2 t3#4 e4#4", all: "u1 a2", to: 3, include: true, want: "u1", removed: "4",
		},

		// The order in the thread decides, not the times of the rows.
		"said while the agent was busy":            {rows: "u1 u2 t3#4 e4#4 t5#8", all: "u1 a3 u2 a5", to: 2, want: "u1 a3", removed: "2 5", kept: "3 4"},
		"the same, its row stays":                  {rows: "u1 u2 t3#4 e4#4 t5#8", all: "u1 a3 u2 a5", to: 2, include: true, want: "u1 a3", removed: "5", kept: "3 4"},
		"right before the answer was shown":        {rows: "u1 u2 t3#4 e4#4 t5#8", all: "u1 a2 u2 a5", to: 2, want: "u1 a2", removed: "2 5", kept: "3 4"},
		"several messages were added meanwhile":    {rows: "u1 u2 r3#2 t4#4 x5#4 t6#8 e7#8 t8#12", all: "u1 a4+A u6-A a6 u2 a8", to: 2, want: "u1 a4+A u6-A a6", removed: "2 8", kept: "3 4 5 6 7"},
		"back to the answer that was given":        {rows: "u1 u2 t3#4 e4#4 t5#8", all: "u1 a3 u2 a5", to: 3, want: "u1 u2", removed: "3 4 5"},
		"it waits still":                           {rows: "u1 u2 t3#4", all: "u1 a3", to: 2, want: "u1", removed: "2 3"},
		"steered between calls and results":        {rows: "u1 t2#4 x3#4 u4 t5#10", all: "u1 a2+A u5-A u4 a5", to: 4, want: "u1 a2+A u5-A", removed: "4 5"},
		"back to the answer to it":                 {rows: "u1 t2#4 x3#4 u4 t5#10", all: "u1 a2+A u5-A u4 a5", to: 5, want: "u1 a2+A u5-A u4", removed: "5"},
		"one waited, the next was steered":         {rows: "u1 u2 u3 t4#6 e5#6 t6#10", all: "u1 u3 a4 u2 a6", to: 2, want: "u1 u3 a4", removed: "2 6", kept: "3 4 5"},
		"back to the one that was steered":         {rows: "u1 u2 u3 t4#6 e5#6 t6#10", all: "u1 u3 a4 u2 a6", to: 3, want: "u1 u2", removed: "3 4 5 6"},
		"two waited":                               {rows: "u1 u2 u3 t4#4 t5#8 t6#12", all: "u1 a4 u2 a5 u3 a6", to: 2, want: "u1 a4", removed: "2 3 5 6", kept: "4"},
		"a note for the model is no message":       {rows: "u1 u2#6 t3#8", all: "u1 a2 u2 a3", to: 2, want: "u1", removed: "2 3"},
		"normal order":                             {rows: "u1 t2#4 u3 t4#8 u5", all: "u1 a2 u3 a4 u5", to: 5, want: "u1 a2 u3 a4", removed: "5"},
		"an answer without a question in this row": {rows: "u1 o2 t3#4", all: "u1 a3", to: 2, want: "u1", removed: "2 3"},

		"after a summary":                     {rows: "u1 t2#4 c3=s u4 t5#10", all: "u1/s a2/s S3=s u4 a5", to: 4, want: "u1/s a2/s S3=s", removed: "4 5", visible: "S3=s"},
		"past a summary":                      {rows: "u1 t2#4 c3=s u4 t5#10", all: "u1/s a2/s S3=s u4 a5", to: 3, want: "u1 a2", removed: "3 4 5"},
		"far past a summary":                  {rows: "u1 t2#4 u3 c4=s u5", all: "u1/s a2/s u3/s S4=s u5", to: 3, want: "u1 a2", removed: "3 4 5"},
		"past the second of two":              {rows: "u1 c2=s u3 c4=z u5", all: "u1/s S2=s/z u3/z S4=z u5", to: 4, want: "u1/s S2=s u3", removed: "4 5", visible: "S2=s u3"},
		"past both":                           {rows: "u1 c2=s u3 c4=z u5", all: "u1/s S2=s/z u3/z S4=z u5", to: 2, want: "u1", removed: "2 3 4 5"},
		"a row of a summary without its id":   {rows: "u1 c3= u4", all: "u1/s S0=s u4", to: 3, want: "u1/s S0=s", removed: "3 4", visible: "S0=s"},
		"a summary that is known by its id":   {rows: "u1 c3=s u4", all: "u1/s S0=s u4", to: 3, want: "u1", removed: "3 4"},
		"its row is later than it":            {rows: "u1 o2 c3=s u4", all: "u1/s S2=s u4", to: 3, want: "u1", removed: "3 4"},
		"the old layout, past the summary":    {rows: "u1 t2#4 u3 t4#8 c5=s u6", all: "u1/s a2/s S5=s u3 a4 u6", to: 5, want: "u1 a2 u3 a4", removed: "5 6"},
		"the old layout, into what was kept":  {rows: "u1 t2#4 u3 t4#8 c5=s u6", all: "u1/s a2/s S5=s u3 a4 u6", to: 4, want: "u1 a2 u3", removed: "4 5 6"},
		"after a marker":                      {rows: "u1 t2#4 u3 t4#8 u5 k6=t u7", all: "u1 a2|t u3|t M6=t a4 u5 u7", to: 7, want: "u1 a2|t u3|t M6=t a4 u5", removed: "7", visible: "u1 M6=t a4 u5"},
		"past a marker":                       {rows: "u1 t2#4 u3 t4#8 u5 k6=t u7", all: "u1 a2|t u3|t M6=t a4 u5 u7", to: 6, want: "u1 a2 u3 a4 u5", removed: "6 7"},
		"into what it hides":                  {rows: "u1 t2#4 u3 t4#8 u5 k6=t u7", all: "u1 a2|t u3|t M6=t a4 u5 u7", to: 3, want: "u1 a2", removed: "3 4 5 6 7"},
		"past the second marker":              {rows: "u1 k8=y k9=t", all: "u1 a2|y u3|y M8=y|t a4|t u5|t M9=t a6", to: 9, want: "u1 a2|y u3|y M8=y a4 u5 a6", removed: "9", visible: "u1 M8=y a4 u5 a6"},
		"past a summary and a marker":         {rows: "u1 c4=s k7=t", all: "u1/s S4=s u2|t a3|t M7=t", to: 4, want: "u1 u2 a3", removed: "4 7"},
		"tags of both, one stays":             {rows: "u1 k3=t c4=s u5", all: "u1/s a2/s|t M3=t/s S4=s u5", to: 4, want: "u1 a2|t M3=t", removed: "4 5", visible: "u1 M3=t"},
		"summed up while a message waited":    {rows: "u1 t2#4 u3 c4#6=s t5#10", all: "u1/s a2/s S4=s u3 a5", to: 3, want: "u1 a2", removed: "3 4 5"},
		"left out while a message waited":     {rows: "u1 u2 t3#4 k4#4=t t5#8 e6#8 t7#12", all: "u1 a3|t M4=t a5 u2 a7", to: 2, want: "u1 a3 a5", removed: "2 4 7", kept: "3 5 6"},
		"tags without a name are cleared too": {rows: "u1 u2", all: "u1/x a1|y u2", to: 2, want: "u1 a1", removed: "2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := thread(t, c.all)
			unchanged(t, all)
			got, err := history.Rewind(
				history.Conversation{Rows: rows(t, c.rows), Threads: map[string][]history.Message{"main": all}},
				history.Target{TS: wire.Millis(1000 + c.to), Include: c.include},
			)
			if err != nil {
				t.Fatal(err)
			}
			cut := got.Threads["main"]
			if s := short(cut.Messages); s != c.want {
				t.Errorf("models have %s\nwant        %s", s, c.want)
			}
			if ids(got.Removed) != c.removed || ids(got.Kept) != c.kept || got.Row.ID != c.to {
				t.Errorf("rewind to row %d removes %q and keeps %q, want %q and %q", got.Row.ID, ids(got.Removed), ids(got.Kept), c.removed, c.kept)
			}
			if c.visible == "" {
				c.visible = c.want
			}
			if s := short(history.Effective(cut.Messages)); s != c.visible {
				t.Errorf("visible is %s\nwant       %s", s, c.visible)
			}
			if err := providers.Check(history.View(cut.Messages)); err != nil {
				t.Error(err)
			}
			before, after := encoded(t, all), encoded(t, cut.Messages)
			if !slices.Equal(before[:cut.Same], after[:cut.Same]) || cut.Changed == slices.Equal(before, after) {
				t.Errorf("the first %d are said to be the same and changed is %v, want that of\n%s\nand\n%s", cut.Same, cut.Changed, before, after)
			}
		})
	}
}

func TestRewindRefuses(t *testing.T) {
	t.Parallel()
	c := history.Conversation{Rows: rows(t, "o0 u1 t2#4"), Threads: map[string][]history.Message{"main": thread(t, "u1 a2")}}
	for ts, want := range map[wire.Millis]error{1000: history.ErrOldRow, 1003: history.ErrNoRow, 0: history.ErrNoRow} {
		if got, err := history.Rewind(c, history.Target{TS: ts}); !errors.Is(err, want) || got.Threads != nil {
			t.Errorf("to %d: %v, error %v, want %v", ts, got, err, want)
		}
	}
}

// The threads of other agents of the conversation are rewound as well, independently.
func TestRewindThreads(t *testing.T) {
	t.Parallel()
	all := rows(t, "u1 u2 t3#4 u4 e5#4 t6#8")
	all[3].Thread = "window"
	got, err := history.Rewind(history.Conversation{Rows: all, Threads: map[string][]history.Message{
		"main":   thread(t, "u1 a3 u2 a6"),
		"window": thread(t, "u4 a5"),
		"idle":   thread(t, "u0 a0"),
		"empty":  nil,
	}}, history.Target{TS: 1002})
	if err != nil {
		t.Fatal(err)
	}
	for agent, want := range map[string]string{"main": "u1 a3", "window": "", "idle": "u0 a0", "empty": ""} {
		cut := got.Threads[agent]
		if s := short(cut.Messages); s != want || cut.Changed != (agent == "main" || agent == "window") {
			t.Errorf("%s has %q, changed %v; want %q", agent, s, cut.Changed, want)
		}
	}
	if ids(got.Removed) != "2 4 6" || ids(got.Kept) != "3 5" {
		t.Errorf("rows %s are removed and %s kept, want 2 4 6 and 3 5", ids(got.Removed), ids(got.Kept))
	}
}

func TestSaid(t *testing.T) {
	t.Parallel()
	all := rows(t, "o1 u2 t3#4 u4 x5#6 t6#8")
	for ts, want := range map[wire.Millis]wire.RowID{1001: 0, 1002: 2, 1003: 2, 1004: 4, 1006: 4, 1009: 0} {
		if got, ok := history.UserRowAt(all, ts); got.ID != want || ok != (want != 0) {
			t.Errorf("an edit of %d is one of %d, %v; want %d", ts, got.ID, ok, want)
		}
	}
}
