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

// promptHidden asks for something secret if standard input is a terminal, and hides what is typed until the
// returned function is called.
func (c *call) promptHidden(what string) (restore func()) {
	f, ok := c.Input().(*os.File)
	if !ok || !terminal.IsTerminal(f) {
		return func() {}
	}
	restore, hidden := terminal.HideInput(f)
	if !hidden {
		fmt.Fprintf(c.Stderr, "%s, which is shown as you type: ", what)
		return restore
	}
	fmt.Fprintf(c.Stderr, "%s, which is not shown: ", what)
	return func() {
		restore()
		fmt.Fprintln(c.Stderr) // the line break was not shown either
	}
}

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
		defer c.promptHidden("Type the passphrase")()
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
