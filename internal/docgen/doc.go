// Command docgen writes docs/LIMITS.md from limits.md and the constants and defaults
// in the source.
//
//	go run ./internal/docgen [root of the repository]
//
// limits.md is the page with placeholders for values: {{desktop.MaxWindows}} is the
// constant MaxWindows of package desktop, or the default of a field of that name
// (a call of the form cmp.Or(c.Field, value)). {{size …}} prints
// bytes as KiB or MiB. A placeholder that names nothing is an error, so a renamed
// constant has to be renamed in limits.md too. It is run by `make gen`; a test fails
// when the page is stale.
package main

//go:generate go run . ../..
