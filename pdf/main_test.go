package pdf_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/pdf"
)

// TestMain makes the program of the tests the worker, too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == pdf.WorkerArg {
		os.Exit(pdf.Work(os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}
