//go:build linux

package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"
)

// printAll prints outcomes as tables that a document can take.
func printAll(w io.Writer, all []outcome, table [ops]cost) {
	fmt.Fprintln(w, "\n| scenario | masters | take-overs | p50 | p90 | p99 | max | owners that stopped | tabs back | p50 | p99 | max |")
	fmt.Fprintln(w, "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	for _, o := range all {
		t, b := o.takeOver, o.returns
		fmt.Fprintf(w, "| %s | %d | %d | %s | %s | %s | %s | %d | %d | %s | %s | %s |\n", o.scenario, o.masters,
			t.n, short(t.p50), short(t.p90), short(t.p99), short(t.max), o.stale, b.n, short(b.p50), short(b.p99), short(b.max))
	}
	fmt.Fprintln(w, "\n| scenario | masters | calls/s mean | peak | busiest master mean | peak | claims/s peak | connects/s mean while they come | peak |")
	fmt.Fprintln(w, "| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	for _, o := range all {
		fmt.Fprintf(w, "| %s | %d | %.0f | %.0f | %.0f%% | %.0f%% | %.0f | %.0f | %.0f |\n", o.scenario, o.masters,
			o.rate, o.ratePeak, o.load*100, o.loadPeak*100, o.claimPeak, o.connect, o.connectPeak)
	}
	for _, o := range slices.Backward(all) {
		if o.scenario == "steady" {
			printShares(w, o, table)
			return
		}
	}
}

// printShares says what a steady state is made of.
func printShares(w io.Writer, o outcome, table [ops]cost) {
	type share struct {
		op   op
		core float64 // part of a processor
	}
	own := (table[opCommit].CPU - table[opBatched].CPU) * o.transactions / 1e6
	var shares []share
	total := 0.0
	for p := range ops {
		core := o.byOp[p] * table[p].CPU / 1e6
		switch p {
		case opBatched:
			core += own
		case opSlotTurn:
			core *= o.holders / probeHolders
		}
		if core > 0 {
			shares = append(shares, share{p, core})
			total += core
		}
	}
	slices.SortFunc(shares, func(a, b share) int { return cmp.Compare(b.core, a.core) })
	fmt.Fprintf(w, "\nSteady, what Redis does with its time (%.2f cores over %d masters):\n\n", total, o.masters)
	fmt.Fprintln(w, "| operation | per second | part of a core | part of all |")
	fmt.Fprintln(w, "| --- | --- | --- | --- |")
	for _, s := range shares {
		fmt.Fprintf(w, "| %s | %.0f | %.3f | %.0f%% |\n", s.op, o.byOp[s.op], s.core, s.core/total*100)
	}
}

// short is a time that a table has room for.
func short(d time.Duration) string {
	switch {
	case d == 0:
		return "–"
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	default:
		return d.Round(10 * time.Millisecond).String()
	}
}
