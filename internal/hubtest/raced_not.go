//go:build !race

package hubtest

const raced = false
