package filestore_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/wire"
)

// killRounds is how often each sync mode is killed. The variable makes it more.
func killRounds(t *testing.T) int {
	t.Helper()
	text := os.Getenv("FILESTORE_KILL_ROUNDS")
	if text == "" {
		return 25
	}
	n, err := strconv.Atoi(text)
	ok(t, err)
	return n
}

const killSessions = 4

// killConfig makes segments so small that compaction is under way at most kills,
// and keeps enough of the log to see every batch of a round.
func killConfig(mode string) (filestore.Config, error) {
	sync, err := filestore.ParseSync(mode)
	return filestore.Config{
		Sync: sync, SegmentBytes: 64 << 10,
		Limits: store.Limits{LogEvents: 600, InboxCommands: 50},
	}, err
}

// killFrame is what the writer writes and the checker expects: three numbers, and then bytes that
// only make frames differ in size.
type killFrame struct {
	Epoch, Number, Event uint64
}

func (f killFrame) encode(filler int) []byte {
	return fmt.Appendf(nil, "%d %d %d %s", f.Epoch, f.Number, f.Event, strings.Repeat("x", filler))
}

func decodeKillFrame(frame []byte) (f killFrame, err error) {
	parts := strings.Split(string(frame), " ")
	if len(parts) != 4 || strings.Trim(parts[3], "x") != "" {
		return f, fmt.Errorf("frame is %q, want three numbers and the filler", frame)
	}
	for i, n := range []*uint64{&f.Epoch, &f.Number, &f.Event} {
		if *n, err = strconv.ParseUint(parts[i], 10, 64); err != nil {
			return f, fmt.Errorf("frame is %q: %w", frame, err)
		}
	}
	return f, nil
}

// batchEvents is how many events a batch has.
func batchEvents(number uint64) int { return int(number % 4) }

// writeUntilKilled is a program that writes to all sessions at once and says so
// whenever something was acknowledged:
//
//	claim <session> <epoch>
//	batch <session> <epoch> <number>
//	sent <session> <command>
//	doc <version>
func writeUntilKilled(args []string) error {
	cfg, err := killConfig(args[1])
	if err != nil {
		return err
	}
	s, err := filestore.Open(args[0], cfg)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = fmt.Fprintf(os.Stdout, format+"\n", args...) // writing fails only if the parent is about to kill this process
	}
	errs := make(chan error)
	for i := range killSessions {
		id := wire.SessionID(fmt.Sprint("s", i))
		if err := s.Sessions.Create(context.Background(), store.NewSession{ID: id, User: "u"}); err != nil && !errors.Is(err, store.ErrExists) {
			return err
		}
		consumed := make(chan struct{}, 1)
		go func() { errs <- writeSession(s, id, consumed, say) }()
		go func() { errs <- sendCommands(s, id, args[2], consumed, say) }()
	}
	go func() { errs <- countUp(s, say) }()
	return <-errs
}

// writeSession is a session's owner. It signals batches that made room in the inbox.
func writeSession(s *filestore.Store, id wire.SessionID, consumed chan<- struct{}, say func(string, ...any)) error {
	ctx := context.Background()
	lease, err := s.Sessions.Claim(ctx, id, "writer", time.Hour)
	if err != nil {
		return err
	}
	say("claim %s %d", id, lease.Epoch)
	top := lease.Top()
	for number := uint64(1); ; number++ {
		b := store.Batch{Number: number, Prev: top, Durable: number%16 == 0}
		for e := range batchEvents(number) {
			frame := killFrame{lease.Epoch, number, uint64(e)}
			b.Events = append(b.Events, frame.encode(int(number*37%400)))
		}
		n := fmt.Appendf(nil, "%d-%d", lease.Epoch, number)
		b.Ops = []store.Op{store.Set("t", "last", n), store.Push("numbers", n), store.KeepLast("numbers", 20)}
		if number%3 == 0 { // what is in the inbox becomes a field, exactly once
			for commands, err := range s.Sessions.Receive(ctx, lease) {
				if err != nil {
					return err
				}
				for _, c := range commands[:min(len(commands), 10)] {
					b.Consumed = append(b.Consumed, c.ID)
					b.Ops = append(b.Ops, store.Push(store.ColdPrefix+"done", []byte(c.ID)))
				}
				break
			}
		}
		receipt, err := s.Sessions.Commit(ctx, lease, b)
		if err != nil {
			return err
		}
		top = receipt.Top
		say("batch %s %d %d", id, lease.Epoch, number)
		if len(b.Consumed) > 0 {
			select {
			case consumed <- struct{}{}:
			default:
			}
		}
	}
}

// sendCommands fills a session's inbox, and waits for the owner while it is full.
func sendCommands(s *filestore.Store, id wire.SessionID, round string, consumed <-chan struct{}, say func(string, ...any)) error {
	for n := 0; ; n++ {
		c := store.Command{ID: fmt.Sprint(round, "-", n), Data: []byte("data")}
		_, err := s.Sessions.Send(context.Background(), id, c)
		for errors.Is(err, store.ErrFull) {
			<-consumed
			_, err = s.Sessions.Send(context.Background(), id, c)
		}
		if err != nil {
			return err
		}
		say("sent %s %s", id, c.ID)
	}
}

// countUp counts in a document.
func countUp(s *filestore.Store, say func(string, ...any)) error {
	for {
		d, err := s.Documents.Get(context.Background(), "c", "n")
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		v, err := s.Documents.Put(context.Background(), store.Document{Collection: "c", Name: "n", Version: d.Version, Data: fmt.Append(nil, d.Version+1)})
		if err != nil {
			return err
		}
		say("doc %d", v)
	}
}

// acknowledged is what the writer was promised.
type acknowledged struct {
	epoch, number map[wire.SessionID]uint64 // newest batch
	sent          map[wire.SessionID][]string
	version       uint64
}

// hear reads what the writer says until it ends, and kills it some time in
// between. It reads fast: a writer that is far ahead of it would always be killed while it
// waits for the pipe.
func (a *acknowledged) hear(t *testing.T, r io.Reader, kill func(), after int) {
	t.Helper()
	lines := bufio.NewScanner(r)
	for n := 0; lines.Scan(); n++ {
		if n == after {
			kill()
		}
		number := func(text string) uint64 {
			n, err := strconv.ParseUint(text, 10, 64)
			if err != nil {
				t.Fatalf("the writer says %q: %v", lines.Text(), err)
			}
			return n
		}
		words := strings.Fields(lines.Text())
		switch {
		case len(words) == 3 && words[0] == "claim":
			id := wire.SessionID(words[1])
			a.epoch[id], a.number[id] = number(words[2]), 0
		case len(words) == 4 && words[0] == "batch":
			id := wire.SessionID(words[1])
			a.epoch[id], a.number[id] = number(words[2]), number(words[3])
		case len(words) == 3 && words[0] == "sent":
			id := wire.SessionID(words[1])
			a.sent[id] = append(a.sent[id], words[2])
		case len(words) == 2 && words[0] == "doc":
			a.version = number(words[1])
		default:
			t.Fatalf("the writer says %q, want one of its lines", lines.Text())
		}
	}
}

// TestKill kills a writing process again and again at random moments. What it
// was acknowledged is there exactly once, in every sync mode, and nothing is
// damaged.
func TestKill(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"always", "interval", "off"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			a := &acknowledged{epoch: map[wire.SessionID]uint64{}, number: map[wire.SessionID]uint64{}, sent: map[wire.SessionID][]string{}}
			for round := range killRounds(t) {
				cmd := command(t, "write", dir, mode, strconv.Itoa(round))
				out, err := cmd.StdoutPipe()
				ok(t, err)
				ok(t, cmd.Start())
				a.hear(t, out, func() { ok(t, cmd.Process.Kill()) }, 5+rand.IntN(900))
				if err := cmd.Wait(); err == nil || cmd.ProcessState.Exited() {
					t.Fatalf("round %d: the writer ended by itself (%v), want it killed", round, err)
				}
				a.check(t, dir, mode)
			}
		})
	}
}

// check opens the folder and compares it with what was acknowledged.
func (a *acknowledged) check(t *testing.T, dir, mode string) {
	t.Helper()
	cfg, err := killConfig(mode)
	ok(t, err)
	s := open(t, dir, cfg)
	for id, epoch := range a.epoch {
		info, err := s.Sessions.Session(t.Context(), id)
		ok(t, err)
		if info.Owner != "" || info.Quarantined != "" || info.Epoch < epoch {
			t.Fatalf("session is %+v, want it free and of epoch %d", info, epoch)
		}
		state, err := s.Sessions.Load(t.Context(), id)
		ok(t, err)
		number := a.checkState(t, id, state)
		checkLog(t, s, info, number)
		a.checkCommands(t, s, id)
		a.epoch[id], a.number[id] = info.Epoch, number
	}
	d, err := s.Documents.Get(t.Context(), "c", "n")
	if a.version > 0 && (err != nil || d.Version < a.version || d.Version > a.version+1 || string(d.Data) != strconv.FormatUint(d.Version, 10)) {
		t.Fatalf("document is %+v, error %v, want version %d or the next", d, err, a.version)
	}
	a.version = d.Version
	ok(t, s.Close())
	if _, err := os.Stat(dir + "/aside"); err == nil {
		t.Fatal("there is a folder aside, want nothing set aside")
	}
}

// checkState returns the number of the newest batch, which is the newest that
// was acknowledged or the one after it.
func (a *acknowledged) checkState(t *testing.T, id wire.SessionID, state store.State) (number uint64) {
	t.Helper()
	var epoch uint64
	if last := state.Tables["t"]["last"]; last != nil {
		if _, err := fmt.Sscanf(string(last), "%d-%d", &epoch, &number); err != nil {
			t.Fatalf("last batch of %s is %q, want an epoch and a number", id, last)
		}
	}
	if state.At.Epoch > epoch {
		epoch, number = state.At.Epoch, 0 // claimed and not yet written to
	}
	switch {
	case epoch == a.epoch[id] && (number == a.number[id] || number == a.number[id]+1):
	case epoch > a.epoch[id] && number <= 1: // of a claim that was not acknowledged
	default:
		t.Fatalf("newest batch of %s is %d-%d, acknowledged was %d-%d, want that or the next one", id, epoch, number, a.epoch[id], a.number[id])
	}
	numbers := state.Lists["numbers"]
	for i, n := range slices.Backward(numbers) {
		var e, k uint64
		_, err := fmt.Sscanf(string(n), "%d-%d", &e, &k)
		if want := number - uint64(len(numbers)-1-i); err != nil || e == epoch && k != want {
			t.Fatalf("list of %s is %q, want an unbroken row up to %d", id, numbers, number)
		}
	}
	return number
}

// checkLog reads the whole log and looks for gaps and repetitions.
func checkLog(t *testing.T, s *filestore.Store, info store.Info, number uint64) {
	t.Helper()
	var at killFrame // where the log is
	seen := uint64(0)
	for cursor := info.Oldest; ; {
		events, err := s.Sessions.Read(t.Context(), info.ID, cursor, 1000)
		ok(t, err)
		if len(events) == 0 {
			break
		}
		for _, e := range events {
			cursor = e.At
			if e.At.Seq == 0 {
				at = killFrame{Epoch: e.At.Epoch}
				continue
			}
			f, err := decodeKillFrame(e.Frame)
			if err != nil {
				t.Fatalf("event %v: %v", e.At, err)
			}
			follows := f.Epoch == at.Epoch && (f.Number == at.Number && f.Event == at.Event+1 ||
				f.Number > at.Number && f.Event == 0 && f.Number-at.Number <= 2)
			if at.Number == 0 && seen == 0 {
				follows = true // the log begins here
			}
			if !follows || f.Epoch != e.At.Epoch {
				t.Fatalf("event %v is %d-%d-%d after %d-%d-%d, want the next event, with the epoch of its position", e.At, f.Epoch, f.Number, f.Event, at.Epoch, at.Number, at.Event)
			}
			at = f
			seen++
		}
	}
	for batchEvents(number) == 0 && number > 0 {
		number-- // a batch without events does not show
	}
	if seen > 0 && at.Number != number {
		t.Fatalf("log of %s ends with batch %d-%d, want %d", info.ID, at.Epoch, at.Number, number)
	}
}

// checkCommands finds every command that was sent in the inbox or among those
// that are done, and never in both.
func (a *acknowledged) checkCommands(t *testing.T, s *filestore.Store, id wire.SessionID) {
	t.Helper()
	times := map[string]int{}
	for from := 0; ; from += 1000 {
		page, err := s.Sessions.ReadList(t.Context(), id, store.ColdPrefix+"done", from, 1000)
		ok(t, err)
		for _, item := range page.Items {
			times[string(item)]++
		}
		if from+1000 >= page.Total {
			break
		}
	}
	lease, err := s.Sessions.Claim(t.Context(), id, "checker", time.Hour)
	ok(t, err)
	// A last command of our own shows where the inbox ends, unless it is full.
	end := fmt.Sprint("end-", lease.Epoch)
	if _, err = s.Sessions.Send(t.Context(), id, store.Command{ID: end}); !errors.Is(err, store.ErrFull) {
		ok(t, err)
	}
	left := 50
	for commands, err := range s.Sessions.Receive(t.Context(), lease) {
		ok(t, err)
		for _, c := range commands {
			times[c.ID]++
			left--
		}
		if times[end] > 0 || left == 0 {
			break
		}
	}
	_, err = s.Sessions.Commit(t.Context(), lease, store.Batch{Number: 1, Prev: lease.Top(), Consumed: []string{end}})
	ok(t, err)
	ok(t, s.Sessions.Release(t.Context(), lease))
	for _, c := range a.sent[id] {
		if times[c] != 1 {
			t.Fatalf("command %s of %s is there %d times, want once", c, id, times[c])
		}
	}
	for c, n := range times {
		if n != 1 {
			t.Fatalf("command %s of %s is there %d times, want once", c, id, n)
		}
	}
}
