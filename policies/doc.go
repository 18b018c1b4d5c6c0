// Package policies decides: what waits, what is allowed, what a model is told.
//
// Its values are pure: they have no clock, start nothing and wait for nothing.
package policies
