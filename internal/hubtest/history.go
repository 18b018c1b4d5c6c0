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

// Kind is the kind of an entry.
type Kind string

// The kinds of entries.
const (
	KindHead       Kind = "head"     // the test and the seed
	KindFault      Kind = "fault"    // a fault was injected or repaired, see Note
	KindSend       Kind = "send"     // a tab begins to send a message
	KindAck        Kind = "ack"      // the message is acknowledged; Event has the answer's type and position, the agent and how
	KindRefused    Kind = "refused"  // the message is refused, see Note
	KindUnanswered Kind = "lost"     // the tab stopped waiting for an answer
	KindEvent      Kind = "event"    // a tab received an event of the log
	KindSnapshot   Kind = "snapshot" // a tab received a snapshot at Event.At, see Note for the reason
	KindNotice     Kind = "notice"   // a tab received an event that is not in the log
	KindLink       Kind = "link"     // the state of a tab's connection changed, see Note
	KindLog        Kind = "log"      // an event of the log as the store has it at the end
	KindFinal      Kind = "final"    // final state of a tab: Event.At and Event.Hash
	KindServer     Kind = "server"   // final state of a hub
	KindAgents     Kind = "agents"   // number of running agents, see Count
	KindBadEvents  Kind = "odd"      // number of duplicate or unreadable events that a tab received, see Count
	KindHubFailure Kind = "broken"   // a hub exited without a signal of the test, or panicked, see Note
	KindRules      Kind = "rules"    // the rules of the check; the last ones count
)

// Entry is one line of a history.
type Entry struct {
	Kind Kind `json:"kind"`
	// T is the time since the start.
	T time.Duration `json:"t"`
	// Source is the name of the tab or the hub.
	Source  string         `json:"who,omitempty"`
	Session wire.SessionID `json:"session,omitempty"`
	Event   *Event         `json:"event,omitempty"`
	// Message is the sent message; Expect is the expected text of its turn.
	Message wire.MessageID `json:"message,omitempty"`
	Expect  string         `json:"expect,omitempty"`
	Note    string         `json:"note,omitempty"`
	Count   int            `json:"count,omitempty"`
	Rules   *Rules         `json:"rules,omitempty"`
	// Test, Seed and Full identify the run, in the head.
	Test string `json:"test,omitempty"`
	Seed uint64 `json:"seed,omitempty"`
	Full bool   `json:"full,omitempty"`
}

// History records everything that happened in a run, in memory and in a file. It is safe
// for concurrent use.
type History struct {
	began time.Time
	path  string

	mu      sync.Mutex // guards the following
	file    *os.File
	out     *bufio.Writer
	err     error
	entries []Entry
}

// NewHistory starts a history. Its file is removed at the end of the test, unless the test
// failed; then the test prints how to replay it.
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
			tb.Logf("seed %d, history in %s; to check it again, or to repeat the run:\n"+
				"  go run ./internal/hubtest/replay %s\n  go run ./internal/hubtest/replay -again %s", p.Seed, h.path, h.path, h.path)
			return
		}
		_ = os.Remove(h.path)
	})
	return h
}

// Since returns the time since the start of the history.
func (h *History) Since() time.Duration { return time.Since(h.began) }

// Add adds an entry, with the current time unless it has one. Write errors fail the test at its
// end.
func (h *History) Add(e Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e.T == 0 {
		e.T = time.Since(h.began)
	}
	h.entries = append(h.entries, e)
	if h.file == nil {
		return // the test has ended, and the file is closed
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = h.out.Write(append(line, '\n'))
	}
	h.err = errors.Join(h.err, err)
}

// AddFault records that a fault was injected or repaired, and returns its time.
func (h *History) AddFault(format string, args ...any) time.Duration {
	t := h.Since()
	h.Add(Entry{Kind: KindFault, T: t, Note: fmt.Sprintf(format, args...)})
	return t
}

// Entries returns a copy of all entries.
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

// ReadHistory reads a history file. A file that does not begin with a head, or has an invalid
// line, is an error.
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
		return nil, errors.New("not a history: the first line is not a head")
	}
	return all, nil
}
