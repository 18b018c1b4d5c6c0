// Command worker is a compiler for tests. It is built without the race detector, whose memory the
// limits of a compiler do not allow.
package main

import (
	"os"

	"github.com/everdesk/everdesk/apps/build"
)

func main() { os.Exit(build.Work(os.Stdin, os.Stdout)) }
