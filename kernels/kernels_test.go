package kernels_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/kernels"
	"github.com/everdesk/everdesk/wire"
)

// waitTime bounds waits that would otherwise hang.
const waitTime = 5 * time.Minute

// startServer starts a real Jupyter server.
func startServer(t *testing.T) *kernels.Server {
	t.Helper()
	s, err := kernels.UseServer(t.Context(), kernels.ServerConfig{AloneFor: time.Minute, Dir: t.TempDir(), Root: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

func newClient(tb testing.TB, cfg kernels.Config) *kernels.Client {
	tb.Helper()
	cfg.PerUser = cmp.Or(cfg.PerUser, 32) // tests share a server
	c, err := kernels.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}

// session is a connection to a kernel of its own.
type session struct {
	tb     testing.TB
	client *kernels.Client
	kernel kernels.Kernel
	conn   *kernels.Conn

	mu    sync.Mutex
	runs  map[string]*kernels.Run
	state chan wire.KernelState
}

func (s *session) receive(m kernels.Message) {
	if state := kernels.StateOf(m); state != "" {
		select {
		case s.state <- state:
		default:
		}
	}
	s.mu.Lock()
	r := s.runs[m.Parent.ID]
	s.mu.Unlock()
	if r != nil {
		r.Receive(m)
	}
}

func (s *session) connect() {
	s.tb.Helper()
	conn, err := s.client.Connect(s.tb.Context(), s.kernel.ID, "client-1", s.receive)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.conn = conn
	s.tb.Cleanup(conn.Close)
}

func open(tb testing.TB, c *kernels.Client, name string) *session {
	tb.Helper()
	s := &session{tb: tb, client: c, runs: map[string]*kernels.Run{}, state: make(chan wire.KernelState, 4)}
	var err error
	if s.kernel, err = c.Open(tb.Context(), kernels.Notebook{User: "u", Session: "ses-1", Name: name}); err != nil {
		tb.Fatal(err)
	}
	s.connect()
	s.conn.Resume()
	if err := s.conn.Await(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	if installed, err := s.conn.InstallJournal(tb.Context()); err != nil || !installed {
		tb.Fatalf("the journal of a new kernel: got %v and %v, want that it was installed", installed, err)
	}
	return s
}

func (s *session) begin(id, code string) *kernels.Run {
	s.tb.Helper()
	r := s.track(id, 0)
	if err := s.conn.Execute(s.tb.Context(), id, code); err != nil {
		s.tb.Fatal(err)
	}
	return r
}

func (s *session) track(id string, used int) *kernels.Run {
	r := kernels.NewRun(id, used, 0)
	s.mu.Lock()
	s.runs[id] = r
	s.mu.Unlock()
	return r
}

// collect takes batches until until says that it has seen enough.
func (s *session) collect(r *kernels.Run, until func(all kernels.Batch) bool) kernels.Batch {
	s.tb.Helper()
	var all kernels.Batch
	end := time.After(waitTime)
	for {
		b := r.Take()
		if b.Clear {
			all.Outputs = nil
		}
		for _, u := range b.Updates {
			for i := range all.Outputs {
				if all.Outputs[i].DisplayID == u.DisplayID {
					all.Outputs[i].Data = u.Data
				}
			}
		}
		all.Outputs, all.Updates = append(all.Outputs, b.Outputs...), append(all.Updates, b.Updates...)
		all.Cut, all.LastMessage, all.Count, all.Done, all.State = b.Cut, b.LastMessage, b.Count, b.Done, b.State
		if b.Input != nil {
			all.Input = b.Input
		}
		if until(all) {
			return all
		}
		select {
		case <-r.Changed():
		case <-s.conn.Done():
			s.tb.Fatalf("the connection ended: %v", s.conn.Err())
		case <-end:
			s.tb.Fatalf("the execution has %d outputs, %d bytes left out, the newest message %q, number %d, done %v", len(all.Outputs), all.Cut, all.LastMessage, all.Count, all.Done)
		}
	}
}

func done(b kernels.Batch) bool { return b.Done }

func (s *session) execute(id, code string) kernels.Batch {
	s.tb.Helper()
	return s.collect(s.begin(id, code), done)
}

// shown returns the outputs as short texts. A kernel sends what it prints in any number of pieces.
func shown(outputs []wire.CellOutput) string {
	var b, text strings.Builder
	for i, o := range outputs {
		switch o.Type {
		case wire.OutputStream:
			text.WriteString(o.Text)
			if i+1 == len(outputs) || outputs[i+1].Type != o.Type || outputs[i+1].Name != o.Name {
				b.WriteString(o.Name + ":" + onTerminal(text.String()) + "|")
				text.Reset()
			}
		case wire.OutputError:
			fmt.Fprintf(&b, "error:%s:%s|", o.Name, o.Value)
		default:
			var data map[string]string
			if err := json.Unmarshal(o.Data, &data); err != nil {
				return err.Error()
			}
			fmt.Fprintf(&b, "%s:%s|", o.Type, data["text/plain"]+data["image/png"])
		}
	}
	return b.String()
}

// onTerminal returns what a terminal shows of a text, whose carriage returns overwrite lines.
func onTerminal(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		var shown []rune
		for part := range strings.SplitSeq(line, "\r") {
			over := []rune(part)
			shown = append(over, shown[min(len(over), len(shown)):]...)
		}
		lines[i] = string(shown)
	}
	return strings.Join(lines, "\n")
}

const display = "from IPython.display import display, clear_output, HTML, Image\n"

// What one server is enough for.
func TestKernelsOfAServer(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	for name, test := range map[string]func(*testing.T, *kernels.Server){
		"executions":              testExecutions,
		"interruptions and death": testInterruptionsAndDeath,
		"a replay misses nothing": testReplayMissesNothing,
		"the journal is bounded":  testJournalIsBoundedAndInstalledOnce,
		"there is no journal":     testKernelWithoutAJournal,
		"output is bounded":       testOutputIsBounded,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, server)
		})
	}
}

// The exchanges of executions, in both wire formats.
func testExecutions(t *testing.T, server *kernels.Server) {
	t.Helper()
	for _, plain := range []bool{false, true} {
		t.Run(fmt.Sprintf("plain=%v", plain), func(t *testing.T) {
			t.Parallel()
			c := newClient(t, kernels.Config{URL: server.URL, Token: server.Token, PlainFrames: plain})
			s := open(t, c, t.Name())
			for i, test := range []struct {
				code, want string
				state      wire.CellState
			}{
				{"import sys\nprint('out')\nsys.stdout.flush()\nprint('err', file=sys.stderr)\nsys.stderr.flush()\n1+1", "stdout:out\n|stderr:err\n|execute_result:2|", wire.CellOK},
				{"1/0", "error:ZeroDivisionError:division by zero|", wire.CellFailed},
				{display + "d = display('a', display_id='d1')\nd.update('b')", "display_data:'b'|", wire.CellOK},
				{display + "print('gone')\nclear_output()\nprint('stays')", "stdout:stays\n|", wire.CellOK},
				{display + "print('gone', flush=True)\nclear_output(wait=True)\nprint('stays')", "stdout:stays\n|", wire.CellOK},
				{"for i in range(100): print(f'\\r{i}%', end='', flush=True)", "stdout:99%|", wire.CellOK},
				{"print('12345\\r67', end='')", "stdout:67345|", wire.CellOK},
				{"x = 'é\\ud83d\\ude00'.encode('utf-16', 'surrogatepass').decode('utf-16'); print(x)", "stdout:é😀\n|", wire.CellOK},
				{"len?", "", wire.CellOK},
				{display + "Image(data=bytes.fromhex('89504e470d0a1a0a') + b'x'*100, format='png')", "", wire.CellOK},
			} {
				got := s.execute(fmt.Sprintf("run-%d-%v", i, plain), test.code)
				if test.want != "" && shown(got.Outputs) != test.want || got.State != test.state || got.Count != i+1 {
					t.Errorf("%s: got %q, state %s, number %d; want %q, %s, %d", test.code, shown(got.Outputs), got.State, got.Count, test.want, test.state, i+1)
				}
				if test.code == "len?" {
					if len(got.Outputs) != 1 || !strings.Contains(string(got.Outputs[0].Data), "number of items") {
						t.Errorf("len?: got %q, want its help", shown(got.Outputs))
					}
					continue
				}
				for _, o := range got.Outputs {
					if strings.Contains(string(o.Data), `\n"`) {
						t.Errorf("%s: the base64 %q has a line break", test.code, o.Data)
					}
				}
			}
			got, err := s.conn.Complete(t.Context(), "prin", 4)
			if err != nil || len(got.Matches) == 0 || got.Matches[0] != "print" || got.End != 4 {
				t.Errorf("completion of prin: got %+v and %v, want print", got, err)
			}
		})
	}
}

// Code may ask the user, is interrupted, and kernels die without an answer.
func testInterruptionsAndDeath(t *testing.T, server *kernels.Server) {
	t.Helper()
	c := newClient(t, kernels.Config{URL: server.URL, Token: server.Token})
	s := open(t, c, t.Name())

	r := s.begin("ask", "input('who? ')")
	asked := s.collect(r, func(b kernels.Batch) bool { return b.Input != nil })
	if asked.Input.Prompt != "who? " || asked.Input.Password {
		t.Errorf("the question: got %+v, want who?", asked.Input)
	}
	if err := s.conn.Input(t.Context(), *asked.Input, "bob"); err != nil {
		t.Fatal(err)
	}
	if got := s.collect(r, done); shown(got.Outputs) != "execute_result:'bob'|" {
		t.Errorf("after the answer: got %q, want bob", shown(got.Outputs))
	}

	shortest := waitTime
	for n := range 5 {
		r = s.begin(fmt.Sprint("loop-", n), "print('begun', flush=True)\nwhile True: pass")
		s.collect(r, func(b kernels.Batch) bool { return len(b.Outputs) > 0 })
		began := time.Now()
		if err := c.Interrupt(t.Context(), s.kernel.ID); err != nil {
			t.Fatal(err)
		}
		if got := s.collect(r, done); got.State != wire.CellFailed || !strings.Contains(shown(got.Outputs), "KeyboardInterrupt") {
			t.Errorf("interrupted: got %q and %s, want a KeyboardInterrupt", shown(got.Outputs), got.State)
		}
		shortest = min(shortest, time.Since(began))
	}
	if shortest >= time.Second { // one of several, because the machine may be busy
		t.Errorf("the shortest of 5 interruptions: got %v, want less than a second", shortest)
	}

	// A password.
	r = s.begin("password", "import getpass\nlen(getpass.getpass('secret? '))")
	if asked := s.collect(r, func(b kernels.Batch) bool { return b.Input != nil }); asked.Input.Prompt != "secret? " || !asked.Input.Password {
		t.Errorf("the question for a password: got %+v, want secret? as a password", asked.Input)
	} else if err := s.conn.Input(t.Context(), *asked.Input, "hunter2"); err != nil {
		t.Fatal(err)
	}
	if got := s.collect(r, done); shown(got.Outputs) != "execute_result:7|" {
		t.Errorf("after the password: got %q, want its length", shown(got.Outputs))
	}

	s.begin("die", "import os; os._exit(1)")
	select {
	case state := <-s.state:
		if state != wire.KernelRestarting {
			t.Errorf("a kernel that died: got %s, want restarting", state)
		}
	case <-time.After(waitTime):
		t.Fatal("the server did not report that the kernel died")
	}
}

// Output is bounded, however much code prints, and in whatever form.
func testOutputIsBounded(t *testing.T, server *kernels.Server) {
	t.Helper()
	for _, plain := range []bool{false, true} {
		t.Run(fmt.Sprintf("plain=%v", plain), func(t *testing.T) {
			t.Parallel()
			c := newClient(t, kernels.Config{URL: server.URL, Token: server.Token, PlainFrames: plain})
			s := open(t, c, t.Name())
			for i, test := range []struct {
				code, want string
				cut        int64
				state      wire.CellState
				both       bool // in both wire formats
			}{
				{"for i in range(20_000): print('x'*99)", "xxx", 1_500_000, wire.CellOK, false},
				{"print('begin'); print('é\\n'*2_200_000); print('end')", "begin\né\n", 5_000_000, wire.CellOK, false},
				{display + "for i in range(5): display(HTML('x'*200_000))", "xxx", 500_000, wire.CellOK, false},
				{display + "display(Image(data=b'\\x89PNG'+b'x'*400_000, format='png'))", "[image/png of 0.5 MB is too large to be shown.]", 500_000, wire.CellOK, false},
				{display + "display(Image(data=b'\\x89PNG'+b'x'*6_500_000, format='png')); print('end')", "[An output of ", 7_500_000, wire.CellOK, true},
				{"'x'*600_000", "'xxx", 200_000, wire.CellOK, false},
				{"'x'*8_500_000", "[An output of ", 7_500_000, wire.CellOK, false},
				{"raise ValueError('x'*600_000)", "ValueError", 0, wire.CellFailed, false},
				{"raise ValueError('x'*4_300_000)", "Error", 7_500_000, wire.CellFailed, true},
				{"print('alive')", "alive", 0, wire.CellOK, true}, // the connection and the kernel go on
			} {
				if plain && !test.both {
					continue
				}
				got := s.execute(fmt.Sprintf("run-%d-%v", i, plain), test.code)
				size, text := 0, strings.Builder{}
				for _, o := range got.Outputs {
					size += len(o.Text) + len(o.Data) + len(o.Value)
					if o.Type == wire.OutputError { // a stream comes in any number of pieces
						text.WriteString(o.Name)
					}
					text.WriteString(o.Text + string(o.Data))
				}
				if size > kernels.MaxOutput+1000 || !strings.Contains(text.String(), test.want) {
					t.Errorf("%s: got %d bytes that begin with %.100q, want at most %d, and %q in them", test.code, size, text.String(), kernels.MaxOutput, test.want)
				}
				if got.Cut < test.cut || test.cut == 0 && got.Cut > 0 && test.state == wire.CellOK || got.State != test.state {
					t.Errorf("%s: got %d bytes cut and the state %s, want at least %d and %s", test.code, got.Cut, got.State, test.cut, test.state)
				}
			}
			if err := s.conn.Err(); err != nil {
				t.Errorf("the connection ended: %v", err)
			}
		})
	}
}

// A notebook has one kernel, kernels are bounded, and idle ones end.
func TestBudgetOfKernels(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	c := newClient(t, kernels.Config{URL: server.URL, Token: server.Token, PerUser: 2, IdleAfter: time.Hour})
	first := open(t, c, "first")
	again, err := c.Open(t.Context(), kernels.Notebook{User: "u", Session: "ses-1", Name: "first"})
	if err != nil || again.ID != first.kernel.ID {
		t.Errorf("the same notebook again: got %s and %v, want %s", again.ID, err, first.kernel.ID)
	}
	first.execute("a", "1")
	second := open(t, c, "second")
	second.execute("b", "1")
	notebook := kernels.Notebook{User: "u", Session: "ses-1", Name: "third"}
	if _, err := c.Open(t.Context(), notebook); !errors.Is(err, kernels.ErrTooMany) {
		t.Errorf("a third kernel while both are connected: got %v, want too many", err)
	}
	first.conn.Close()
	waitFor(t, func() bool {
		k, err := c.Kernel(t.Context(), first.kernel.ID)
		return err == nil && k.Connections == 0
	})
	if _, err := c.Open(t.Context(), notebook); err != nil {
		t.Errorf("a third kernel while one is idle: %v", err)
	}
	if _, err := c.Kernel(t.Context(), first.kernel.ID); !errors.Is(err, kernels.ErrGone) {
		t.Errorf("the idle kernel: got %v, want that it is gone", err)
	}
	if _, err := c.Connect(t.Context(), first.kernel.ID, "x", func(kernels.Message) {}); !errors.Is(err, kernels.ErrGone) {
		t.Errorf("connect to it: got %v, want that it is gone", err)
	}
	second.conn.Close()
	waitFor(t, func() bool {
		n, err := c.Cull(t.Context(), time.Now().Add(2*time.Hour))
		return err == nil && n > 0
	})

	if _, err := c.Open(t.Context(), kernels.Notebook{User: "u", Session: "ses-1", Name: "x", Kernel: "cobol"}); err == nil || !strings.Contains(err.Error(), "cobol") {
		t.Errorf("an unknown kernel: got %v, want its name", err)
	}
	wrong := newClient(t, kernels.Config{URL: server.URL, Token: "wrong"})
	if _, err := wrong.Specs(t.Context()); !errors.Is(err, kernels.ErrRefused) {
		t.Errorf("a wrong token: got %v, want that it is refused", err)
	}
	server.Stop()
	if _, err := c.Specs(t.Context()); !errors.Is(err, kernels.ErrUnavailable) {
		t.Errorf("a server that ended: got %v, want that it is unavailable", err)
	}
}

func waitFor(t *testing.T, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTime)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-ctx.Done():
			t.Fatal("the condition did not become true")
		case <-tick.C:
		}
	}
}

// Addresses must have no secrets, which logs would show.
func TestAddressesAreChecked(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "127.0.0.1:8888", "ftp://x", "http://u:p@x", "http://x/?token=t"} {
		if _, err := kernels.New(kernels.Config{URL: bad}); err == nil {
			t.Errorf("%q: got no error, want that it is no address", bad)
		}
	}
}
