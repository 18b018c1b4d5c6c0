// Command worker is a worker for tests. It is built without the race detector, which needs more
// memory than a worker has.
package main

import (
	"os"

	"github.com/everdesk/everdesk/runjs"
)

func main() { os.Exit(runjs.Work(os.Stdin, os.Stdout)) }
