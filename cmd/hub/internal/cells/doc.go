// Package cells implements `hub run`: it opens a script or a notebook file as a notebook of a session, runs its cells
// there and prints their outputs.
package cells
