// Package bench measures what the project claims about speed. It owns no
// product code and nothing imports it.
//
// Figures that compare things compare them in one run, in alternating rounds,
// and are reported as ratios: two machines, or one machine on two days, differ
// more than the things compared. README.md beside this file has the figures,
// each with the command that shows it. Run one benchmark at a time and nothing
// else beside it; when a helper process (Redis) dies the benchmark fails, and a
// missing one is refused with the advice how to install it.
package bench
