package terminal_test

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/everdesk/everdesk/cmd/hub/internal/terminal"
)

// openTerminal returns both ends of a new terminal.
func openTerminal(t *testing.T) (keyboard, screen *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = keyboard.Close() })
	fd := int(keyboard.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	screen, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	return keyboard, screen
}

func TestHiddenInputIsNotShown(t *testing.T) {
	t.Parallel()
	keyboard, screen := openTerminal(t)
	restore, hidden := terminal.HideInput(screen)
	if !hidden {
		t.Fatal("the input of a terminal is not hidden, want it hidden")
	}
	read := make([]byte, 100)
	for _, text := range []string{"secret\n", "shown\n"} {
		if _, err := keyboard.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if n, err := screen.Read(read); err != nil || string(read[:n]) != text {
			t.Fatalf("read %q, %v; want %q", read[:n], err, text)
		}
		restore()
	}
	n, err := keyboard.Read(read)
	if got := string(read[:n]); err != nil || got != "shown\r\n" {
		t.Errorf("the terminal shows %q, %v; want only what was typed after the end", got, err)
	}
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if _, hidden := terminal.HideInput(file); hidden {
		t.Error("a file has hidden input, want that it is no terminal")
	}
}
