//go:build !linux

package main

// adviseLargePages would ask for large pages, which only Linux gives to those who ask.
func adviseLargePages([]byte) {}
