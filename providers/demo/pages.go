package demo

import "embed"

// pages holds the contents of the windows: fragments of HTML that a page is made of, with the style and
// the script that all of them share, and Markdown in both languages.
//
//go:embed pages
var pages embed.FS

// embedded returns a file of pages.
func embedded(name string) string {
	data, err := pages.ReadFile("pages/" + name)
	if err != nil {
		return "" // impossible: a test opens the window of every intent
	}
	return string(data)
}
