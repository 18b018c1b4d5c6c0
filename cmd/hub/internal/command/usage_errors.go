package command

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Exit codes.
const (
	ExitOK      = 0
	ExitFailure = 1 // the command failed
	ExitUsage   = 2 // the arguments or settings are invalid
)

// Exit prints the error of a command, if it has one, and returns the exit code.
func Exit(stderr io.Writer, err error) int {
	if err == nil {
		return ExitOK
	}
	if code, ok := errors.AsType[CodeError](err); ok {
		return int(code)
	}
	fmt.Fprintf(stderr, "hub: %v\n", err)
	if _, ok := errors.AsType[UsageErrors](err); ok {
		return ExitUsage
	}
	return ExitFailure
}

// CodeError is the exit code of a child process that has printed its errors itself, so that Exit prints
// nothing.
type CodeError int

// Error implements error.
func (c CodeError) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// UsageErrors collects all mistakes in arguments and settings. As an error it has the exit code
// ExitUsage.
type UsageErrors []string

// Error implements error.
func (m UsageErrors) Error() string {
	if len(m) == 1 {
		return m[0]
	}
	return fmt.Sprintf("%d mistakes:\n  %s", len(m), strings.Join(m, "\n  "))
}

// Add adds a mistake.
func (m *UsageErrors) Add(format string, args ...any) {
	*m = append(*m, fmt.Sprintf(format, args...))
}

// OrNil returns nil for no mistakes, because a nil slice in an error is not a nil error.
func (m UsageErrors) OrNil() error {
	if len(m) == 0 {
		return nil
	}
	return m
}

// Refuse adds a mistake for each unexpected argument.
func (m *UsageErrors) Refuse(args []string) {
	for _, arg := range args {
		m.Add("unexpected argument %q", arg)
	}
}

// Innermost returns the last error of a chain, for messages that already say what the outer errors
// say.
func Innermost(err error) error {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err
}
