package cells

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/cmd/hub/internal/remote"
	"github.com/everdesk/everdesk/cmd/hub/internal/terminal"
	"github.com/everdesk/everdesk/notebookfile"
	"github.com/everdesk/everdesk/wire"
)

// Command returns `hub run`.
func Command() command.Command {
	return command.Command{
		Name: "run", Args: "[flags] SESSION FILE", Help: "open a script or a notebook file in a session, run its cells and print their outputs",
		Flags: `--server URL      the hub; the local one by default
			--token TOKEN     your token, also as HUB_TOKEN
			--window ID       the id of the window; the name of the file by default`,
		Run: run,
	}
}

func run(ctx context.Context, p command.Call) error {
	var wrong command.UsageErrors
	hub, flags, rest := remote.Parse(p, map[string]command.Arity{"window": command.Value}, &wrong)
	if len(rest) < 2 {
		wrong.Add("say which session and which file")
		return wrong.OrNil()
	}
	wrong.Refuse(rest[2:])
	r := &runner{session: wire.SessionID(rest[0]), window: wire.WindowID(flags.Last("window")), stdout: p.Stdout, stderr: p.Stderr, ended: make(chan struct{})}
	if r.window == "" {
		r.window = wire.WindowID(filepath.Base(rest[1]))
	}
	for _, err := range []error{r.session.Validate(), r.window.Validate()} {
		if err != nil {
			wrong.Add("%v", err)
		}
	}
	if err := wrong.OrNil(); err != nil {
		return err
	}
	var err error
	if r.notebook, err = readFile(rest[1]); err != nil {
		return err
	}
	return r.runNotebook(ctx, hub)
}

// readFile reads a notebook file or a script.
func readFile(name string) (wire.Notebook, error) {
	f, err := os.Open(name) //nolint:gosec // the user names it
	if err != nil {
		return wire.Notebook{}, err //nolint:wrapcheck // it names the file
	}
	defer f.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(io.LimitReader(f, notebookfile.MaxFile+1))
	if err != nil {
		return wire.Notebook{}, fmt.Errorf("read %s: %w", name, err)
	}
	if strings.EqualFold(filepath.Ext(name), ".ipynb") {
		n, err := notebookfile.Decode(data)
		if err != nil {
			return n, fmt.Errorf("%s: %w", name, err)
		}
		return n, nil
	}
	if len(data) > notebookfile.MaxFile {
		return wire.Notebook{}, fmt.Errorf("%s is too large", name)
	}
	return notebookfile.FromScript(strings.ToValidUTF8(string(data), "\uFFFD")), nil
}

// runner runs the cells of a notebook and prints what they produce.
type runner struct {
	session        wire.SessionID
	window         wire.WindowID
	notebook       wire.Notebook
	stdout, stderr io.Writer

	ended chan struct{} // closed when all cells have ended, or none can run
	once  sync.Once

	mu sync.Mutex // guards the following
	// open are the cells that have not ended. Cells that ended otherwise than well are failures.
	open     map[wire.CellID]bool
	failures []string
	// cut is the number of bytes that were left out of the outputs of cells.
	cut map[wire.CellID]int64
	// requested says that the cells were told to run, and from is where the log was then. The window may
	// have been there earlier, and its cells may have run.
	requested bool
	from      wire.Position
}

// runNotebook opens the notebook, runs it and waits for its end.
func (r *runner) runNotebook(ctx context.Context, hub *remote.Hub) error {
	r.open, r.cut = map[wire.CellID]bool{}, map[wire.CellID]int64{}
	for _, c := range r.notebook.Cells {
		if c.Kind == wire.CellCode {
			r.open[c.ID] = true
		}
	}
	if len(r.open) == 0 {
		return errors.New("there is no code to run")
	}
	c, err := client.New(client.Config{
		URL: hub.URL.String(), Session: r.session, Token: hub.Token, OnEvent: func(_ context.Context, e client.Event) { r.event(e) },
	})
	if err != nil {
		return err //nolint:wrapcheck // it says what is wrong
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- c.Run(running) }()
	if err := r.start(running, c, done); err != nil {
		stop()
		return err
	}
	select {
	case err := <-done:
		return err //nolint:wrapcheck // as above
	case <-r.ended:
	case <-ctx.Done():
	}
	stop()
	<-done
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.failures) > 0 {
		return errors.New(strings.Join(r.failures, "; "))
	}
	return context.Cause(ctx)
}

// start opens the window and runs its cells.
func (r *runner) start(ctx context.Context, c *client.Client, done <-chan error) error {
	select {
	case err := <-done:
		return err
	case <-c.Ready():
	}
	create := wire.WindowCreate{
		WindowID: r.window, Title: string(r.window), Bounds: wire.Bounds{X: 120, Y: 80, W: 760, H: 560}, Content: wire.NotebookContent{Data: r.notebook},
	}
	if _, err := c.Send(ctx, wire.Emit{Actions: []wire.Action{create}}); err != nil {
		return fmt.Errorf("open the notebook: %w", err)
	}
	id := wire.MessageID("run-" + string(c.ID()))
	r.mu.Lock()
	r.requested, r.from = true, c.Position()
	r.mu.Unlock()
	// With an id a hub that is lost meanwhile gets it again, and runs it once.
	sent, err := c.Submit(ctx, wire.RunCells{WindowID: r.window, MessageID: id})
	if err != nil {
		return fmt.Errorf("run the notebook: %w", err)
	}
	go r.awaitRefusal(ctx, sent)
	return nil
}

// awaitRefusal ends the program if the hub refuses to run the cells. A request that the hub takes may
// have no answer but its outputs.
func (r *runner) awaitRefusal(ctx context.Context, sent *client.Pending) {
	_, err := sent.Wait(ctx)
	if err == nil || ctx.Err() != nil {
		return
	}
	reason := err.Error()
	if refused, ok := errors.AsType[*client.RefusedError](err); ok {
		reason = refused.Reason
	}
	r.mu.Lock()
	r.failures = append(r.failures, terminal.OneLine(reason))
	r.mu.Unlock()
	r.finish()
}

// event prints outputs of the notebook and records the ends of its cells. After a connection was lost, the hub sends what
// came meanwhile, or its state.
func (r *runner) event(e client.Event) {
	r.mu.Lock()
	earlier := !r.requested || !e.At.IsZero() && e.At.Compare(r.from) <= 0
	r.mu.Unlock()
	if earlier {
		return
	}
	switch p := e.Data.(type) {
	case wire.SessionState:
		if p.Mode == wire.StateSnapshot {
			r.snapshot(p)
		}
	case wire.CellOutputs:
		if p.WindowID == r.window {
			r.print(p)
		}
	case wire.Actions:
		for _, a := range p.Actions {
			if show, is := a.(wire.PromptShow); is {
				r.question(show)
			}
		}
	case wire.CellExecuted:
		if p.WindowID == r.window {
			r.executed(p)
		}
	}
}

func (r *runner) finish() { r.once.Do(func() { close(r.ended) }) }

// snapshot records the ends of cells whose events do not come any more, and prints what can be missing.
func (r *runner) snapshot(s wire.SessionState) {
	for _, w := range s.Windows {
		n, ok := w.Content.(wire.NotebookContent)
		if !ok || w.WindowID != r.window {
			continue
		}
		for _, c := range n.Data.Cells {
			r.mu.Lock()
			open := r.open[c.ID]
			r.mu.Unlock()
			if open && c.State != "" && c.State != wire.CellQueued && c.State != wire.CellRunning {
				fmt.Fprintln(r.stderr, "The connection was interrupted. All outputs of cell "+string(c.ID)+":")
				r.print(wire.CellOutputs{CellID: c.ID, Outputs: c.Outputs, Cut: c.Cut})
				r.executed(wire.CellExecuted{CellID: c.ID, State: c.State, Reason: c.Reason})
			}
		}
	}
}

// executed records how far a cell is.
func (r *runner) executed(p wire.CellExecuted) {
	if p.State == wire.CellQueued || p.State == wire.CellRunning {
		return
	}
	r.mu.Lock()
	ended := !r.open[p.CellID]
	delete(r.open, p.CellID)
	if p.State != wire.CellOK && !ended {
		r.failures = append(r.failures, strings.TrimSpace(fmt.Sprintf("cell %s: %s %s", p.CellID, p.State, terminal.OneLine(p.Reason))))
	}
	last := len(r.open) == 0
	cut := r.cut[p.CellID]
	delete(r.cut, p.CellID)
	r.mu.Unlock()
	if cut > 0 {
		fmt.Fprintf(r.stderr, "cell %s: %d bytes of output were left out\n", p.CellID, cut)
	}
	if last {
		r.finish()
	}
}

// question says that a question is open in the session, for which the code may be waiting.
func (r *runner) question(p wire.PromptShow) {
	fmt.Fprintln(r.stderr, terminal.OneLine("The session asks, and waits for an answer there: "+p.Message))
}

// print prints outputs as text. What was printed stays, also if the code clears it.
func (r *runner) print(p wire.CellOutputs) {
	r.mu.Lock()
	r.cut[p.CellID] = p.Cut
	r.mu.Unlock()
	for _, o := range slices.Concat(p.Outputs, p.Updates) {
		switch o.Type {
		case wire.OutputStream:
			to := r.stdout
			if o.Name == "stderr" {
				to = r.stderr
			}
			fmt.Fprint(to, terminal.Plain(o.Text))
		case wire.OutputError:
			fmt.Fprintln(r.stderr, terminal.OneLine(o.Name+": "+o.Value))
		default:
			var forms map[string]string
			_ = json.Unmarshal(o.Data, &forms) // an output without text prints nothing
			if text := forms["text/plain"]; text != "" {
				fmt.Fprintln(r.stdout, terminal.Plain(text))
			} else if kinds := slices.Sorted(maps.Keys(forms)); len(kinds) > 0 {
				fmt.Fprintln(r.stderr, terminal.OneLine("An output without text is in the notebook: "+strings.Join(kinds, ", ")))
			}
		}
	}
}
