// Package chaos proves: its tests break whole hubs and their stores in every way
// of the fault table (F1 to F15 and F18 to F22) and check that nobody lost or doubled
// anything. The table, with what is wanted of each and what was measured, is in
// bench/README.md.
//
// `make test` runs every fault a few times; `make chaos` runs as many rounds as
// the table asks for and judges the numbers too (-chaos.full). All decisions come
// from -chaos.seed. There is no code here but tests; what they share with others is
// in internal/hubtest.
package chaos
