package demo

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/everdesk/everdesk/providers"
)

var (
	asksPlot = regexp.MustCompile(`(?i)\b(?:plot|chart|graph|draw|show)\b.*\b(?:month(?:ly)?|per month)\b.*\b(?:sums?|totals?)\b|` +
		`\bmonthly (?:sums?|totals?)\b|\bplot\b.*\bcsv\b|월별\s*(?:합계|합|총합)|달마다\s*(?:합계|합)|CSV\S*\s.*(?:그래프|그려)`)
	asksNotebook = regexp.MustCompile(`(?i)\bnotebooks?\b|노트북`)
	// attachedCSV matches a file as the composer names it, with spaces in its name; bareCSV one in a sentence.
	attachedCSV = regexp.MustCompile(`(?i)\[(?:file|파일): ([^\]\n]+\.csv)\]`)
	bareCSV     = regexp.MustCompile(`(?i)[^\s"'“”‘’\[\]():]+\.csv\b`)
	// csvLine matches a line of a CSV in a message: at least two values.
	csvLine = regexp.MustCompile(`^[^,;]+[,;][^,]`)
)

// notebookScene answers messages that ask for a notebook.
type notebookScene struct{ words }

// computing returns the steps for a text that asks for a notebook, or nil.
func (w notebookScene) computing(order string) []step {
	if !w.has("notebook_open") || !w.has("notebook_run_cell") {
		return nil
	}
	if strings.HasPrefix(strings.TrimSpace(order), "[") { // the message begins with a file, and order ends in its name
		order = attachedCSV.ReplaceAllLiteralString(w.content, "")
	}
	switch {
	case asksPlot.MatchString(order):
		return w.plot()
	case asksNotebook.MatchString(order) && !asksClose.MatchString(order):
		return w.emptyNotebook()
	}
	return nil
}

// emptyNotebook returns the step that opens a notebook with a cell to begin with.
func (w notebookScene) emptyNotebook() []step {
	n := w.newestNotebook("notebook") + 1
	title := w.title(kind{english: "Notebook", korean: "노트북", single: true}, n)
	open := providers.ToolCall{Name: "notebook_open", Input: input(object{
		"notebook": fmt.Sprintf("notebook-%d", n), "title": title, "cells": []object{{"source": "print(\"" + w.in("Hello", "안녕하세요") + "\")"}},
	})}
	return []step{{kind: stepCall, calls: []providers.ToolCall{open}, after: w.success(fmt.Sprintf(
		w.in("I opened “%s”. Press Shift+Enter in a cell to run it.", "“%s” 창을 열었어요. 셀에서 Shift+Enter를 누르면 실행돼요."), title))}}
}

// exampleCSV is what the demo plots if the message has no CSV.
const exampleCSV = "date,amount\n2026-01-05,320\n2026-01-19,410\n2026-02-02,380\n2026-02-20,150\n2026-03-03,520\n2026-03-28,610\n"

// maxGivenCSV bounds the CSV of a message, because the user has to read the code before it runs.
const maxGivenCSV = 2000

// plot returns the steps that open a notebook, compute the monthly sums of a CSV in it and plot them. Code runs only
// after the user has allowed it.
func (w notebookScene) plot() []step {
	id := fmt.Sprintf("sums-%d", w.newestNotebook("sums")+1)
	title := w.in("Monthly sums", "월별 합계")
	source, of := w.csvSource()
	open := providers.ToolCall{Name: "notebook_open", Input: input(object{
		"notebook": id, "title": title,
		"cells": []object{{"kind": "markdown", "source": "# " + title + "\n\n" + of}, {"source": source + plotCode}},
	})}
	return []step{
		say(w.in("I compute it in a notebook, so that you see the code and can change it. You are asked before it runs.",
			"코드를 보고 고치실 수 있게 노트북에서 계산할게요. 실행하기 전에 먼저 여쭤볼게요.")),
		{kind: stepCall, calls: []providers.ToolCall{open}, after: tellErrors, then: func(o []outcome) []step { return w.runNewest(id, title, o) }},
	}
}

// runNewest returns the step that runs the last cell of a notebook that was opened.
func (w notebookScene) runNewest(id, title string, opened []outcome) []step {
	cell := lastCell.FindStringSubmatch(opened[0].result.Text)
	if cell == nil {
		return nil
	}
	run := providers.ToolCall{Name: "notebook_run_cell", Input: input(object{"notebook": id, "cell": cell[1]})}
	return []step{{kind: stepCall, calls: []providers.ToolCall{run}, after: func(o []outcome) string {
		if o[0].result.IsError {
			return fmt.Sprintf(w.in("The code is in the notebook “%s”, but it has not run to its end: %s", "노트북 “%s”에 코드가 있지만 끝까지 실행되지 않았어요: %s"),
				title, shorten(o[0].result.Text, 500))
		}
		return fmt.Sprintf(w.in("The notebook “%s” shows the sums and the plot. Change the code and press Shift+Enter to run it again.",
			"노트북 “%s”에 합계와 그래프가 있어요. 코드를 고치고 Shift+Enter를 누르면 다시 실행돼요."), title)
	}}}
}

// lastCell matches the id of the last cell in the result of notebook_open.
var lastCell = regexp.MustCompile(`\bcells: (?:[\w-]+, )*([\w-]+)\.`)

// newestNotebook returns the highest number among the notebooks of a kind.
func (w notebookScene) newestNotebook(kind string) (highest int) {
	highest = w.newest(kind)
	for _, e := range w.before {
		for _, b := range e.Blocks {
			if m := notebookID.FindSubmatch(b.Input); b.Kind == providers.BlockToolCall && m != nil {
				highest = max(highest, numberOf(string(m[1]), kind))
			}
		}
	}
	return highest
}

var notebookID = regexp.MustCompile(`"notebook":"([^"]+)"`)

// csvSource returns the code that opens the CSV of the message as f, and what it is: a file of the session, lines of the
// message, or an example.
func (w notebookScene) csvSource() (code, about string) {
	name := bareCSV.FindString(w.content)
	if m := attachedCSV.FindStringSubmatch(w.content); m != nil {
		name = m[1]
	}
	if name != "" && !strings.HasPrefix(name, "/") {
		return "f = open(" + pythonString(name) + ", newline=\"\", encoding=\"utf-8-sig\")\n",
			fmt.Sprintf(w.in("The data is in the file `%s`.", "자료는 `%s` 파일에 있어요."), name)
	}
	text, about := w.givenCSV(), w.in("The data is from your message.", "메시지에 적어 주신 자료예요.")
	if text == "" {
		text, about = exampleCSV, w.in("There was no CSV in your message, so this is an example. Attach a file, or paste its lines.",
			"메시지에 CSV가 없어서 예시를 보여 드려요. 파일을 첨부하거나 내용을 붙여 넣어 주세요.")
	}
	return "import io\n\nf = io.StringIO(" + pythonString(text) + ")\n", about
}

// givenCSV returns the lines of the message that are a CSV, or nothing.
func (w notebookScene) givenCSV() string {
	var lines []string
	size := 0
	for line := range strings.Lines(w.content) {
		line = strings.TrimSpace(line)
		if !csvLine.MatchString(line) || !strings.ContainsAny(line, "0123456789") && len(lines) > 0 {
			continue
		}
		if size += len(line) + 1; size > maxGivenCSV {
			break
		}
		lines = append(lines, line)
	}
	if len(lines) < 2 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// pythonString returns a literal of Python, which has the escapes of Go.
func pythonString(s string) string { return strconv.Quote(strings.ToValidUTF8(s, "\uFFFD")) }

// plotCode sums and plots the CSV in f. It finds the column of dates and that of numbers, and draws without matplotlib
// if that is not installed.
const plotCode = `
import collections, csv, re

rows = list(csv.DictReader(f))
names = list(rows[0])
date = next(n for n in names if re.match(r"\d{4}-\d\d", rows[0][n] or ""))
amount = next(n for n in names if n != date and re.fullmatch(r"\s*-?\d+(\.\d+)?\s*", rows[0][n] or ""))

sums = collections.Counter()
for row in rows:
    sums[row[date][:7]] += float(row[amount] or 0)
months = sorted(sums)
for month in months:
    print(month, f"{sums[month]:g}")

try:
    import matplotlib.pyplot as plt

    plt.figure(figsize=(7, 3.5))
    plt.bar(months, [sums[m] for m in months])
    plt.ylabel(amount)
    plt.show()
except ImportError:  # bars without matplotlib
    from IPython.display import SVG, display

    top = max(max(sums.values()), 1)
    bars = "".join(
        f'<rect x="{60 * i + 10}" y="{150 - max(sums[m], 0) / top * 140}" width="40" height="{max(sums[m], 0) / top * 140}" fill="#1f77b4"/>'
        f'<text x="{60 * i + 30}" y="168" font-size="11" text-anchor="middle">{m}</text>'
        for i, m in enumerate(months)
    )
    display(SVG(f'<svg xmlns="http://www.w3.org/2000/svg" width="{60 * len(months) + 20}" height="180">{bars}</svg>'))
`
