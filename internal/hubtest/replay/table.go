package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/everdesk/everdesk/internal/hubtest"
)

// writeTable prints results as a Markdown table, in the order of the file.
func writeTable(out io.Writer, in io.Reader) error {
	var b strings.Builder
	fmt.Fprintln(&b, "| fault | what | rounds | violations | figures (wanted) | seconds |")
	fmt.Fprintln(&b, "|---|---|---:|---:|---|---:|")
	n := 0
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r hubtest.Result
		n++
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if r.Fault == "" {
			return fmt.Errorf("line %d is no result", n)
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %s | %.0f |\n",
			r.Fault, cell(r.What), r.Rounds, r.Violations, figures(r.Figures), r.Seconds)
	}
	if err := lines.Err(); err != nil {
		return err
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func figures(all []hubtest.Figure) string {
	parts := make([]string, len(all))
	for i, f := range all {
		parts[i] = cell(f.Name + " " + f.Value)
		if f.Wanted != "" {
			parts[i] += cell(" (" + f.Wanted + ")")
		}
	}
	return strings.Join(parts, ", ")
}

// cell escapes a text for a table cell.
func cell(s string) string { return strings.NewReplacer("|", `\|`, "\n", " ").Replace(s) }
