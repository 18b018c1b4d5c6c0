//go:build linux

package main

import (
	"fmt"
	"io"
)

// cost is the price of one operation for a Redis server.
type cost struct {
	operation string
	// cpu is the CPU time of the whole process, in µs.
	cpu float64
	// exec is the part of it that Redis itself counts as executing commands, in µs.
	exec float64
	// in and out are the bytes that Redis read and wrote.
	in, out float64
}

// minus returns c without what another operation costs.
func (c cost) minus(other cost) cost {
	c.cpu -= other.cpu
	c.exec -= other.exec
	c.in -= other.in
	c.out -= other.out
	return c
}

// printCosts writes the table of docs/SCALE.md.
func printCosts(w io.Writer, costs []cost) {
	fmt.Fprintln(w, "| operation | CPU, µs | executing, µs | bytes in | bytes out |\n| --- | --- | --- | --- | --- |")
	for _, c := range costs {
		fmt.Fprintf(w, "| %s | %.1f | %.1f | %.0f | %.0f |\n", c.operation, c.cpu, c.exec, c.in, c.out)
	}
}
