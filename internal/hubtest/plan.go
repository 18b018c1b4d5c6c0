package hubtest

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"
)

// Plan holds the settings of a run of fault tests.
type Plan struct {
	// Full requests all rounds of the fault table instead of a few.
	Full bool
	// Seed determines the faults. Runs with the same seed inject the same faults; the
	// reaction of the hubs also depends on the machine.
	Seed uint64
	// Folder is the folder of history files.
	Folder string
	// Report is a file to which results are appended; none if empty.
	Report string

	mu sync.Mutex // serialises writes to Report
}

// Rounds returns the number of rounds: short by default, full with [Plan.Full].
func (p *Plan) Rounds(short, full int) int {
	if p.Full {
		return full
	}
	return short
}

// Rand returns the random source for a part of a run. It depends only on the seed and the part.
func (p *Plan) Rand(part uint64) *rand.Rand {
	return rand.New(rand.NewPCG(p.Seed, part)) //nolint:gosec // repeatable on purpose
}

// Result is the result of a fault test.
type Result struct {
	Fault      string `json:"fault"`
	What       string `json:"what"`
	Rounds     int    `json:"rounds"`
	Violations int    `json:"violations"`
	// Figures are the measurements, in the order of display.
	Figures []Figure `json:"figures"`
	Seed    uint64   `json:"seed"`
	Seconds float64  `json:"seconds"`
}

// Figure is one measurement and its target.
type Figure struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Wanted string `json:"wanted,omitempty"`
}

// Add logs a result and, unless the test has failed, appends it to the report.
func (p *Plan) Add(tb testing.TB, r Result) {
	tb.Helper()
	r.Seed = p.Seed
	line, err := json.Marshal(r)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Logf("%s", line)
	if p.Report == "" || tb.Failed() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	f, err := os.OpenFile(p.Report, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		tb.Fatal(err)
	}
	_, err = f.Write(append(line, '\n'))
	if err := f.Close(); err != nil {
		tb.Fatal(err)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// Quantile returns the q-quantile of sorted durations: the smallest value that a share q of
// them does not exceed.
func Quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(int(math.Ceil(q*float64(len(sorted)))), 1)-1]
}
