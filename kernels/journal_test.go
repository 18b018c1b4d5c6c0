package kernels_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/kernels"
	"github.com/everdesk/everdesk/wire"
)

// A hub that continues another one gets every output once, whatever the other one has read.
func testReplayMissesNothing(t *testing.T, server *kernels.Server) {
	t.Helper()
	c := newClient(t, kernels.Config{URL: server.URL, Token: server.Token})
	s := open(t, c, t.Name())
	goOn := filepath.Join(t.TempDir(), "go-on")
	first := s.begin("loop", "import os, time\nfor i in range(60):\n    print(i, flush=True)\n    while i == 20 and not os.path.exists("+strconv.Quote(goOn)+"): time.sleep(0.01)\n")
	before := s.collect(first, func(b kernels.Batch) bool { return strings.Contains(shown(b.Outputs), "5\n") })
	// The first hub reads more, and is killed before it has committed it.
	if !strings.Contains(shown(before.Outputs), "20\n") {
		s.collect(first, func(b kernels.Batch) bool { return strings.Contains(shown(b.Outputs), "20\n") })
	}
	s.conn.Close()
	if err := os.WriteFile(goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	second := s.track("loop", 0)
	s.connect()
	complete, err := s.conn.Replay(t.Context(), "loop", before.LastMessage)
	if err != nil || !complete {
		t.Fatalf("replay: got complete %v and %v, want all", complete, err)
	}
	after := s.collect(second, done)
	var want strings.Builder
	for i := range 60 {
		fmt.Fprintf(&want, "%d\n", i)
	}
	got := strings.NewReplacer("stdout:", "", "|", "").Replace(shown(before.Outputs) + shown(after.Outputs))
	if got != want.String() {
		t.Errorf("lines: got %q, want 0 to 59 once", got)
	}
}

// The journal of a kernel is bounded, in whatever form code publishes, is installed once, and a kernel that cannot have
// one says so.
func testJournalIsBoundedAndInstalledOnce(t *testing.T, server *kernels.Server) {
	t.Helper()
	c := newClient(t, kernels.Config{URL: server.URL, Token: server.Token})
	s := open(t, c, t.Name())
	if installed, err := s.conn.InstallJournal(t.Context()); err != nil || installed {
		t.Errorf("the journal again: got %v and %v, want that it was there", installed, err)
	}
	for name, code := range map[string]string{
		"tracebacks": "for i in range(8): get_ipython()._showtraceback(ValueError, 'x', ['y' * 900_000])",
		"lists":      display + "for i in range(8): display({'text/plain': ['y' * 9_000] * 100}, raw=True)",
		"lines":      "for i in range(8): print('y' * 900_000, flush=True)",
	} {
		s.execute(name, code)
		got := s.execute("size of "+name, "sum(len(str(e)) for e in get_ipython().kernel.everdesk_journal)")
		if size, err := strconv.Atoi(strings.Trim(shown(got.Outputs), "abcdefghijklmnopqrstuvwxyz_:|")); err != nil || size < 1<<20 || size > 5<<20 {
			t.Errorf("%s: the journal has %q bytes (%v), want about 4 MiB", name, shown(got.Outputs), err)
		}
	}
	s.execute("variables", "import os\ndef f(): pass\nclass C:\n    def __repr__(self): raise SystemExit\na, b, c, big, _hidden = 1, 'x' * 1000, C(), 10 ** 10_000, 2\nlines = [1, 2]")
	got, err := s.conn.Variables(t.Context())
	want := []wire.KernelVariable{
		{Name: "a", Type: "int", Value: "1"},
		{Name: "b", Type: "str", Value: "'" + strings.Repeat("x", 60) + "'…"},
		{Name: "c", Type: "C"},
		{Name: "big", Type: "int", Value: "33220 bits"},
		{Name: "lines", Type: "list", Value: "2 items"},
	}
	if len(got) > len(want) {
		got = got[len(got)-len(want):] // i of the loops above is earlier
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("variables: got %+v and %v, want %+v", got, err, want)
	}
	s.execute("many", "for i in range(200): globals()[f'v{i}'] = i")
	if got, err := s.conn.Variables(t.Context()); err != nil || len(got) != 50 || got[49].Name != "v199" {
		t.Errorf("many variables: got %d and %v, want the newest 50", len(got), err)
	}
	s.execute("break", "import IPython\ndel get_ipython().kernel.everdesk_journal\nIPython.get_ipython = lambda: None")
	if _, err := s.conn.InstallJournal(t.Context()); !errors.Is(err, kernels.ErrNoJournal) {
		t.Errorf("a kernel that cannot have a journal: got %v, want that it has none", err)
	}
}

// A kernel without a journal is found out by what it answers, and not by the time that passes.
func testKernelWithoutAJournal(t *testing.T, server *kernels.Server) {
	t.Helper()
	c := newClient(t, kernels.Config{URL: server.URL, Token: server.Token})
	s := open(t, c, t.Name())
	s.execute("forget", "for name in ('replay', 'variables'): del get_ipython().kernel.control_handlers[f'everdesk_{name}_request']")
	if _, err := s.conn.Variables(t.Context()); !errors.Is(err, kernels.ErrNoJournal) {
		t.Errorf("variables: got %v, want that there is no journal", err)
	}
	if complete, err := s.conn.Replay(t.Context(), "forget", ""); err != nil || complete {
		t.Errorf("a replay: got complete %v and %v, want that something may be missing", complete, err)
	}
}
