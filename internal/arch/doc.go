// Package arch holds the tests that keep the module's shape: which package may
// import which, where third-party modules may appear, and the house rules that
// no linter knows.
//
// It owns no code, only tests. A new package, or a new edge between two, is a
// decision: it is made by a line in a table here, where a reviewer sees it.
package arch
