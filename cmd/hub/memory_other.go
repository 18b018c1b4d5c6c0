//go:build !linux

package main

import "io/fs"

// growInLargePages would ask for large pages, which only Linux gives to those who ask.
func growInLargePages(int64, fs.FS) {}
