package arch_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// flagName matches a flag of the hub in a text.
var flagName = regexp.MustCompile(`--[a-z][a-z-]+`)

// outline returns what a text has in every language: the number of table rows in each
// section, and the flags it names.
func outline(text string) (rows []int, flags []string) {
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "## "):
			rows = append(rows, 0)
		case strings.HasPrefix(line, "|") && len(rows) > 0:
			rows[len(rows)-1]++
		}
	}
	flags = flagName.FindAllString(text, -1)
	slices.Sort(flags)
	return rows, slices.Compact(flags)
}

// The Korean README has the same sections and flags.
func TestReadmesKeepUp(t *testing.T) {
	t.Parallel()
	var rows [2][]int
	var flags [2][]string
	for i, name := range []string{"README.md", "README.ko.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		if rows[i], flags[i] = outline(string(text)); len(rows[i]) < 2 || len(flags[i]) < 2 {
			t.Fatalf("outline of %s: got %d sections and %d options, want at least two of each", name, len(rows[i]), len(flags[i]))
		}
	}
	if !slices.Equal(rows[0], rows[1]) {
		t.Errorf("rows of tables by section: got %v in README.ko.md, want %v as in README.md", rows[1], rows[0])
	}
	for i, name := range []string{"README.ko.md", "README.md"} {
		for _, flag := range flags[i] {
			if !slices.Contains(flags[1-i], flag) {
				t.Errorf("%s does not name %s", name, flag)
			}
		}
	}
}
