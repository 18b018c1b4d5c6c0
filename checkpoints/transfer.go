package checkpoints

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
)

// transferHead is the first line of exported checkpoints. A pack of git follows.
type transferHead struct {
	Checkpoints []transferred `json:"checkpoints"`
	// Folder is the last part of the path of a workspace.
	Folder string `json:"folder,omitempty"`
}

type transferred struct {
	Number int    `json:"number"`
	Hash   string `json:"hash"`
}

// headBytes bounds the first line, and with it the number of checkpoints.
const headBytes = 1 << 20

var validHash = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// ErrTransfer means that data are not exported checkpoints, or are damaged.
var ErrTransfer = errors.New("data are no exported checkpoints")

// Export writes the checkpoints of a session in a worktree, with everything that they need, and
// returns their number. Without checkpoints it writes nothing.
func (s *Store) Export(ctx context.Context, w Worktree, session string, out io.Writer) (int, error) {
	ctx, r, err := s.open(ctx, w)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer r.close()
	all, err := r.list(ctx, session)
	if err != nil || len(all) == 0 {
		return 0, err
	}
	head := transferHead{Folder: r.folder()}
	var hashes strings.Builder
	for _, c := range all {
		head.Checkpoints = append(head.Checkpoints, transferred{c.Number, c.Hash})
		hashes.WriteString(c.Hash + "\n")
	}
	line, err := json.Marshal(head)
	if err != nil {
		return 0, fmt.Errorf("encode checkpoints: %w", err)
	}
	if _, err := out.Write(append(line, '\n')); err != nil {
		return 0, fmt.Errorf("export checkpoints: %w", noSpace(err))
	}
	if _, err := r.call(ctx, call{args: []string{"pack-objects", "--stdout", "--revs", "-q"}, stdin: []byte(hashes.String()), out: out}); err != nil {
		return 0, fmt.Errorf("export checkpoints: %w", err)
	}
	return len(all), nil
}

// Import adds exported checkpoints to a worktree that has none, for a session, and returns them. The
// data may be hostile: git checks every object, so that no path leads out of the worktree or into a
// repository, and objects that are larger than a save may be are refused. After an error the caller
// must remove the worktree.
func (s *Store) Import(ctx context.Context, w Worktree, session string, in io.Reader) ([]Checkpoint, error) {
	if err := checkSession(session); err != nil {
		return nil, err
	}
	buffered := bufio.NewReaderSize(in, headBytes)
	head, err := s.readHead(buffered)
	if err != nil {
		return nil, err
	}
	return s.importPack(ctx, w, session, head, buffered)
}

func (s *Store) importPack(ctx context.Context, w Worktree, session string, head transferHead, pack *bufio.Reader) ([]Checkpoint, error) {
	ctx, r, err := s.openOrCreate(ctx, w)
	if err != nil {
		return nil, err
	}
	defer r.close()
	if before, err := r.list(ctx, session); err != nil || len(before) > 0 {
		return nil, errors.Join(err, fmt.Errorf("%w: the worktree has checkpoints already", ErrProtected))
	}
	if err := r.receive(ctx, pack); err != nil {
		return nil, err
	}
	if err := r.checkObjects(ctx); err != nil {
		return nil, err
	}
	var refs strings.Builder
	for _, c := range head.Checkpoints {
		refs.WriteString("create " + refOf(session, c.Number) + " " + c.Hash + "\n")
	}
	if _, err := r.git(ctx, []byte(refs.String()), "update-ref", "--no-deref", "--stdin"); err != nil {
		return nil, transferError(err)
	}
	all, err := r.list(ctx, session)
	if err != nil {
		return nil, err
	}
	if len(all) != len(head.Checkpoints) {
		return nil, fmt.Errorf("%w: %d of %d are checkpoints", ErrTransfer, len(all), len(head.Checkpoints))
	}
	if err := r.storeFolder(head.Folder); err != nil {
		return nil, err
	}
	for _, c := range all {
		// What the note says must be what the commit holds: only that was checked.
		out, err := r.git(ctx, nil, "rev-parse", "--verify", c.Hash+":files")
		if err != nil || strings.TrimSpace(string(out)) != c.Files {
			return nil, fmt.Errorf("%w: checkpoint %d has other files than its note says", ErrTransfer, c.Number)
		}
		if c.Windows == "" {
			continue
		}
		if out, err = r.git(ctx, nil, "rev-parse", "--verify", c.Hash+":windows.json"); err != nil || strings.TrimSpace(string(out)) != c.Windows {
			return nil, fmt.Errorf("%w: checkpoint %d has other windows than its note says", ErrTransfer, c.Number)
		}
	}
	return all, nil
}

// receive gives a pack to git, which checks each object, after its sizes were checked.
func (r *repo) receive(ctx context.Context, pack *bufio.Reader) error {
	from, to := io.Pipe()
	filtered := make(chan error, 1)
	go func() { // ends when the pack is refused or read, or git has ended
		err := newPackFilter(pack, to, r.s.cfg).filter()
		filtered <- err
		_ = to.CloseWithError(err) // never fails
	}()
	_, err := r.call(ctx, call{args: []string{"index-pack", "--stdin", "--strict", "--max-input-size=" + strconv.FormatInt(r.s.cfg.MaxBytes, 10)}, in: from})
	_ = from.Close() // never fails
	if refused := <-filtered; errors.Is(refused, ErrTooLarge) || errors.Is(refused, ErrTransfer) {
		return refused
	}
	return transferError(err)
}

// readHead reads and checks the first line of exported checkpoints.
func (s *Store) readHead(in *bufio.Reader) (transferHead, error) {
	var head transferHead
	line, err := in.ReadSlice('\n')
	if err != nil || json.Unmarshal(line, &head) != nil {
		return head, fmt.Errorf("%w: the first line cannot be read", ErrTransfer)
	}
	if n := len(head.Checkpoints); n == 0 || n > s.cfg.Limit+1 {
		return head, fmt.Errorf("%w: it has %d checkpoints, want 1 to %d", ErrTransfer, n, s.cfg.Limit+1)
	}
	if head.Folder != "" && !validFolder(head.Folder) {
		return head, fmt.Errorf("%w: the first line has an invalid folder", ErrTransfer)
	}
	last := 0
	for _, c := range head.Checkpoints {
		if c.Number <= last || !validHash.MatchString(c.Hash) {
			return head, fmt.Errorf("%w: the first line has an invalid checkpoint", ErrTransfer)
		}
		last = c.Number
	}
	return head, nil
}

// transferError marks what git refuses.
func transferError(err error) error {
	var g *gitError
	if errors.As(err, &g) && !errors.Is(err, ErrNoSpace) {
		return fmt.Errorf("%w: %w", ErrTransfer, err)
	}
	return err
}
