package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everdesk/everdesk/internal/hubtest"
)

// Exit codes.
const (
	exitOK         = 0
	exitViolations = 1
	exitUsage      = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("replay", flag.ContinueOnError)
	flags.SetOutput(errs)
	again := flags.Bool("again", false, "run the test again with the same seed")
	table := flags.Bool("table", false, "show a file of results as a table")
	around := flags.Int("around", 4, "how many entries to show before and after a violation")
	if err := flags.Parse(args); err != nil {
		return exitUsage
	}
	if flags.NArg() != 1 || *again && *table || *around < 0 {
		fmt.Fprintln(errs, "usage: replay [-again | -table | -around N] FILE")
		return exitUsage
	}
	file, err := os.Open(flags.Arg(0))
	if err != nil {
		fmt.Fprintln(errs, "replay:", err)
		return exitUsage
	}
	defer func() { _ = file.Close() }()
	if *table {
		err = writeTable(out, file)
		if err != nil {
			fmt.Fprintf(errs, "replay: %s: %v\n", flags.Arg(0), err)
			return exitUsage
		}
		return exitOK
	}
	entries, err := hubtest.ReadHistory(file)
	if err != nil {
		fmt.Fprintf(errs, "replay: %s: %v\n", flags.Arg(0), err)
		return exitUsage
	}
	if *again {
		return rerunTest(ctx, entries[0], out, errs)
	}
	return printViolations(entries, *around, out)
}

// printViolations checks a history and prints the violations.
func printViolations(entries []hubtest.Entry, around int, out io.Writer) int {
	head, rules := entries[0], hubtest.RulesOf(entries)
	fmt.Fprintf(out, "%s, history %s, seed %d%s: %d entries in %v\nrules: %+v\n", head.Test, head.Note, head.Seed,
		map[bool]string{true: ", all rounds"}[head.Full], len(entries), entries[len(entries)-1].T.Round(time.Millisecond), rules)
	found := hubtest.Check(entries, rules)
	for _, v := range found {
		fmt.Fprintf(out, "\n%v\n", v)
		printAround(out, entries, v, around)
	}
	if len(found) > 0 {
		fmt.Fprintf(out, "\n%d violations\n", len(found))
		return exitViolations
	}
	fmt.Fprintln(out, "no violations")
	return exitOK
}

// printAround prints the entries around a violation: around those at its time or, if it has none, around
// the log events whose positions it names.
func printAround(out io.Writer, entries []hubtest.Entry, v hubtest.Violation, around int) {
	var related []hubtest.Entry // of the same session, or of no session
	for _, e := range entries {
		if e.Session == "" || e.Session == v.Session || v.Session == "" {
			related = append(related, e)
		}
	}
	shown := make([]bool, len(related))
	mark := func(i int) {
		for j := max(0, i-around); j <= min(len(related)-1, i+around); j++ {
			shown[j] = true
		}
	}
	for i, e := range related {
		switch {
		case v.T != 0 && e.T == v.T:
			mark(i)
		case v.T == 0 && e.Kind == hubtest.KindLog && containsWord(v.What, e.Event.At.String()):
			mark(i)
		}
	}
	for i, e := range related {
		if shown[i] {
			fmt.Fprintln(out, formatEntry(e))
		} else if i > 0 && shown[i-1] {
			fmt.Fprintln(out, "  …")
		}
	}
}

// containsWord reports whether a text contains a word.
func containsWord(text, word string) bool {
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,:()", r) })
	return slices.Contains(words, word)
}

// formatEntry formats an entry.
func formatEntry(e hubtest.Entry) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %10s %-8s", e.T.Round(time.Millisecond), e.Kind)
	add := func(label, value string) {
		if value != "" {
			fmt.Fprintf(&b, " %s%s", label, value)
		}
	}
	add("", e.Source)
	add("", string(e.Message))
	if ev := e.Event; ev != nil {
		add("", ev.At.String())
		add("", ev.Type)
		add("", string(ev.Message))
		add("by ", string(ev.Agent))
		add("", string(ev.How))
		add("", string(ev.Outcome))
		if ev.Text != "" {
			fmt.Fprintf(&b, " %.60q at %d", ev.Text, ev.Offset)
		}
		add("", string(ev.Replica))
		if !ev.Prev.IsZero() {
			add("after ", ev.Prev.String())
		}
		add("#", ev.Hash)
	}
	if e.Count != 0 {
		add("", strconv.Itoa(e.Count))
	}
	add("", e.Note)
	return b.String()
}

// rerunTest runs the test of a history again with the same seed. The outcome may differ,
// because it also depends on the machine.
func rerunTest(ctx context.Context, head hubtest.Entry, out, errs io.Writer) int {
	args := testArgs(head)
	fmt.Fprintln(out, "go", strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // from a file that the same tests wrote
	cmd.Stdout, cmd.Stderr = out, errs
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(errs, "replay:", err)
		return exitViolations
	}
	return exitOK
}

// testArgs returns the arguments of the go command that repeat runs.
func testArgs(head hubtest.Entry) []string {
	test, _, _ := strings.Cut(head.Test, "/") // subtests share the random decisions of their test
	args := []string{
		"test", "-count=1", "-timeout=30m", "./internal/chaos", "-run", "^" + test + "$",
		"-chaos.seed=" + strconv.FormatUint(head.Seed, 10),
	}
	if head.Full {
		args = append(args, "-chaos.full")
	}
	return args
}
