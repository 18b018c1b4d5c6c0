package preferences

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/everdesk/everdesk/cmd/hub/internal/terminal"
)

// errNoPassphrase means that no passphrase was given.
var errNoPassphrase = errors.New("want a passphrase: type it on a terminal, or name its file with --passphrase-file, - for standard input")

// passphrase reads a passphrase, the first line of a file, of standard input or of the terminal. It is no
// argument, because other users can see the arguments of a process.
func (c *call) passphrase(file string) (string, error) {
	var from io.Reader
	switch {
	case file == "" && !terminal.IsTerminal(c.Input()):
		return "", errNoPassphrase
	case file == "" || file == "-":
		from = c.Input()
		if terminal.IsTerminal(from) {
			fmt.Fprint(c.Stderr, "Type the passphrase, which is shown as you type: ")
		}
	default:
		f, err := os.Open(file) //nolint:gosec // the caller's own file
		if err != nil {
			return "", fmt.Errorf("read the passphrase: %w", err)
		}
		defer func() { _ = f.Close() }() // nothing was written
		from = f
	}
	line, err := bufio.NewReader(io.LimitReader(from, maxSecret)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the passphrase: %w", err)
	}
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		return "", errNoPassphrase
	}
	return line, nil
}
