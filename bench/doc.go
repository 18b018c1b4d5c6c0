// Package bench has the benchmarks behind the performance figures of the project. Nothing imports it.
//
// Comparisons are made in one run, in alternating rounds, and reported as ratios: two machines, or
// one machine on two days, differ more than the compared implementations. README.md has the figures,
// each with its command. Run one benchmark at a time on an idle machine. A benchmark fails if its
// Redis process exits; a missing redis-server is an error that names the package to install.
package bench
