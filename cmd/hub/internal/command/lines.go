package command

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
)

// ReadLines sends the lines of standard input that are not empty, each of at most limit bytes, until the
// input or ctx ends. A read cannot be interrupted, so it may return only after the next line.
func ReadLines(ctx context.Context, in io.Reader, limit int, lines chan<- []byte) error {
	s := bufio.NewScanner(in)
	s.Buffer(nil, limit)
	for s.Scan() {
		line := bytes.TrimSpace(s.Bytes())
		if len(line) == 0 {
			continue
		}
		select {
		case lines <- bytes.Clone(line):
		case <-ctx.Done():
			return nil
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	return nil
}
