// Command replay looks at a history of package hubtest again:
//
//	go run ./internal/hubtest/replay FILE          checks it, with what was around each violation
//	go run ./internal/hubtest/replay -again FILE   does to new hubs what was done then
//	go run ./internal/hubtest/replay -table FILE   shows a file of results as a table
//
// It owns nothing: it reads one file, and -again runs `go test` in the present
// folder, which must be in the module. People call it, and scripts/chaos.sh.
//
// It is as slow as the file is long, or the test. It refuses files that are no
// histories, and ends with status 1 if promises were broken, 2 if it could not look.
package main
