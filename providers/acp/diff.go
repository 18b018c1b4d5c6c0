package acp

import "strings"

// contextLines is the number of unchanged lines shown around a change.
const contextLines = 3

// diff returns the change of a file as a patch with one hunk: the lines between those that both
// texts begin and end with.
func diff(path, before, after string) string {
	a, b := lines(before), lines(after)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var d strings.Builder
	put := func(mark string, lines []string) {
		for _, l := range lines {
			d.WriteString(mark + l + "\n")
		}
	}
	d.WriteString("+++ " + path + "\n@@\n")
	put(" ", a[max(0, head-contextLines):head])
	put("-", a[head:len(a)-tail])
	put("+", b[head:len(b)-tail])
	put(" ", a[len(a)-tail:min(len(a), len(a)-tail+contextLines)])
	return d.String()
}

// lines splits a text into lines; an empty text has none.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}
