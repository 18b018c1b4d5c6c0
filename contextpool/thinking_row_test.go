package contextpool_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/wire"
)

// checkRows checks that every growing row has a turn that finishes it, and that finished rows
// do not grow again.
func (c *chaos) checkRows() {
	growing, held := map[wire.Millis]bool{}, map[string]bool{}
	for _, data := range c.kept.tables["turns"] {
		for _, rest := range strings.Split(string(data), `"thoughts":`)[1:] {
			held[rest[:strings.IndexAny(rest, ",}")]] = true
		}
	}
	for _, rows := range c.archive {
		for i := range rows {
			row := &rows[i]
			growing[row.TS] = history.IsPartial(*row)
			turn := held[strconv.FormatInt(int64(row.TS), 10)]
			if growing[row.TS] != turn {
				c.t.Fatalf("row %d grows: %v, and a turn has it: %v, want both or none", row.TS, growing[row.TS], turn)
			}
		}
	}
	for _, row := range c.desktop.Snapshot().RecentMessages {
		if history.IsPartial(row) != growing[row.TS] {
			c.t.Fatalf("row %d grows on the desktop: %v, want %v", row.TS, history.IsPartial(row), growing[row.TS])
		}
	}
}

// versions summarises the versions of the thinking rows.
func (r *rig) versions() []string {
	var out []string
	names := map[wire.Millis]int{}
	for _, e := range all[wire.MessageUpdated](r) {
		row := e.Message
		if row.Say != wire.SayReasoning {
			continue
		}
		how := "at once"
		if row.Partial != nil {
			how = map[bool]string{true: "grows", false: "whole"}[*row.Partial]
		}
		if names[row.TS] == 0 {
			names[row.TS] = len(names) + 1
		}
		out = append(out, fmt.Sprintf("%s %d %s: %s", e.Action, names[row.TS], how, row.Text))
	}
	return out
}

// Versions of a growing row are marked as partial except the last one, and have the same
// timestamp.
func TestThoughtsGrow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		happens func(r *rig)
		want    []string
	}{
		"thinking alone": {func(r *rig) {
			r.thought(r.run(mainM1), "hm")
			r.ended(r.run(mainM1))
		}, []string{"created 1 at once: hm"}},
		"until it is remembered": {func(r *rig) {
			run := r.run(mainM1)
			r.thought(run, "hm")
			r.said(run, "Well")
			r.thought(run, ", yes")
			r.remember(run, said("m1", "Well"))
			r.ended(run)
		}, []string{"created 1 grows: hm", "updated 1 whole: hm, yes"}},
		"nothing more": {func(r *rig) {
			run := r.run(mainM1)
			r.thought(run, "hm")
			r.said(run, "Well")
			r.remember(run, said("m1", "Well"))
			r.ended(run)
		}, []string{"created 1 grows: hm", "updated 1 whole: hm"}},
		"interrupted": {func(r *rig) {
			run := r.run(mainM1)
			r.thought(run, "hm")
			r.said(run, "Well")
			r.interrupted(run)
		}, []string{"created 1 grows: hm", "updated 1 whole: hm"}},
		"reset": {func(r *rig) {
			r.thought(r.run(mainM1), "hm")
			r.said(r.run(mainM1), "Well")
			r.step(func() { r.pool.Reset() })
		}, []string{"created 1 grows: hm", "updated 1 whole: hm"}},
		"taken over, and it thinks again": {func(r *rig) {
			r.thought(r.run(mainM1), "hm")
			r.said(r.run(mainM1), "Well")
			r.crash()
			run := r.run(mainM1)
			r.began(run)
			r.thought(run, "oh")
			r.said(run, "Well")
			r.ended(run)
		}, []string{"created 1 grows: hm", "updated 1 grows: oh", "updated 1 whole: oh"}},
		"taken over, and it does not": {func(r *rig) {
			r.thought(r.run(mainM1), "hm")
			r.said(r.run(mainM1), "Well")
			r.crash()
			r.began(r.run(mainM1))
			r.ended(r.run(mainM1))
		}, []string{"created 1 grows: hm", "updated 1 whole: hm"}},
		"taken over and given up": {func(r *rig) {
			r.thought(r.run(mainM1), "hm")
			r.said(r.run(mainM1), "Well")
			for range 3 {
				r.began(r.run(mainM1))
				r.crash()
			}
		}, []string{"created 1 grows: hm", "updated 1 whole: hm"}},
		"taken back": {func(r *rig) {
			r.thought(r.run(mainM1), "hm")
			r.said(r.run(mainM1), "Well")
			if refused := r.rewind(contextpool.RewindRequest{TS: r.rowOf("text of m1").TS, Include: true}); refused != nil {
				r.t.Fatalf("the rewind is refused with %+v, want it done", refused)
			}
		}, []string{"created 1 grows: hm"}},
		"what followed is taken back": {func(r *rig) {
			run := r.run(mainM1)
			r.thought(run, "hm")
			r.said(run, "Well")
			r.user("m2") // offered to the turn
			if refused := r.rewind(contextpool.RewindRequest{TS: r.rowOf("text of m2").TS}); refused != nil {
				r.t.Fatalf("the rewind is refused with %+v, want it done", refused)
			}
		}, []string{"created 1 grows: hm", "updated 1 whole: hm"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.direct("m1")
			c.happens(r)
			got := r.versions()
			wantEqual(t, got, c.want)
			for _, row := range r.desktop.Snapshot().RecentMessages {
				if history.IsPartial(row) {
					t.Errorf("the row %+v is partial at the end, want none", row)
				}
			}
		})
	}
}

// The next owner finishes a growing row whose turn was lost.
func TestRowsLeftOpen(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.step(func() {
		r.AddRow(wire.UIRow{Type: wire.RowSay, Say: wire.SayReasoning, Text: "hm", MonitorID: first, Partial: new(true)})
	})
	r.crash()
	wantEqual(t, r.versions(), []string{"created 1 grows: hm", "updated 1 whole: hm"})
}
