// Package arch holds tests of the module's structure: which package may import which, where
// third-party modules may be used, and rules that no linter checks.
//
// It contains only tests. A new package, or a new import between two, is a decision: it
// needs a line in a table here, which a reviewer sees.
package arch
