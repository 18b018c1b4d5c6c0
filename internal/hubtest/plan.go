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

// Plan is how much is to be broken, and how.
type Plan struct {
	// Full asks for the rounds of the fault table instead of a few.
	Full bool
	// Seed decides what happens when. Runs with the same seed do the same to the
	// hubs; what the hubs make of it depends on the machine too.
	Seed uint64
	// Folder is where histories are written.
	Folder string
	// Report is a file to which results are added; none when empty.
	Report string

	mu sync.Mutex // one result at a time
}

// Rounds is how often something is done: few times with every test run, many
// times where that is asked for.
func (p *Plan) Rounds(short, full int) int {
	if p.Full {
		return full
	}
	return short
}

// Rand is the source of all decisions of a part of a run.
func (p *Plan) Rand(part uint64) *rand.Rand {
	return rand.New(rand.NewPCG(p.Seed, part)) //nolint:gosec // repeatable on purpose
}

// Result is what came of breaking something.
type Result struct {
	Fault      string `json:"fault"`
	What       string `json:"what"`
	Rounds     int    `json:"rounds"`
	Violations int    `json:"violations"`
	// Figures are what was measured, in the order in which they are shown.
	Figures []Figure `json:"figures"`
	Seed    uint64   `json:"seed"`
	Seconds float64  `json:"seconds"`
}

// Figure is one number and what was wanted of it.
type Figure struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Wanted string `json:"wanted,omitempty"`
}

// Add writes a result down and logs it.
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

// Quantile is the smallest of the durations that a part of them is not above; they
// must be sorted. A high part of few is the largest.
func Quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(int(math.Ceil(q*float64(len(sorted)))), 1)-1]
}
