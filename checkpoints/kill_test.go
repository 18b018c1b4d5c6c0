package checkpoints_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/checkpoints"
)

// stateOf returns the files of a seed. Files come and go, change their content and their kind.
func stateOf(seed uint64) map[string]string {
	random := rand.New(rand.NewPCG(seed, 7))
	files := map[string]string{"always": fmt.Sprintf("seed %d\n", seed)}
	for i := range 30 {
		name := fmt.Sprintf("d%d/e%d/f%d", i%3, i%5, i)
		switch random.IntN(6) {
		case 0:
		case 1:
			files[name] = "-> f" + strconv.Itoa(random.IntN(30))
		case 2:
			files[name+"/folder"] = strings.Repeat("x", random.IntN(3000))
		default:
			files[name] = fmt.Sprintf("%d\n%s", random.IntN(4), strings.Repeat("line\n", random.IntN(2000)))
		}
	}
	return files
}

// writeState gives a folder the files of a seed, and no others.
func writeState(dir string, seed uint64) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	for name, text := range stateOf(seed) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		target, isLink := strings.CutPrefix(text, "-> ")
		if isLink {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// killConfig makes packing and removals happen often, so that kills meet them.
func killConfig(dir string) checkpoints.Config {
	return checkpoints.Config{Dir: dir, Limit: 12, PackEvery: 5}
}

// killedWorker is a program that saves and restores until it is killed. Its arguments are both
// folders and a seed. It prints a line when it begins to save or restore.
func killedWorker(args []string) error {
	seed, err := strconv.ParseUint(args[2], 10, 64)
	if err != nil {
		return err
	}
	ctx := context.Background()
	s, err := checkpoints.Open(ctx, killConfig(args[0]))
	if err != nil {
		return err
	}
	w, err := s.Workspace(args[1])
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(seed, 1))
	for {
		seed++
		if err := writeState(w.Path, seed); err != nil {
			return err
		}
		fmt.Println("save") //nolint:forbidigo // the protocol of this program
		if _, err := s.Save(ctx, w, ses, checkpoints.Note{Reason: "state", Message: strconv.FormatUint(seed, 10)}, []byte(`{"seed":1}`)); err != nil {
			return err
		}
		all, err := s.List(ctx, w, ses)
		if err != nil {
			return err
		}
		fmt.Println("restore") //nolint:forbidigo // as above
		if _, err := s.Restore(ctx, w, ses, all[random.IntN(len(all))].Hash, checkpoints.Note{Reason: "restore"}, nil); err != nil {
			return err
		}
	}
}

// children returns the processes that a process started.
func children(pid int) (all []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, path := range tasks {
		text, _ := os.ReadFile(path) // the thread may have ended
		for f := range strings.FieldsSeq(string(text)) {
			if n, err := strconv.Atoi(f); err == nil {
				all = append(all, n)
			}
		}
	}
	return all
}

// TestKilledOperations kills the process that saves and restores, at random moments: alone, so that
// its git goes on, or together with it. Whatever is listed afterwards can be restored exactly, and
// be undone.
func TestKilledOperations(t *testing.T) {
	t.Parallel()
	rounds := 10
	if long() {
		rounds = 200
	}
	dir, tree := t.TempDir(), t.TempDir()
	s, err := checkpoints.Open(t.Context(), killConfig(dir))
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Workspace(tree)
	if err != nil {
		t.Fatal(err)
	}
	r := rig{t, s, w}
	seed := rand.Uint64N(1 << 40)
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 2))
	for round := range rounds {
		r.killWorker(dir, seed+uint64(round)*1000, random)
		all := r.list()
		for range 2 {
			if len(all) == 0 {
				break
			}
			r.checkRestore(all[random.IntN(len(all))])
		}
		if t.Failed() {
			t.Fatalf("round %d of seed %d", round, seed)
		}
	}
	all := r.list()
	if len(all) == 0 {
		t.Error("no checkpoint was ever saved")
	}
	for _, c := range all { // as long as the checkpoints of the restores before leave it
		if slices.ContainsFunc(r.list(), func(o checkpoints.Checkpoint) bool { return o.Hash == c.Hash }) {
			r.checkRestore(c)
		}
	}
	if out := git(t, r.repo(), "fsck", "--full", "--no-dangling"); strings.Contains(out, "missing") || strings.Contains(out, "corrupt") {
		t.Errorf("the repository is damaged: %s", out)
	}
}

// killWorker starts the program and kills it a random time after one of its steps.
func (r rig) killWorker(dir string, seed uint64, random *rand.Rand) {
	r.Helper()
	cmd := exec.CommandContext(r.Context(), os.Args[0], dir, r.w.Path, strconv.FormatUint(seed, 10))
	cmd.Env = append(os.Environ(), "CHECKPOINTS_PROGRAM=work")
	cmd.Stderr = r.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range 1 + random.IntN(8) {
		if !lines.Scan() {
			break
		}
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		for lines.Scan() {
		}
	})
	time.Sleep(time.Duration(random.Int64N(int64(60 * time.Millisecond)))) // real time: kills meet every moment of an operation
	var git []int
	if random.IntN(2) == 0 {
		git = children(cmd.Process.Pid)
	}
	if err := cmd.Process.Kill(); err != nil {
		r.Errorf("the program ended by itself: %v", err)
	}
	for _, pid := range git {
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill() // it may have ended
		}
	}
	reading.Wait()
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != -1 {
		r.Errorf("the program ended with %v, want killed", err)
	}
}

// checkRestore restores a checkpoint, compares the files with what git has and with what the seed
// says, and undoes it.
func (r rig) checkRestore(c checkpoints.Checkpoint) {
	r.Helper()
	done := r.restore(c.Hash)
	got := listing(r.T, r.w.Path)
	if want := treeListing(r.T, r.repo(), c.Files); got != want {
		r.Errorf("files after the restore of %d:\n%s\nwant\n%s", c.Number, got, want)
	}
	if seed, err := strconv.ParseUint(c.Message, 10, 64); err == nil {
		if want := stateOf(seed); !maps.Equal(want, readTree(r.T, r.w.Path)) {
			r.Errorf("files after the restore of seed %d differ from those that were saved", seed)
		}
	}
	undone := r.restore(done.Safety.Hash)
	if got, want := listing(r.T, r.w.Path), treeListing(r.T, r.repo(), done.Safety.Files); got != want {
		r.Errorf("files after the undo of %d:\n%s\nwant\n%s", c.Number, got, want)
	}
	if undone.Safety.Files != c.Files {
		r.Errorf("the tree before the undo is %s, want that of the restored checkpoint %s", undone.Safety.Files, c.Files)
	}
}

// treeListing returns the files of a tree in the format of git ls-files -s.
func treeListing(tb testing.TB, repo, tree string) string {
	tb.Helper()
	var all strings.Builder
	for line := range strings.Lines(git(tb, repo, "-c", "core.quotePath=true", "ls-tree", "-r", tree)) {
		f := strings.Fields(line)
		fmt.Fprintf(&all, "%s %s 0\t%s", f[0], f[2], line[strings.IndexByte(line, '\t')+1:])
	}
	return all.String()
}
