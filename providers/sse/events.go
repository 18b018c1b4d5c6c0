package sse

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
)

// Bounds of a stream.
const (
	// MaxEvent bounds one event in bytes.
	MaxEvent = 4 << 20
	// MaxStream bounds a whole stream in bytes.
	MaxStream = 64 << 20
)

// Errors of streams that exceed the bounds.
var (
	ErrTooLong = errors.New("an event of the stream is too long")
	ErrTooMuch = errors.New("the stream is too long")
)

// Event is one event of a stream.
type Event struct {
	// Name is the event field; empty if missing.
	Name string
	Data []byte
}

// Events decodes server-sent events that have data until the stream ends; a clean end is no
// error. An event whose last line is complete counts even if the empty line after it is
// missing. Nothing follows an error.
func Events(r io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		limited := &io.LimitedReader{R: r, N: MaxStream}
		d := decoder{in: bufio.NewReaderSize(limited, 16<<10)}
		for {
			e, err := d.next()
			switch {
			case errors.Is(err, io.EOF) && limited.N <= 0:
				yield(Event{}, ErrTooMuch)
				return
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(Event{}, err)
				return
			case !yield(e, nil):
				return
			}
		}
	}
}

// decoder splits a stream into events.
type decoder struct {
	in   *bufio.Reader
	old  bool // a line was read already
	skip bool // the last line ended with CR: skip a following LF
}

// next returns the next event that has data.
func (d *decoder) next() (Event, error) {
	var e Event
	var data bool
	size := 0
	for {
		line, err := d.line()
		if errors.Is(err, io.EOF) && data {
			return e, nil
		}
		if err != nil {
			return Event{}, err
		}
		if size += len(line); size > MaxEvent {
			return Event{}, ErrTooLong
		}
		if len(line) == 0 {
			if data {
				return e, nil
			}
			e, size = Event{}, 0
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			e.Name = string(value)
		case "data":
			if data {
				e.Data = append(e.Data, '\n')
			}
			e.Data = append(e.Data, value...)
			data = true
		}
	}
}

// line returns the next complete line, without its end.
func (d *decoder) line() ([]byte, error) {
	var line []byte
	for {
		if _, err := d.in.Peek(1); err != nil {
			return nil, err // an incomplete line is dropped
		}
		buf, err := d.in.Peek(d.in.Buffered())
		if err != nil {
			return nil, err
		}
		if d.skip {
			d.skip = false
			if buf[0] == '\n' {
				if _, err := d.in.Discard(1); err != nil {
					return nil, err
				}
				continue
			}
		}
		part, _, ended := bytes.Cut(buf, []byte{'\n'})
		if i := bytes.IndexByte(part, '\r'); i >= 0 {
			part, ended, d.skip = part[:i], true, true
		}
		line = append(line, part...)
		taken := len(part)
		if ended {
			taken++
		}
		if _, err := d.in.Discard(taken); err != nil {
			return nil, err
		}
		if len(line) > MaxEvent {
			return nil, ErrTooLong
		}
		if ended {
			if !d.old {
				line = bytes.TrimPrefix(line, []byte("\uFEFF"))
			}
			d.old = true
			return line, nil
		}
	}
}
