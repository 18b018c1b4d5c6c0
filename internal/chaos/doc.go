// Package chaos tests hubs under faults: its tests break whole hubs and their stores in every way
// of the fault table (F1 to F15 and F18 to F22) and check that nothing is lost or duplicated. The
// table, with the requirement and the measured result of each fault, is in bench/README.md.
//
// `make test` runs every fault a few times; `make chaos` runs as many rounds as the table asks for
// and also checks the measured times (-chaos.full). All random decisions come from -chaos.seed.
// This package has tests only; helpers that other packages use, too, are in internal/hubtest.
package chaos
