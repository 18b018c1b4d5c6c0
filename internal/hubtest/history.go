package hubtest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// Kind is what an entry of a history is.
type Kind string

// The kinds of entries.
const (
	KindHead     Kind = "head"     // what was broken, and the seed
	KindFault    Kind = "fault"    // something was broken or repaired, see Note
	KindSend     Kind = "send"     // a tab begins to send a message
	KindAck      Kind = "ack"      // it is told that the message is kept: Event.Type, by whom and how
	KindRefused  Kind = "refused"  // it is told that it is not, see Note
	KindLost     Kind = "lost"     // it has stopped to wait for an answer
	KindEvent    Kind = "event"    // a tab is shown an event of the log
	KindSnapshot Kind = "snapshot" // a tab is shown a state at Event.At, see Note for why
	KindNotice   Kind = "notice"   // a tab is told something that is not in the log
	KindLink     Kind = "link"     // what becomes of a tab's connection, see Note
	KindLog      Kind = "log"      // an event of the log as the store has it in the end
	KindFinal    Kind = "final"    // the state of a tab in the end: Event.At and Event.Hash
	KindServer   Kind = "server"   // the same of a hub
	KindAgents   Kind = "agents"   // how many agents run, see Count
	KindOdd      Kind = "odd"      // what a tab should not have been given, see Count
	KindBroken   Kind = "broken"   // a hub has ended, which nobody asked for, or has panicked, see Note
	KindRules    Kind = "rules"    // what may happen; the last ones count
)

// Entry is one line of a history.
type Entry struct {
	Kind Kind `json:"kind"`
	// T is when, from the beginning.
	T time.Duration `json:"t"`
	// Who is the tab or the hub.
	Who     string         `json:"who,omitempty"`
	Session wire.SessionID `json:"session,omitempty"`
	Event   *Event         `json:"event,omitempty"`
	// Message is what is sent; Expect is all that its turn has to say.
	Message wire.MessageID `json:"message,omitempty"`
	Expect  string         `json:"expect,omitempty"`
	Note    string         `json:"note,omitempty"`
	Count   int            `json:"count,omitempty"`
	Rules   *Rules         `json:"rules,omitempty"`
	// Test, Seed and Full say how a history came about.
	Test string `json:"test,omitempty"`
	Seed uint64 `json:"seed,omitempty"`
	Full bool   `json:"full,omitempty"`
}

// History is everything that happened in a run, in memory and in a file. It may be
// added to from any goroutine.
type History struct {
	began time.Time
	path  string

	mu      sync.Mutex // guards the following
	file    *os.File
	out     *bufio.Writer
	err     error
	entries []Entry
}

// NewHistory begins a history. Its file is removed with the test unless that
// fails; then the test says how to look at it again.
func (p *Plan) NewHistory(tb testing.TB, name string) *History {
	tb.Helper()
	if err := os.MkdirAll(p.Folder, 0o750); err != nil {
		tb.Fatal(err)
	}
	h := &History{began: time.Now(), path: filepath.Join(p.Folder, fmt.Sprintf("%s-%d.jsonl", name, p.Seed))}
	file, err := os.Create(h.path)
	if err != nil {
		tb.Fatal(err)
	}
	h.file, h.out = file, bufio.NewWriterSize(file, 64<<10)
	h.Add(Entry{Kind: KindHead, Test: tb.Name(), Seed: p.Seed, Full: p.Full, Note: name})
	tb.Cleanup(func() {
		if err := h.close(); err != nil {
			tb.Errorf("write history: %v", err)
		}
		if tb.Failed() {
			tb.Logf("seed %d, history in %s; look at it again, or do it again, with:\n"+
				"  go run ./internal/hubtest/replay %s\n  go run ./internal/hubtest/replay -again %s", p.Seed, h.path, h.path, h.path)
			return
		}
		_ = os.Remove(h.path)
	})
	return h
}

// Since is the time from the beginning.
func (h *History) Since() time.Duration { return time.Since(h.began) }

// Add adds an entry, with the time unless it has one.
func (h *History) Add(e Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e.T == 0 {
		e.T = time.Since(h.began)
	}
	h.entries = append(h.entries, e)
	if h.file == nil {
		return // the test is over
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = h.out.Write(append(line, '\n'))
	}
	h.err = errors.Join(h.err, err)
}

// Fault writes down that something is broken or repaired.
func (h *History) Fault(format string, args ...any) time.Duration {
	t := h.Since()
	h.Add(Entry{Kind: KindFault, T: t, Note: fmt.Sprintf(format, args...)})
	return t
}

// Entries is a copy of all entries.
func (h *History) Entries() []Entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Entry(nil), h.entries...)
}

func (h *History) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := errors.Join(h.err, h.out.Flush(), h.file.Close())
	h.file = nil
	return err
}

// ReadHistory reads a file. What does not begin with a head, or ends in the middle
// of a line, is no history.
func ReadHistory(r io.Reader) ([]Entry, error) {
	var all []Entry
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("line %d: %w", len(all)+1, err)
		}
		all = append(all, e)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(all) == 0 || all[0].Kind != KindHead {
		return nil, errors.New("not a history: it does not say what it is of")
	}
	return all, nil
}
