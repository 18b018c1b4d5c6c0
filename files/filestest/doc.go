// Package filestest tests the contract of [files.Backend]. It is test support.
//
// A backend that passes [Run] stores objects as a whole or not at all, compares conditions, moves and
// removes files and folders, and separates sessions and areas.
package filestest
