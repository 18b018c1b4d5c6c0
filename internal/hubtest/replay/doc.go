// Command replay checks a history of package hubtest again:
//
//	go run ./internal/hubtest/replay FILE          checks it, and prints the entries around each violation
//	go run ./internal/hubtest/replay -again FILE   runs the test again with the same seed
//	go run ./internal/hubtest/replay -table FILE   prints a file of results as a table
//
// It reads one file; -again runs `go test` in the current folder, which must be in the
// module. Developers call it, and scripts/chaos.sh.
//
// It refuses files that are not histories, or not results with -table. The exit status is 1 if
// there are violations or the test fails again, 2 if the file could not be read.
package main
